"""Prices of Linode, from /v4/linode/types."""

from collections.abc import Iterable, Iterator, Sequence
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

PROVIDER = "linode"
SOURCE = "Linode types, https://www.linode.com/pricing/"
# The answer names none; the list is in US dollars.
CURRENCY = "USD"
EVERYWHERE = ""
MIB = 2**20
KINDS = {"nanode": "shared", "standard": "shared", "dedicated": "dedicated", "premium": "dedicated"}


def parse(pages: Iterable[str], *, regions: Sequence[str] = ()) -> Iterator[Result]:
    """Hourly prices with their monthly caps, from the JSON texts of the answers.

    The answer has one price and those of the regions that differ. With `regions` each of them
    gets its own row; without, region "" stands for all that do not differ. Raises InvalidValue
    for an answer that is not of this form.
    """
    for item in answers.items(pages, "data"):
        own = {
            answers.word(entry, "id"): entry
            for entry in answers.objects(item.get("region_prices") or [], where="region_prices")
        }
        # The API names only the regions whose price differs, so the others come from the list of regions.
        for region in regions or (EVERYWHERE, *own):
            yield from _price_types(item, region, own.get(region, answers.inner(item, "price")))


def _price_types(item: dict[str, Any], region: str, price: dict[str, Any]) -> Iterator[Result]:
    name = answers.word(item, "id")
    try:
        if not name:
            raise NoPrice(SkipReason.NO_TYPE)
        amount = answers.amount(price.get("hourly"))
    except NoPrice as why:
        yield answers.skip_row(why, provider=PROVIDER, raw_id=name, offer=name, region=region)
        return
    yield _type(item, name, region)
    yield ParsedPrice(
        provider=PROVIDER,
        offer=name,
        region=region,
        purchase_model=PurchaseModel.ON_DEMAND,
        amount=amount,
        currency=CURRENCY,
        unit=PriceUnit.HOUR,
        monthly_cap=answers.above_zero(price.get("monthly")),
        included=_price_extras(item),
        source=SOURCE,
        raw_id=name,
    )


def _type(item: dict[str, Any], name: str, region: str) -> ParsedType:
    return ParsedType(
        provider=PROVIDER,
        region=region,
        name=name,
        vcpu_count=answers.above_zero(item.get("vcpus")),
        vcpu_kind=KINDS.get(answers.word(item, "class"), ""),
        # "MB", of which 1024 are the "1GB" of the label.
        memory_bytes=answers.size(item.get("memory"), MIB),
        disk_bytes=answers.size(item.get("disk"), MIB),
        disk_kind="ssd",
        gpu_count=answers.size(item.get("gpus"), 1),
    )


def _price_extras(item: dict[str, Any]) -> dict[str, object]:
    traffic = answers.size(item.get("transfer"), BYTES_PER_GB)
    return {} if traffic is None else {"traffic_bytes": traffic}
