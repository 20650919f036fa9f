"""EC2 spot prices from DescribeSpotPriceHistory: XML as the API answers it, or JSON as its command
line tool writes it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

from backend.foundation.errors import InvalidValue
from backend.money.price_lists import NoPrice, ParsedPrice, Result, Skipped, SkipReason, answers
from backend.money.price_lists.collected import not_used
from backend.money.pricing.purchase import PriceUnit, PurchaseModel
from backend.providers.aws.prices import PROVIDER

SOURCE = "AWS EC2 spot price history, https://aws.amazon.com/ec2/spot/pricing/"
# Old accounts get both, at different prices; machines run in a VPC.
VPC, CLASSIC = "Linux/UNIX (Amazon VPC)", "Linux/UNIX"
# The answer names none; these prices are in US dollars.
CURRENCY = "USD"


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
) -> Iterator[Result]:
    """The latest price of each type in each zone, from the texts of the answers.

    Zones go by id, since a zone's name means another zone in another account: the id is read from
    the answer, else from `zone_ids` (name → id). Without either the name stays. Raises
    InvalidValue for an answer that is not of this form.
    """
    latest: dict[tuple[str, ...], _Quote] = {}
    for number, page in enumerate(pages):
        for item in _items(page, "SpotPriceHistory", "spotPriceHistorySet", f"page {number + 1}"):
            try:
                quote = _quote(item, region, zone_ids)
            except NoPrice as why:
                yield _skip(item, region, why)
                continue
            known = latest.get(quote.price.key)
            # Asked from now on there is one entry each; a saved answer may be a whole history.
            if known is None:
                latest[quote.price.key] = quote
                continue
            # The VPC's own price first, whatever its age; times are ISO 8601 of one form, so text order is
            # time order.
            newest = max(known, quote, key=lambda price: (price.is_vpc, price.at))
            older = quote if newest is known else known
            latest[quote.price.key] = newest
            yield not_used(older.price, SkipReason.SUPERSEDED, f"{newest.at} {newest.price.amount}")
    yield from (quote.price for quote in latest.values())


def zone_ids(pages: Iterable[str]) -> dict[str, str]:
    """The id of each zone by its name in the account, from DescribeAvailabilityZones."""
    return {
        answers.word(zone, "ZoneName"): answers.word(zone, "ZoneId")
        for page in pages
        for zone in _items(page, "AvailabilityZones", "availabilityZoneInfo", "zones")
    }


def _items(page: str, json_name: str, xml_name: str, where: str) -> list[dict[str, Any]]:
    """The entries of an answer, under the names that they have in JSON."""
    if not page.lstrip().startswith("<"):
        answer = answers.mapping(answers.document(page, where=where), where=where)
        return answers.objects(answer.get(json_name), where=f"{where} {json_name}")
    try:
        root = ET.fromstring(page)  # noqa: S314  (expat bounds what entities grow to)
    except ET.ParseError as error:
        raise InvalidValue(f"{where} line {error.position[0]}", f"not XML: {error}") from error
    entries = root.find(f"{{*}}{xml_name}")
    if entries is None:
        raise InvalidValue(f"{where} {xml_name}", "is missing, or no list")
    return [{_json_name(part.tag): part.text or "" for part in entry} for entry in entries]


def _json_name(tag: str) -> str:
    name = tag.rpartition("}")[2]
    return name[:1].upper() + name[1:]


def _skip(item: dict[str, Any], region: str, why: NoPrice) -> Skipped:
    return answers.skip_row(
        why,
        provider=PROVIDER,
        raw_id=_raw_id(item),
        offer=answers.word(item, "InstanceType"),
        region=region,
        purchase_model=PurchaseModel.SPOT,
    )


def _raw_id(item: dict[str, Any]) -> str:
    named = ("AvailabilityZone", "InstanceType", "Timestamp")
    return answers.shown("/".join(answers.word(item, name) for name in named))


def _quote(item: dict[str, Any], region: str, zone_ids: Mapping[str, str] | None) -> _Quote:
    name, at = answers.word(item, "InstanceType"), answers.word(item, "Timestamp")
    product = answers.word(item, "ProductDescription")
    if not name:
        raise NoPrice(SkipReason.NO_TYPE)
    if product not in {VPC, CLASSIC}:
        raise NoPrice(SkipReason.OTHER_SYSTEM, product)
    price = ParsedPrice(
        provider=PROVIDER,
        offer=name,
        region=region,
        zone=_zone(item, zone_ids),
        purchase_model=PurchaseModel.SPOT,
        amount=answers.amount(item.get("SpotPrice")),
        currency=CURRENCY,
        unit=PriceUnit.HOUR,
        source=SOURCE,
        raw_id=_raw_id(item),
        valid_from=answers.day(at),
    )
    return _Quote(product == VPC, at, price)


def _zone(item: dict[str, Any], zone_ids: Mapping[str, str] | None) -> str:
    zone, name = answers.word(item, "AvailabilityZoneId"), answers.word(item, "AvailabilityZone")
    if not zone:
        zone = name if zone_ids is None else zone_ids.get(name, "")
    if not zone:
        raise NoPrice(SkipReason.UNKNOWN_ZONE, name)
    return zone
