"""Prices of Hetzner Cloud, from /v1/pricing (currency, tax, addresses) and /v1/server_types."""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from backend.foundation.units import BYTES_PER_GB, BYTES_PER_GIB, EXACT
from backend.money.price_lists import (
    NoPrice,
    ParsedExtra,
    ParsedPrice,
    ParsedType,
    Result,
    Skipped,
    SkipReason,
    answers,
)
from backend.money.pricing.purchase import PriceUnit, PurchaseModel
from backend.money.pricing.quoted import NEW_MACHINES

PROVIDER = "hetzner"
SOURCE = "Hetzner Cloud server types, https://www.hetzner.com/cloud/"
PERCENT = Decimal(100)
ARCHITECTURES = {"x86": "x86_64", "arm": "arm64"}
DISKS = {"local": "local", "network": "network"}


@dataclass(frozen=True, slots=True)
class _Basis:
    """Common terms of all the list's prices."""

    currency: object
    tax_rate: Decimal | None


def parse(pricing: str, server_types: Iterable[str]) -> Iterator[Result]:
    """Net hourly prices with their monthly caps, and the addresses that cost extra.

    `pricing` is the JSON text of /v1/pricing: the prices of a server type carry no currency, and
    euros are not taken for granted. Raises InvalidValue for an answer that is not of this form.
    """
    answer = answers.mapping(answers.document(pricing, where="pricing"), where="pricing")
    common = answers.mapping(answer.get("pricing"), where="pricing.pricing")
    # Prices are listed net and gross; net ones are what other providers list.
    percent = answers.number(common.get("vat_rate"))
    basis = _Basis(
        currency=common.get("currency"),
        tax_rate=None if percent is None else EXACT.divide(percent, PERCENT),
    )
    yield from _addresses(common, basis)
    for item in answers.items(server_types, "server_types"):
        yield from _server_type(item, basis)


def _addresses(pricing: dict[str, Any], basis: _Basis) -> Iterator[ParsedExtra]:
    for kind in answers.inner_objects(pricing, "primary_ips"):
        for price in answers.inner_objects(kind, "prices"):
            # An address without a price is no reason against the machine.
            with contextlib.suppress(NoPrice):
                yield ParsedExtra(
                    provider=PROVIDER,
                    region=answers.word(price, "location"),
                    name=answers.word(kind, "type"),
                    amount=answers.amount(_net(price, "price_hourly")),
                    currency=answers.currency(basis.currency),
                    unit=PriceUnit.HOUR,
                    source=SOURCE,
                    monthly_cap=answers.above_zero(_net(price, "price_monthly")),
                )


def _net(price: dict[str, Any], key: str) -> object:
    return answers.inner(price, key).get("net")


def _server_type(item: dict[str, Any], basis: _Basis) -> Iterator[Result]:
    name, raw_id = answers.word(item, "name"), answers.word(item, "id")
    prices = answers.inner_objects(item, "prices")
    if not prices or not name:
        reason = SkipReason.NO_PRICE if name else SkipReason.NO_TYPE
        yield Skipped(reason=reason, provider=PROVIDER, raw_id=raw_id, offer=name)
        return
    gone = _not_offered(item)
    for price in prices:
        region = answers.word(price, "location")
        try:
            parsed = _price(item, price, gone, basis)
        except NoPrice as why:
            yield answers.skip_row(why, provider=PROVIDER, raw_id=raw_id, offer=name, region=region)
        else:
            yield _type(item, name, region)
            yield parsed


def _price(
    item: dict[str, Any], price: dict[str, Any], gone: set[str], basis: _Basis
) -> ParsedPrice:
    region = answers.word(price, "location")
    if not region:
        raise NoPrice(SkipReason.NO_REGION)
    if gone & {"", region}:
        raise NoPrice(SkipReason.NOT_OFFERED)
    return ParsedPrice(
        provider=PROVIDER,
        offer=answers.word(item, "name"),
        region=region,
        purchase_model=PurchaseModel.ON_DEMAND,
        amount=answers.amount(_net(price, "price_hourly")),
        currency=answers.currency(basis.currency),
        unit=PriceUnit.HOUR,
        monthly_cap=answers.above_zero(_net(price, "price_monthly")),
        tax_rate=basis.tax_rate,
        included=_price_extras(item, price),
        # Servers that exist kept theirs when prices rose on 2026-06-15
        # (cloudtally.eu, "Hetzner's June 2026 price increase").
        applies_to=NEW_MACHINES,
        source=SOURCE,
        raw_id=f"{answers.word(item, 'id')}/{region}",
    )


def _not_offered(item: dict[str, Any]) -> set[str]:
    """Places that no longer sell the type; "" = all of them."""
    gone = {
        answers.word(location, "name")
        for location in answers.inner_objects(item, "locations")
        if location.get("deprecation")
    }
    return gone | ({""} if item.get("deprecated") is True or item.get("deprecation") else set())


def _type(item: dict[str, Any], name: str, region: str) -> ParsedType:
    kind = answers.word(item, "cpu_type")
    return ParsedType(
        provider=PROVIDER,
        region=region,
        name=name,
        arch=ARCHITECTURES.get(answers.word(item, "architecture"), ""),
        vcpu_count=answers.above_zero(item.get("cores")),
        vcpu_kind=kind if kind in {"shared", "dedicated"} else "",
        # "GB", of which the machine sees as many GiB.
        memory_bytes=answers.size(item.get("memory"), BYTES_PER_GIB),
        disk_bytes=answers.size(item.get("disk"), BYTES_PER_GB),
        disk_kind=DISKS.get(answers.word(item, "storage_type"), ""),
    )


def _price_extras(item: dict[str, Any], price: dict[str, Any]) -> dict[str, object]:
    """Traffic in bytes a month, and the net price of a TB beyond it; an address is extra."""
    traffic = price.get("included_traffic", item.get("included_traffic"))
    included: dict[str, object | None] = {
        "traffic_bytes": answers.size(traffic, 1),
        "traffic_price_per_tb": answers.above_zero(_net(price, "price_per_tb_traffic")),
    }
    return {name: value for name, value in included.items() if value is not None}
