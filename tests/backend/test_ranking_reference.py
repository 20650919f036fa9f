"""The real ranking against one by definition (reference.py), under random questions."""

import datetime as dt
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from backend.benchmarks.services.current_data import current_stamp
from backend.catalog.models import Offer, PriceFeed
from backend.core import clock
from backend.rankings.selectors.columns import COLUMNS
from backend.rankings.selectors.listing import Listing, best_of, value_counts
from backend.rankings.selectors.ranking import query_from, ranking
from tests import factories
from tests.backend.reference import Asked, Reference, in_order
from tests.examples import FEW

OFFERS = 36
TODAY = clock.now().replace(hour=6, minute=0, second=0, microsecond=0)
EXACT_COLUMNS = (
    "offer_id", "provider", "kind", "region", "arch", "vcpu_kind", "period", "price_basis",
    "price_term", "price_observed_on", "price_zone", "rank", "rank_low", "rank_high", "tie_group",
    "pareto", "source", "flags", "missing", "load", "credit_mode",
)  # fmt: skip
NUMBER_COLUMNS = (
    "vcpu", "ram_gib", "score", "price", "price_usd_hour", "fx_rate", "cup", "value_per_cost",
    "value_per_cost_ci95_low", "value_per_cost_ci95_high", "score_ci95_low", "burst_score",
)  # fmt: skip
SORTED = (
    "offer_id", "provider", "region", "arch", "vcpu", "ram_gib", "score", "price", "cup",
    "price_usd_hour", "value_per_cost", "value_per_cost_ci95_low", "rank", "rank_high",
    "tie_group", "pareto", "score_n_instances", "price_observed_on", "price_term", "flags",
)  # fmt: skip


# --- the world --------------------------------------------------------------------------------


def build() -> None:
    """Offers with few different figures, so that many are equal, and many unknown ones."""
    chance = random.Random(11)
    for number in range(40):
        day = TODAY.date() - dt.timedelta(days=number)
        factories.rate("USD", f"1.{10 + number % 7}", day)
        if number > 9:
            factories.rate("CHF", f"0.{91 + number % 5}", day)
    feeds = [
        PriceFeed.objects.create(provider=factories.provider(slug), kind="on_demand", checked_at=at)
        for slug, at in (("aws", TODAY), ("hetzner", TODAY - dt.timedelta(days=50)))
    ]
    for number in range(OFFERS):
        _offer(number, chance, feeds)


