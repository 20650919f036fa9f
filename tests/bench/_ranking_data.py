"""A catalog of full size without a pattern: 6,000 offers of 12 providers, 300,000 prices, samples."""

import datetime as dt
import random
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import connection
from django.db.models import JSONField, Model

from backend.accounts.models import Workspace
from backend.benchmarks.models import Host, HostState, Sample, Source
from backend.benchmarks.services.summaries import summaries_refresh
from backend.catalog.models import (
    ExchangeRate,
    Offer,
    PriceFeed,
    PriceObservation,
    Provider,
    Region,
)
from backend.catalog.services.current_prices import prices_refresh
from backend.catalog.services.data_version import data_version_bump
from backend.core import clock

PROVIDERS = 12
REGIONS = 10
OFFERS = 6_000
# Offers with results of three machines; the others have a published figure with its spread.
MEASURED = 600
# On-demand or monthly prices of an offer over time.
DAYS = 20
COMMITTED = tuple(
    (model, term, upfront)
    for model in ("reserved", "savings")
    for term in ("1y", "3y")
    for upfront in ("none", "partial", "all")
)
ZONES = "abc"
NOW = clock.now().replace(microsecond=0)
KINDS = ("cloud", "cloud", "cloud", "vps", "dedicated")


def load() -> dict[str, int]:
    """Put everything into an empty catalog; how many rows of each kind there are."""
    chance = random.Random(20_261_121)
    offers = _offers(chance)
    _copy(PriceObservation, _prices(chance, offers, _feeds(offers)))
    _copy(Sample, _samples(chance, offers, _hosts(offers)))
    prices_refresh()
    summaries_refresh()
    data_version_bump()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return {
        "offers": Offer.objects.count(),
        "prices": PriceObservation.objects.count(),
        "samples": Sample.objects.count(),
    }


def _offers(chance: random.Random) -> list[Offer]:
    days = (NOW.date() - dt.timedelta(days=days) for days in range(30))
    ExchangeRate.objects.bulk_create(
        [ExchangeRate(date=day, currency="USD", units_per_eur=Decimal("1.1"), source="bench")
         for day in days],
        ignore_conflicts=True,
    )  # fmt: skip
    makers = [
        Provider.objects.create(slug=f"maker-{n}", name=f"Maker {n}") for n in range(PROVIDERS)
    ]
    places = [
        Region.objects.create(provider=maker, code=f"region-{n}")
        for maker in makers
        for n in range(REGIONS)
    ]
    return Offer.objects.bulk_create(
        [_offer(n, places[n % len(places)], chance) for n in range(OFFERS)], batch_size=1000
    )


def _offer(number: int, place: Region, chance: random.Random) -> Offer:
    cpus = 2 ** chance.randrange(8)
    name = f"type{number // (PROVIDERS * REGIONS)}.{cpus}"
    return Offer(
        slug=f"{place.provider.slug}-{number}-{place.code}",
        provider=place.provider,
        region=place,
        name=name,
        kind=KINDS[number % len(KINDS)],
        arch=chance.choice(("x86_64", "x86_64", "arm64")),
        cpu_model=f"Processor {number % 40}",
        vcpu_count=Decimal(cpus),
        vcpu_kind=chance.choice(("dedicated", "shared", "burstable", "")),
        memory_bytes=cpus * 2**30 * chance.choice((2, 4, 8)),
        disk_bytes=chance.choice((None, 40 * 10**9, 160 * 10**9)),
        disk_kind="ssd",
        source="https://example.com/types",
    )


def _feeds(offers: Sequence[Offer]) -> dict[int, PriceFeed]:
    return {
        maker: PriceFeed.objects.create(provider_id=maker, kind="bench", checked_at=NOW)
        for maker in {offer.provider_id for offer in offers}
    }


