"""Offers as price lists name them: looked up by provider, region and name, else made."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from backend.catalog.models import Offer, OfferKind, Provider, Region
from backend.catalog.selectors.cpu_credits import CREDIT_FIELDS, credit_figures
from backend.catalog.selectors.processors import processor_figures
from backend.core.slugs import MOST_OF_OFFER, offer_slug
from backend.money.price_lists import ParsedType
from backend.money.price_lists.answers import shown
from backend.money.price_lists.collected import is_within
from backend.providers.registry import provider as provider_record

BATCH = 2000
# What a list may state of a type; the names are those of ParsedType and of Offer.
FIGURES = (
    "kind",
    "arch",
    "cpu_model",
    "vcpu_count",
    "vcpu_kind",
    "memory_bytes",
    "disk_bytes",
    "disk_kind",
)
# PostgreSQL's bigint ends below it.
LARGEST_BYTES = 2**63
LARGEST_VCPUS, VCPU_DECIMALS = Decimal(10) ** 5, 3


@dataclass
class ListedOffers:
    """The offers of one region by the provider's names, and how many are new or changed."""

    offers: dict[str, Offer] = field(default_factory=dict)
    new: int = 0
    changed: int = 0


def offers_record(
    *,
    provider: Provider,
    region: Region | None,
    names: Sequence[str],
    types: Iterable[ParsedType],
    source: str,
    stated_on: dt.date,
) -> ListedOffers:
    """An offer for every name and type; what a list states of it replaces what was known before.

    Unknown figures of a type leave the known ones as they are. `region` None is for types that
    are sold alike everywhere.
    """
    figures_of = {machine.name: _figures(machine) for machine in types}
    for name in {*names, *figures_of}:
        if known := _figures_by_name(provider, name, figures_of.get(name, {})):
            figures_of[name] = known
    listed = ListedOffers(offers=_existing_offers(provider, region))
    stated = {"source": source, "stated_on": stated_on}
    missing = [name for name in dict.fromkeys([*figures_of, *names]) if name not in listed.offers]
    listed.changed = _update(listed.offers, figures_of, stated)
    made = _make(provider, region, missing, figures_of, stated)
    listed.offers.update((offer.name, offer) for offer in made)
    listed.new = len(made)
    return listed


def _figures_by_name(provider: Provider, name: str, listed: Mapping[str, Any]) -> dict[str, Any]:
    """The listed figures with those that the type's name tells."""
    record = provider_record(provider.slug)
    kind = record.vcpu_kind_of(name)
    # Sizes by name are those sold: a list may hold what a guest sees, which is less.
    sizes = record.size_figures(name) if record.size_figures else {}
    return {
        **({"vcpu_kind": kind} if kind else {}),
        **credit_figures(provider.slug, name),
        **listed,
        **sizes,
    }


def _figures(machine: ParsedType) -> dict[str, Any]:
    """Known figures of the type that fit their columns as they are."""
    figures = {name: getattr(machine, name) for name in FIGURES}
    figures["cpu_model"] = shown(machine.cpu_model)
    vcpus = machine.vcpu_count
    if vcpus is not None and not (vcpus < LARGEST_VCPUS and is_within(vcpus, VCPU_DECIMALS)):
        del figures["vcpu_count"]
    for name in ("memory_bytes", "disk_bytes"):
        if (figures[name] or 0) >= LARGEST_BYTES:
            del figures[name]
    stated = {name: value for name, value in figures.items() if value not in (None, "")}
    if machine.kind == OfferKind.DEDICATED and "vcpu_count" not in stated:
        return {**stated, **processor_figures(machine.cpu_model)}
    return {**stated, "is_vcpu_derived": False} if "vcpu_count" in stated else stated


def _existing_offers(provider: Provider, region: Region | None) -> dict[str, Offer]:
    rows = Offer.objects.filter(provider=provider, region=region, workspace=None)
    # Two offers may have one name, such as the same machine with another disk: the first is it.
    return {offer.name: offer for offer in rows.order_by("-created_at", "-id")}


def _update(
    offers: Mapping[str, Offer], figures_of: Mapping[str, dict[str, Any]], stated: dict[str, Any]
) -> int:
    """Write figures that differ; how many offers changed. An offer of the demo that is on a list
    is an example no more."""
    changed = []
    sold = {"is_demo": False, "discontinued_on": None}
    for name, figures in figures_of.items():
        offer = offers.get(name)
        if offer is None:
            continue
        fresh = {key: value for key, value in figures.items() if getattr(offer, key) != value}
        if not fresh and not offer.is_demo and offer.discontinued_on is None:
            continue
        # The source is of the figures: where none of them changes, the one before still holds.
        for key, value in {**fresh, **(stated if fresh else {}), **sold}.items():
            setattr(offer, key, value)
        changed.append(offer)
    Offer.objects.bulk_update(
        changed,
        [*FIGURES, *CREDIT_FIELDS, "thread_count", "is_vcpu_derived", "source", "stated_on", *sold],
        batch_size=BATCH,
    )
    return len(changed)


def _make(
    provider: Provider,
    region: Region | None,
    names: list[str],
    figures_of: Mapping[str, dict[str, Any]],
    stated: dict[str, Any],
) -> list[Offer]:
    region_code = region.code if region else ""
    slugs = {name: offer_slug(provider.slug, name, region_code) for name in names}
    taken = set(Offer.objects.filter(slug__in=slugs.values()).values_list("slug", flat=True))
    made, usual = [], {"kind": provider_record(provider.slug).kind}
    for name, slug in slugs.items():
        free = _free(slug, taken)
        taken.add(free)
        made.append(
            Offer(
                slug=free,
                provider=provider,
                region=region,
                name=name,
                **{**usual, **figures_of.get(name, {}), **stated},
            )
        )
    return Offer.objects.bulk_create(made, batch_size=BATCH)


def _free(slug: str, taken: set[str]) -> str:
    """The slug, or with a number behind it: two names may differ in their signs only."""
    free, number = slug, 2
    # Slugs without a number were looked up all at once; those with one are few, and asked for
    # singly.
    while free in taken or (free != slug and Offer.objects.filter(slug=free).exists()):
        ending = f"-{number}"
        free, number = slug[: MOST_OF_OFFER - len(ending)] + ending, number + 1
    return free
