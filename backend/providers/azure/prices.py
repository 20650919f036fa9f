"""Prices of Azure virtual machines, from the Retail Prices interface.

One size has many meters; only the one of the plain Linux machine is its price. Whether a meter is
the primary one says nothing: many sizes have no other.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from backend.money.price_lists import NoPrice, ParsedPrice, Result, SkipReason, answers
from backend.money.price_lists.collected import not_used
from backend.money.pricing.purchase import PriceUnit, PurchaseModel

PROVIDER = "azure"
SOURCE = "Azure retail prices, https://prices.azure.com/api/retail/prices"
SERVICE = "Virtual Machines"
HOUR = "1 Hour"
TERMS: Mapping[str, str] = MappingProxyType({"1 Year": "1y", "3 Years": "3y", "5 Years": "5y"})
INDICATIVE = "indicative: the portal may show another spot price"


def parse(pages: Iterable[str]) -> Iterator[Result]:
    """Prices per hour, reservations for their whole term, savings plans and indicative spot prices,
    from the JSON texts of the answers (or of their lists of items).

    Raises InvalidValue for an answer that is not of this form.
    """
    for number, page in enumerate(pages):
        where = f"page {number + 1}"
        answer = answers.document(page, where=where)
        items = answer.get("Items") if isinstance(answer, dict) else answer
        for item in answers.objects(items, where=f"{where} Items"):
            yield from _price_items(item)


def _price_items(item: dict[str, Any]) -> Iterator[Result]:
    try:
        price = _price(item)
    except NoPrice as why:
        is_machine = why.reason is not SkipReason.NOT_A_MACHINE
        yield answers.skip_row(
            why,
            provider=PROVIDER,
            raw_id=_raw_id(item),
            offer=answers.word(item, "armSkuName") if is_machine else "",
            region=answers.word(item, "armRegionName"),
        )
        return
    yield price
    if price.purchase_model is PurchaseModel.ON_DEMAND:
        yield from _savings(item, price)


def _raw_id(item: dict[str, Any]) -> str:
    return f"{answers.word(item, 'skuId')}/{answers.word(item, 'meterId')}"


def _price(item: dict[str, Any]) -> ParsedPrice:
    _check_machine(item)
    purchase = _purchase(item)
    if answers.word(item, "unitOfMeasure") != HOUR:
        raise NoPrice(SkipReason.OTHER_UNIT, answers.word(item, "unitOfMeasure"))
    # A price from some amount on, which is not what the first hour costs.
    if answers.above_zero(item.get("tierMinimumUnits")):
        raise NoPrice(SkipReason.TIERED, item.get("tierMinimumUnits"))
    for key, reason in (
        ("armSkuName", SkipReason.NO_TYPE),
        ("armRegionName", SkipReason.NO_REGION),
    ):
        if not answers.word(item, key):
            raise NoPrice(reason, answers.word(item, "skuName"))
    return ParsedPrice(
        provider=PROVIDER,
        offer=answers.word(item, "armSkuName"),
        region=answers.word(item, "armRegionName"),
        amount=answers.amount(item.get("retailPrice")),
        currency=answers.currency(item.get("currencyCode")),
        source=SOURCE,
        raw_id=_raw_id(item),
        valid_from=answers.day(item.get("effectiveStartDate")),
        valid_until=answers.last_day(item.get("effectiveEndDate")),
        **purchase,
    )


def _check_machine(item: dict[str, Any]) -> None:
    product, meter = answers.word(item, "productName"), answers.word(item, "meterName")
    if answers.word(item, "serviceName") not in {"", SERVICE}:
        raise NoPrice(SkipReason.NOT_A_MACHINE, answers.word(item, "serviceName"))
    # Linux products carry no system in their name, Windows ones end with it.
    if product.endswith("Windows"):
        raise NoPrice(SkipReason.OTHER_SYSTEM, product)
    # Another service, sold under the same names of sizes.
    if "CloudServices" in product or "Cloud Services" in product:
        raise NoPrice(SkipReason.NOT_A_MACHINE, product)
    # A whole server, priced without the machines on it.
    if "Dedicated Host" in product:
        raise NoPrice(SkipReason.NOT_A_MACHINE, product)
    if meter.endswith(("Free", "Expired")):
        raise NoPrice(SkipReason.FREE_OR_EXPIRED, meter)


def _purchase(item: dict[str, Any]) -> dict[str, Any]:
    """How the item is bought: purchase model, unit and term."""
    kind = answers.word(item, "type")
    names = f"{answers.word(item, 'skuName')} {answers.word(item, 'meterName')}"
    # The forerunner of spot, which only batch services can buy.
    if "Low Priority" in names:
        raise NoPrice(SkipReason.OTHER_MARKET, names)
    if kind == "Consumption":
        if "Spot" in names.split():
            model = PurchaseModel.SPOT
            return {"purchase_model": model, "unit": PriceUnit.HOUR, "note": INDICATIVE}
        return {"purchase_model": PurchaseModel.ON_DEMAND, "unit": PriceUnit.HOUR}
    if kind == "Reservation":
        # The price is that of the whole term, although the unit still says an hour.
        return {
            "purchase_model": PurchaseModel.RESERVED,
            "unit": PriceUnit.ONCE,
            "term": _term(item, "reservationTerm"),
            "upfront": "all",
        }
    raise NoPrice(SkipReason.OTHER_MARKET, kind)


def _term(item: dict[str, Any], key: str) -> str:
    said = answers.word(item, key)
    if said not in TERMS:
        raise NoPrice(SkipReason.OTHER_TERMS, said)
    return TERMS[said]


def _savings(item: dict[str, Any], machine: ParsedPrice) -> Iterator[Result]:
    """The savings plans that an item carries, which are per hour."""
    listed = item.get("savingsPlan")
    for plan in answers.objects(listed, where="savingsPlan") if listed is not None else ():
        raw_id = f"{machine.raw_id}/{answers.word(plan, 'term')}"
        try:
            yield ParsedPrice(
                provider=PROVIDER,
                offer=machine.offer,
                region=machine.region,
                purchase_model=PurchaseModel.SAVINGS,
                amount=answers.amount(plan.get("retailPrice")),
                currency=machine.currency,
                unit=PriceUnit.HOUR,
                term=_term(plan, "term"),
                # A savings plan may be paid monthly at the same price.
                upfront="none",
                source=machine.source,
                raw_id=raw_id,
                valid_from=machine.valid_from,
                valid_until=machine.valid_until,
            )
        except NoPrice as why:
            yield not_used(machine, why.reason, why.detail, PurchaseModel.SAVINGS, raw_id)