def _prices(
    chance: random.Random, offers: Sequence[Offer], feeds: Mapping[int, PriceFeed]
) -> Iterator[PriceObservation]:
    for offer in offers:
        hourly = Decimal(f"{chance.uniform(0.004, 0.06) * float(offer.vcpu_count or 1):.6f}")
        currency = "EUR" if offer.provider_id % 4 == 0 else "USD"
        for amount, ago, given in _offer_prices(chance, hourly):
            yield PriceObservation(
                offer=offer,
                feed=feeds[offer.provider_id],
                amount=amount,
                currency=currency,
                source="https://example.com/prices",
                raw_id=f"{chance.getrandbits(64):x}",
                observed_at=NOW - dt.timedelta(days=ago, seconds=chance.randrange(80_000)),
                created_at=NOW,
                **{"unit": "hour", **given},
            )


def _offer_prices(
    chance: random.Random, hourly: Decimal
) -> Iterator[tuple[Decimal, int, dict[str, Any]]]:
    """Amount, age in days and kind of each of the fifty prices of an offer."""
    plain = {"purchase_model": "on_demand", "unit": "hour"}
    if chance.random() < 0.2:
        plain, hourly = {"purchase_model": "monthly", "unit": "month"}, hourly * 500
    for day in range(DAYS):
        yield hourly + hourly * day / 1000, 3 * day, plain
    for model, term, upfront in COMMITTED:
        given = {"purchase_model": model, "term": term, "upfront": upfront, "plan": "standard"}
        for age in (1, 40):
            yield hourly * Decimal("0.6") + Decimal(age) / 10**6, age, given
    for zone in ZONES:
        for age in (0, 1):
            given = {"purchase_model": "spot", "zone": zone}
            yield hourly * Decimal(f"{chance.uniform(0.2, 0.5):.4f}"), age, given


def _hosts(offers: Sequence[Offer]) -> list[Host]:
    """Three machines of each offer that is measured."""
    workspace = Workspace.objects.get_or_create(slug="default", defaults={"name": "Default"})[0]
    return Host.objects.bulk_create(
        [
            Host(
                workspace=workspace,
                offer=offer,
                name=f"bench-{offer.slug}-{number}",
                driver="static",
                state=HostState.GONE,
            )
            for offer in offers[:MEASURED]
            for number in range(3)
        ],
        batch_size=1000,
    )


def _samples(
    chance: random.Random, offers: Sequence[Offer], hosts: Sequence[Host]
) -> Iterator[Sample]:
    scores = {o.pk: chance.uniform(150, 250) * float(o.vcpu_count or 1) for o in offers}
    common = {"metric": "cmips_score", "variant": "all", "unit": "CMIPS", "measured_at": NOW}
    for offer in offers[MEASURED:]:
        yield Sample(
            offer=offer,
            value=scores[offer.pk],
            source=Source.PUBLISHED,
            source_note="https://example.com",
            published_sd_ratio=0.02,
            published_count=30,
            **common,
        )
    for number, host in enumerate(hosts):
        for repeat in range(5):
            yield Sample(
                offer=host.offer,
                host=host,
                repeat=repeat,
                value=scores[host.offer_id] * chance.gauss(1, 0.01),
                source=Source.MEASURED,
                flags=["disturbed"] if number % 150 < 3 else [],
                **common,
            )


def _copy(model: type[Model], rows: Iterable[Model]) -> None:
    """Write rows with COPY, in one statement as a large import does."""
    # The database works generated ones out by itself.
    fields = [
        field
        for field in model._meta.concrete_fields
        if field.column != "id" and not field.generated
    ]
    has_key = model is PriceObservation
    names = [*(["id"] if has_key else []), *(field.column for field in fields)]
    table = model._meta.db_table
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY {table} ({', '.join(names)}) FROM STDIN") as out,
    ):
        for row in rows:
            cells = [_cell(field, getattr(row, field.attname)) for field in fields]
            out.write_row([*([uuid.uuid4()] if has_key else []), *cells])


def _cell(field: Any, value: Any) -> Any:
    if isinstance(field, JSONField):
        return "{}"
    return list(value) if isinstance(field, ArrayField) else value
