"""Prices of Scaleway's Instances, from /instance/v1/zones/{zone}/products/servers.

A price is that of the Instance: its volume and its address cost extra.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from backend.money.price_lists import (
    NoPrice,
    ParsedPrice,
    ParsedType,
    Result,
    SkipReason,
    answers,
)
from backend.money.pricing.purchase import PriceUnit, PurchaseModel

PROVIDER = "scaleway"
SOURCE = "Scaleway Instance products, https://www.scaleway.com/en/pricing/"
# The answer names none; the list is in euros.
CURRENCY = "EUR"
ARCHITECTURES = {"x86_64": "x86_64", "arm64": "arm64"}
WINDOWS = "-WIN"


def parse(pages: Iterable[str], *, zone: str) -> Iterator[Result]:
    """Hourly prices of the zone, from the JSON texts of the answers.

    Raises InvalidValue for an answer that is not of this form.
    """
    for number, page in enumerate(pages, start=1):
        where = f"page {number}"
        answer = answers.mapping(answers.document(page, where=where), where=where)
        servers = answers.mapping(answer.get("servers"), where=f"{where} servers")
        for name in servers:
            yield from _price_types(answers.inner(servers, name), name, zone)


def _price_types(item: dict[str, Any], name: str, zone: str) -> Iterator[Result]:
    try:
        if name.endswith(WINDOWS):
            raise NoPrice(SkipReason.OTHER_SYSTEM)
        if item.get("end_of_service") is True:
            raise NoPrice(SkipReason.NOT_OFFERED)
        amount = answers.amount(item.get("hourly_price"))
    except NoPrice as why:
        yield answers.skip_row(why, provider=PROVIDER, raw_id=name, offer=name, region=zone)
        return
    yield ParsedType(
        provider=PROVIDER,
        region=zone,
        name=name,
        kind="cloud",
        arch=ARCHITECTURES.get(answers.word(item, "arch"), ""),
        vcpu_count=answers.above_zero(item.get("ncpus")),
        memory_bytes=answers.size(item.get("ram"), 1),
        gpu_count=answers.size(item.get("gpu"), 1),
    )
    yield ParsedPrice(
        provider=PROVIDER,
        offer=name,
        region=zone,
        purchase_model=PurchaseModel.ON_DEMAND,
        amount=amount,
        currency=CURRENCY,
        unit=PriceUnit.HOUR,
        source=SOURCE,
        raw_id=f"{zone}/{name}",
    )
