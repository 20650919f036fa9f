"""EC2 spot prices, from DescribeSpotPriceHistory written as JSON."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from backend.domain.parsing.prices import (
    NoPrice,
    ParsedPrice,
    PriceUnit,
    PurchaseModel,
    Reason,
    Result,
    Skipped,
    answers,
)
from backend.domain.parsing.prices.collected import not_used
from backend.providers.aws.prices import PROVIDER

SOURCE = "AWS EC2 spot price history"
# Old accounts are told both, at different prices; machines run in a VPC.
VPC, CLASSIC = "Linux/UNIX (Amazon VPC)", "Linux/UNIX"
CURRENCY = "USD"
"""The answer names none; these prices are told in US dollars."""


@dataclass(frozen=True, slots=True)
class _Quote:
    is_vpc: bool
    at: str
    price: ParsedPrice


def parse(
    pages: Iterable[str],
    *,
    region: str,
    zone_ids: Mapping[str, str] | None = None,
    source: str = SOURCE,
) -> Iterator[Result]:
    """The latest price of each type in each zone, from the JSON texts of the answers.

    Zones go by id, for a zone's name means another place in another account: the id is read from
    the answer, else from `zone_ids` (name → id). Without either the name stays. Raises
    InvalidValue for an answer that is not of this form.
    """
    latest: dict[tuple[str, ...], _Quote] = {}
    for number, page in enumerate(pages):
        where = f"page {number + 1}"
        answer = answers.mapping(answers.document(page, where=where), where=where)
        for item in answers.objects(
            answer.get("SpotPriceHistory"), where=f"{where} SpotPriceHistory"
        ):
            try:
                quote = _quote(item, region, zone_ids, source)
            except NoPrice as why:
                yield _skipped(item, region, why)
                continue
            held = latest.get(quote.price.key)
            if held is None:
                latest[quote.price.key] = quote
                continue
            newest = max(held, quote, key=lambda one: (one.is_vpc, one.at))
            older = quote if newest is held else held
            latest[quote.price.key] = newest
            yield not_used(older.price, Reason.SUPERSEDED, f"{newest.at} {newest.price.amount}")
    yield from (quote.price for quote in latest.values())


def _skipped(item: dict[str, Any], region: str, why: NoPrice) -> Skipped:
    return Skipped(
        reason=why.reason,
        provider=PROVIDER,
        raw_id=_raw_id(item),
        detail=answers.shown(why.detail),
        offer=answers.word(item, "InstanceType"),
        region=region,
        purchase_model=PurchaseModel.SPOT,
    )


def _raw_id(item: dict[str, Any]) -> str:
    named = ("AvailabilityZone", "InstanceType", "Timestamp")
    return answers.shown("/".join(answers.word(item, name) for name in named))


def _quote(
    item: dict[str, Any], region: str, zone_ids: Mapping[str, str] | None, source: str
) -> _Quote:
    name, at = answers.word(item, "InstanceType"), answers.word(item, "Timestamp")
    product = answers.word(item, "ProductDescription")
    if not name:
        raise NoPrice(Reason.NO_TYPE)
    if product not in {VPC, CLASSIC}:
        raise NoPrice(Reason.OTHER_SYSTEM, product)
    price = ParsedPrice(
        provider=PROVIDER,
        offer=name,
        region=region,
        zone=_zone(item, zone_ids),
        purchase_model=PurchaseModel.SPOT,
        amount=answers.amount(item.get("SpotPrice")),
        currency=CURRENCY,
        unit=PriceUnit.HOUR,
        source=source,
        raw_id=_raw_id(item),
        effective_from=answers.day(at),
    )
    return _Quote(product == VPC, at, price)


def _zone(item: dict[str, Any], zone_ids: Mapping[str, str] | None) -> str:
    zone, name = answers.word(item, "AvailabilityZoneId"), answers.word(item, "AvailabilityZone")
    if not zone:
        zone = name if zone_ids is None else zone_ids.get(name, "")
    if not zone:
        raise NoPrice(Reason.UNKNOWN_ZONE, name)
    return zone
