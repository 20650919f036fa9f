"""Prices of DigitalOcean, from /v2/sizes."""

from collections.abc import Iterable, Iterator
from typing import Any

from backend.foundation.units import BYTES_PER_GIB
from backend.money.price_lists import (
    NoPrice,
    ParsedPrice,
    ParsedType,
    Result,
    SkipReason,
    answers,
)
from backend.money.pricing.purchase import PriceUnit, PurchaseModel

PROVIDER = "digitalocean"
SOURCE = "DigitalOcean sizes, https://www.digitalocean.com/pricing/droplets"
# The answer names none; the list is in US dollars.
CURRENCY = "USD"
MIB = 2**20
TIB = 2**40
SHARED = ("s-",)
DEDICATED = ("c-", "c2-", "g-", "gd-", "m-", "m3-", "m6-", "so-", "so1_5-")


def parse(pages: Iterable[str]) -> Iterator[Result]:
    """Hourly prices with their monthly caps, one a region, from the JSON texts of the answers.

    Raises InvalidValue for an answer that is not of this form.
    """
    for item in answers.items(pages, "sizes"):
        yield from _price_sizes(item)


def _price_sizes(item: dict[str, Any]) -> Iterator[Result]:
    name, regions = answers.word(item, "slug"), answers.words(item, "regions")
    try:
        if not name:
            raise NoPrice(SkipReason.NO_TYPE)
        if item.get("available") is False or not regions:
            raise NoPrice(SkipReason.NOT_OFFERED)
        amount = answers.amount(item.get("price_hourly"))
    except NoPrice as why:
        # A size that no region sells still has its reason, once.
        for region in regions or [""]:
            yield answers.skip_row(why, provider=PROVIDER, raw_id=name, offer=name, region=region)
        return
    for region in regions:
        yield _type(item, name, region)
        yield ParsedPrice(
            provider=PROVIDER,
            offer=name,
            region=region,
            purchase_model=PurchaseModel.ON_DEMAND,
            amount=amount,
            currency=CURRENCY,
            unit=PriceUnit.HOUR,
            monthly_cap=answers.above_zero(item.get("price_monthly")),
            included=_price_extras(item),
            source=SOURCE,
            raw_id=name,
        )


def _type(item: dict[str, Any], name: str, region: str) -> ParsedType:
    kind = "shared" if name.startswith(SHARED) else ""
    return ParsedType(
        provider=PROVIDER,
        region=region,
        name=name,
        vcpu_count=answers.above_zero(item.get("vcpus")),
        vcpu_kind="dedicated" if name.startswith(DEDICATED) else kind,
        # "MB" and "GB", which the newer fields of the same answer call MiB and GiB.
        memory_bytes=answers.size(item.get("memory"), MIB),
        disk_bytes=answers.size(item.get("disk"), BYTES_PER_GIB),
        disk_kind="ssd",
        gpu_count=answers.size(answers.inner(item, "gpu_info").get("count"), 1),
    )


def _price_extras(item: dict[str, Any]) -> dict[str, object]:
    # "TB"; the list calls them TiB.
    traffic = answers.size(item.get("transfer"), TIB)
    return {} if traffic is None else {"traffic_bytes": traffic}
