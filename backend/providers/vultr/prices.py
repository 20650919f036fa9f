"""Prices of Vultr, from /v2/plans and /v2/plans-metal."""

from collections.abc import Iterable, Iterator
from typing import Any

from backend.foundation.units import BYTES_PER_GB
from backend.money.price_lists import (
    NoPrice,
    ParsedPrice,
    ParsedType,
    Result,
    SkipReason,
    answers,
)
from backend.money.pricing.purchase import PriceUnit, PurchaseModel

PROVIDER = "vultr"
SOURCE = "Vultr plans, https://www.vultr.com/pricing/"
# The answer names none; the list is in US dollars.
CURRENCY = "USD"
MIB = 2**20
KINDS = {"vc2": "shared", "vhf": "shared", "vhp": "shared", "voc": "dedicated"}


def parse(plans: Iterable[str], metal: Iterable[str]) -> Iterator[Result]:
    """Hourly prices with their monthly caps, one a region, from the JSON texts of the answers.

    Raises InvalidValue for an answer that is not of this form.
    """
    for item in answers.items(plans, "plans"):
        yield from _price_plans(item, is_metal=False)
    for item in answers.items(metal, "plans_metal"):
        yield from _price_plans(item, is_metal=True)


def _price_plans(item: dict[str, Any], *, is_metal: bool) -> Iterator[Result]:
    name, regions = answers.word(item, "id"), answers.words(item, "locations")
    # A plan that no region sells still has its reason, once.
    for region in regions or [""]:
        try:
            price = _price(item, name, region)
        except NoPrice as why:
            yield answers.skip_row(why, provider=PROVIDER, raw_id=name, offer=name, region=region)
        else:
            yield _metal(item, name, region) if is_metal else _instance(item, name, region)
            yield price


def _price(item: dict[str, Any], name: str, region: str) -> ParsedPrice:
    if not name:
        raise NoPrice(SkipReason.NO_TYPE)
    if not region or item.get("deploy_ondemand") is False:
        raise NoPrice(SkipReason.NOT_OFFERED)
    # Regions whose price differs have their own.
    costs = answers.inner(answers.inner(item, "location_cost"), region) or item
    return ParsedPrice(
        provider=PROVIDER,
        offer=name,
        region=region,
        purchase_model=PurchaseModel.ON_DEMAND,
        amount=answers.amount(costs.get("hourly_cost")),
        currency=CURRENCY,
        unit=PriceUnit.HOUR,
        monthly_cap=answers.above_zero(costs.get("monthly_cost")),
        included=_price_extras(item),
        source=SOURCE,
        raw_id=name,
    )


def _instance(item: dict[str, Any], name: str, region: str) -> ParsedType:
    return ParsedType(
        provider=PROVIDER,
        region=region,
        name=name,
        vcpu_count=answers.above_zero(item.get("vcpu_count")),
        vcpu_kind=KINDS.get(name.partition("-")[0], ""),
        memory_bytes=answers.size(item.get("ram"), MIB),
        disk_bytes=_disk_bytes(item),
        disk_kind=answers.word(item, "disk_type").lower(),
    )


def _metal(item: dict[str, Any], name: str, region: str) -> ParsedType:
    return ParsedType(
        provider=PROVIDER,
        region=region,
        name=name,
        kind="dedicated",
        cpu_model=answers.word(item, "cpu_model"),
        vcpu_count=answers.above_zero(item.get("cpu_threads")),
        vcpu_kind="dedicated",
        memory_bytes=answers.size(item.get("ram"), MIB),
        disk_bytes=_disk_bytes(item),
        # Where that of an instance has its family.
        disk_kind=answers.word(item, "type").lower(),
    )


def _disk_bytes(item: dict[str, Any]) -> int | None:
    size_gb, count = (
        answers.above_zero(item.get("disk")),
        answers.above_zero(item.get("disk_count")),
    )
    return None if size_gb is None else answers.size(size_gb * (count or 1), BYTES_PER_GB)


def _price_extras(item: dict[str, Any]) -> dict[str, object]:
    traffic = answers.size(item.get("bandwidth"), BYTES_PER_GB)
    return {} if traffic is None else {"traffic_bytes": traffic}