def _offer(number: int, chance: random.Random, feeds: list[PriceFeed]) -> None:
    slug = ("aws", "hetzner", "own")[number % 3]
    region = factories.region(f"place-{number % 4}", provider_slug=slug) if number % 5 else None
    offer = factories.offer(
        f"{slug}-{number:02}",
        name=f"type-{number % 9}",
        provider_slug=slug,
        region=region,
        kind=("cloud", "cloud", "dedicated", "vps")[number % 4],
        arch=("x86_64", "arm64", "")[number % 7 % 3],
        vcpu_count=None if number % 11 == 0 else Decimal(2 ** (number % 5)),
        vcpu_kind=("dedicated", "shared", "burstable", "")[number // 2 % 4],
        memory_bytes=None if number % 9 == 0 else 2**30 * (1 + number % 6),
        cpu_model=f"Processor {number % 3}",
    )
    if offer.vcpu_kind == "burstable" and number % 3:
        offer.cpu_baseline_ratio = chance.choice((Decimal("0.05"), Decimal("0.4"), Decimal(1)))
        offer.cpu_credit_price_usd_per_vcpu_hour = chance.choice((None, Decimal("0.04")))
        offer.save()
    _prices(offer, chance, feeds)
    _samples(offer, chance)


def _prices(offer: Offer, chance: random.Random, feeds: list[PriceFeed]) -> None:
    for number in range(chance.choice((0, 1, 4, 14, 28))):
        term = chance.choice(
            ("", "", "", "spot", "reserved", "reserved", "savings", "purchase", "monthly")
        )
        kind: dict[str, Any] = {
            "": {"sustained_use": chance.choice(("", "n1"))},
            "spot": {"purchase_model": "spot", "zone": chance.choice("ab")},
            "monthly": {"purchase_model": "monthly", "unit": "month"},
            "purchase": {"purchase_model": "purchase", "unit": "once"},
            "savings": {"purchase_model": "savings", "term": "3y", "plan": chance.choice("cs")},
            "reserved": {
                "purchase_model": "reserved",
                "term": "1y",
                **chance.choice(
                    (
                        {"upfront": "none"},
                        {"upfront": "partial", "setup_amount": Decimal(300)},
                        {"upfront": "all", "unit": "once"},
                    )
                ),
            },
        }[term]
        scale = {"month": 500, "once": 4000}.get(str(kind.get("unit", "hour")), 1)
        seen = TODAY - dt.timedelta(days=chance.choice((0, 5, 20, 20, 45)), seconds=number)
        tax: dict[str, Any] = chance.choice(
            (
                {},
                {},
                {},
                {"tax_basis": "gross", "tax_rate": Decimal("0.19")},
                {"tax_basis": "gross"},
            )
        )
        gone = {"missing_since": seen + dt.timedelta(days=2)} if chance.random() < 0.1 else {}
        factories.price(
            offer,
            str(scale * chance.choice((1, 2, 3, 4)) / Decimal(10)),
            currency=chance.choice(("USD", "USD", "USD", "EUR", "EUR", "CHF", "XTS")),
            observed_at=seen,
            feed=chance.choice((None, *feeds)),
            is_published=chance.random() > 0.25,
            basis=chance.choice(("machine", "machine", "machine", "sustained_use")),
            operating_system=chance.choice(("linux", "linux", "linux", "linux", "windows")),
            monthly_cap=chance.choice((None, None, Decimal(100))) if not term else None,
            valid_until=seen.date() + dt.timedelta(days=7) if chance.random() < 0.25 else None,
            **kind,
            **tax,
            **gone,
        )


def _samples(offer: Offer, chance: random.Random) -> None:
    for metric, variant in (("cmips_score", "all"), ("memory_latency_ns", "single")):
        value = chance.choice((100.0, 200.0, 300.0))
        given: dict[str, Any] = {"metric": metric, "variant": variant}
        what = chance.choice(("none", "published", "published", "measured", "measured", "imported"))
        if what == "published":
            spread = chance.choice((None, 0.0, 0.02, 0.1))
            given["measured_at"] = _some_time(chance)
            # Of some offers for a part of the machine; figures of one table are shared by several.
            given["flags"] = chance.choice(([], ["derived"]))
            given["parameters"] = {"cpu_models": chance.choice(({}, {"Processor 1": 3}))}
            factories.sample(offer, value, source=what, published_sd_ratio=spread, **given)
        elif what != "none":
            flags = chance.choice(([], [], [], ["disturbed"], ["cached"]))
            hosts = [factories.host(offer) for _ in range(chance.choice((1, 2, 4)))]
            for number, host in enumerate(hosts * 2):
                given["measured_at"] = _some_time(chance)
                factories.sample(
                    offer, value + number, host=host, source=what, flags=flags, **given
                )


def _some_time(chance: random.Random) -> dt.datetime:
    """Before, on and after the days that are asked for, the last second of a day among them."""
    at = TODAY - dt.timedelta(days=chance.choice((0, 2, 4, 35, 400)))
    return at.replace(hour=23, minute=59, second=59) if at < TODAY else at


# --- the questions ----------------------------------------------------------------------------


def bound(
    column: str, values: tuple[str, ...], operators: tuple[str, ...]
) -> st.SearchStrategy[Any]:
    return st.tuples(st.just(column), st.sampled_from(operators), st.sampled_from(values))


EQUAL, ORDERED = ("", "!"), ("__gte", "__lte")
# Amounts that no price comes to exactly: what is printed has twelve digits.
filters = st.one_of(
    bound("provider", ("aws", "hetzner,own", "nobody"), EQUAL),
    bound("kind", ("cloud", "dedicated,vps"), EQUAL),
    bound("region", ("place-1", "place-1,place-2"), EQUAL),
    bound("arch", ("arm64", "x86_64"), EQUAL),
    bound("vcpu_kind", ("dedicated", "shared,burstable"), EQUAL),
    bound("source", ("measured", "published,imported"), EQUAL),
    bound("price_term", ("on_demand", "monthly", "reserved_1y,spot"), EQUAL),
    bound("flags", ("disturbed", "shared_vcpu,stale_price", "cached"), EQUAL),
    bound("missing", ("price", "score,fx_rate"), EQUAL),
    bound("vcpu", ("1", "4", "16"), ORDERED + EQUAL),
    bound("ram_gib", ("2", "4.5"), ORDERED + EQUAL),
    bound("score", ("100", "201", "300"), ORDERED),
    bound("score_n_instances", ("1", "2"), ORDERED),
    bound("price", ("0.10001", "0.3137", "99.91", "1500.7"), ORDERED),
    bound("value_per_cost", ("0.01313", "701.3", "1003.7"), ORDERED),
    bound("value_per_cost_ci95_low", ("0.01313", "701.3"), ORDERED),
    bound("cup", ("0.00101", "0.00313"), ORDERED),
    bound("rank", ("1", "3", "10"), ORDERED + EQUAL),
    bound("rank_high", ("2", "9"), ORDERED),
    bound("tie_group", ("1", "2"), ORDERED + EQUAL),
    bound("pareto", ("1", "0"), EQUAL),
)
queries = st.fixed_dictionaries(
    {},
    optional={
        "metric": st.sampled_from(("cmips_score", "memory_latency_ns")),
        "term": st.sampled_from(
            ("on_demand", "monthly", "spot", "reserved_1y", "savings_3y", "purchase")
        ),
        "period": st.sampled_from(("hour", "month", "year")),
        "hours_per_month": st.sampled_from(("720", "730", "744")),
        "currency": st.sampled_from(("USD", "EUR", "CHF", "XTS")),
        "load": st.sampled_from(("sustained", "burst")),
        "basis": st.sampled_from(("machine", "list", "sustained_use")),
        "tax_rate": st.sampled_from(("0", "0.2")),
        "as_of": st.sampled_from((0, 1, 4, 30, 44, 300)).map(
            lambda days: (TODAY.date() - dt.timedelta(days=days)).isoformat()
        ),
        "q": st.sampled_from(("processor 1", "AWS", "place-2 own", "nothing")),
    },
)
sorts = st.lists(
    st.tuples(st.sampled_from(SORTED), st.booleans()), max_size=3, unique_by=lambda key: key[0]
)
CELLS = {"vcpu", "ram_gib", "score", "price", "cup", "rank", "rank_high", "tie_group"}
CELLS |= {"value_per_cost", "value_per_cost_ci95_low", "score_n_instances"}


def plain(column: str, text: str) -> tuple[Any, ...]:
    """The values of a filter as the reference compares them."""
    if column == "pareto":
        return (text == "1",)
    return tuple(Fraction(part) if column in CELLS else part for part in text.split(","))


def asked(query: dict[str, str], conditions: dict[tuple[str, str], str]) -> Asked:
    return Asked(
        metric=query.get("metric", "cmips_score"),
        term=query.get("term", "on_demand"),
        period=query.get("period", "hour"),
        hours=int(query.get("hours_per_month", "730")),
        currency=query.get("currency", "USD"),
        basis=query.get("basis", "machine"),
        load=query.get("load", "sustained"),
        tax_rate=Fraction(query["tax_rate"]) if "tax_rate" in query else None,
        as_of=dt.date.fromisoformat(query["as_of"]) if "as_of" in query else None,
        words=query.get("q", ""),
        filters=tuple((c, op, plain(c, text)) for (c, op), text in conditions.items()),
    )


# --- the comparison ---------------------------------------------------------------------------


def is_same(printed: Any, defined: Any) -> bool:
    if printed is None or defined is None:
        return printed is None and defined is None
    exact = Fraction(repr(printed)) if isinstance(printed, float) else Fraction(printed)
    return abs(exact - defined) <= abs(defined) * Fraction(1, 10**11)


def differences(printed: Any, defined: dict[str, Any]) -> dict[str, Any]:
    """The cells of a row that are not as defined."""
    wrong = {n: (getattr(printed, n), defined[n]) for n in EXACT_COLUMNS}
    numbers = {n: (getattr(printed, n), defined[n]) for n in NUMBER_COLUMNS}
    return {n: pair for n, pair in wrong.items() if pair[0] != pair[1]} | {
        n: pair for n, pair in numbers.items() if not is_same(*pair)
    }


class RankingReference(TestCase):
    """One world, many questions."""

    reference: Reference

    @classmethod
    def setUpTestData(cls) -> None:
        build()
        cls.reference = Reference(clock.now().date())

    @given(queries, st.lists(filters, max_size=3), sorts)
    @settings(max_examples=FEW)
    def test_ranking_is_what_its_definition_says(
        self, query: dict[str, str], found: list[tuple[str, str, str]], sort: list[tuple[str, bool]]
    ) -> None:
        conditions = {(column, operator): text for column, operator, text in found}
        params = query | {f"{c}{op}": text for (c, op), text in conditions.items()}
        if sort:
            params["sort"] = ",".join(f"{'-' * is_down}{column}" for column, is_down in sort)
        parsed, warnings = query_from({name: [value] for name, value in params.items()})
        assert not warnings
        current_stamp()
        shown = ranking(parsed)
        ordered, bare = self.reference.ranking(asked(query, conditions))
        defined = {cells["offer_id"]: cells for cells in (*ordered, *bare)}
        rows = (*shown.rows, *shown.unscored)
        assert {row.offer_id for row in rows} == defined.keys()
        assert not any(row.score is None for row in shown.rows)
        wrong = {row.offer_id: differences(row, defined[row.offer_id]) for row in rows}
        assert not {offer: cells for offer, cells in wrong.items() if cells}
        # Sorted by what is printed.
        is_own = sort in ([], [("value_per_cost", True)])
        expected = ordered if is_own else in_order([vars(row) for row in shown.rows], sort)
        assert [row.offer_id for row in shown.rows] == [cells["offer_id"] for cells in expected]
        assert shown.unpriced_count == sum(row.price is None for row in shown.rows)
        # What a table prints without making the rows is what they hold.
        everyone = shown.everyone
        assert isinstance(everyone, Listing)
        texts = everyone.texts([column.name for column in COLUMNS], repr)
        assert [*map(list, texts)] == [
            [repr(vars(row)[c.name]) for c in COLUMNS] for row in everyone
        ]
        # What pages choose and count without making the rows is what the rows say.
        plain = [*everyone]
        for name, is_high in (("score", True), ("value_per_cost", True), ("price", False)):
            chosen, expected_rows = (
                best_of(of, name, 5, is_high=is_high) for of in (everyone, plain)
            )
            assert [row.offer_id for row in chosen] == [row.offer_id for row in expected_rows]
        for name in ("provider", "flags", "tie_group", "licence"):
            assert [*value_counts(everyone, name).items()] == [*value_counts(plain, name).items()]
