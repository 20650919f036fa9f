"""SKUs of the Cloud Billing Catalog as the components that a machine's price is made of."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from backend.foundation.units import EXACT
from backend.money.price_lists import NoPrice, Skipped, SkipReason, answers
from backend.money.pricing.purchase import PurchaseModel

PROVIDER = "gcp"
CORE, RAM = "core", "ram"
# Digits of a price's fraction, which comes apart from its whole units.
NANO = 9
SPOT = "Spot Preemptible "
UNITS: Mapping[str, str] = MappingProxyType({CORE: "h", RAM: "GiBy.h"})
MODELS: Mapping[str, PurchaseModel] = MappingProxyType(
    {"OnDemand": PurchaseModel.ON_DEMAND, "Preemptible": PurchaseModel.SPOT}
)
# (words of a description, why it is no component of a plain machine).
OTHERS: tuple[tuple[str, SkipReason], ...] = (
    ("Commitment", SkipReason.OTHER_TERMS),
    ("Reserved", SkipReason.OTHER_TERMS),
    ("DWS", SkipReason.OTHER_MARKET),
    ("Flex", SkipReason.OTHER_MARKET),
    ("Calendar Mode", SkipReason.OTHER_MARKET),
    ("Sole Tenancy", SkipReason.OTHER_TENANCY),
    ("Custom", SkipReason.CUSTOM),
    ("Extended", SkipReason.CUSTOM),
)
PART = re.compile(r"(?P<machine>.+?)(?: Instance)? (?P<part>Core|Ram) running in .+")
WHOLE = re.compile(r"(?P<size>Micro|Small) Instance with .+ running in .+")
GPU = re.compile(r"(?P<name>Nvidia .+) GPU (?:attached to Spot Preemptible VMs )?running in .+")
FAMILY = re.compile(r"(?P<family>[A-Z][0-9]+[A-Za-z]*)(?: Predefined| AMD| Arm| Memory-optimized)*")
# Families whose descriptions were written before families had names.
NAMED: Mapping[str, str] = MappingProxyType(
    {
        "Compute optimized": "c2",
        "Memory-optimized": "m1",
        "Memory Optimized Upgrade Premium for Memory-optimized": "m2",
    }
)
WHOLE_MACHINES: Mapping[str, str] = MappingProxyType({"Micro": "f1-micro", "Small": "g1-small"})
# Accelerators that machine types name otherwise than by the words of the description.
ACCELERATORS: Mapping[str, str] = MappingProxyType(
    {
        "nvidia-tesla-a100-80gb": "nvidia-a100-80gb",
        "nvidia-h100-80gb-mega": "nvidia-h100-mega-80gb",
    }
)


@dataclass(frozen=True, slots=True)
class Component:
    """A price per hour of one vCPU, one GiB, one accelerator, or one whole small machine.

    `part` is core, ram, or the name of the accelerator or of the machine type; `family` is "" for
    those.
    """

    family: str
    part: str
    region: str
    purchase_model: PurchaseModel
    amount: Decimal
    currency: str
    sku: str
    valid_from: dt.date | None
    """Day from which it holds until the next one of its SKU."""


def components(pages: Iterable[str]) -> Iterator[Component | Skipped]:
    """The components in each region they are sold in, from the JSON texts of the answers.

    Raises InvalidValue for an answer that is not of this form.
    """
    for number, page in enumerate(pages):
        where = f"page {number + 1}"
        answer = answers.mapping(answers.document(page, where=where), where=where)
        for sku in answers.objects(answer.get("skus"), where=f"{where} skus"):
            try:
                yield from _of_sku(sku)
            except NoPrice as why:
                yield answers.skip_row(why, provider=PROVIDER, raw_id=answers.word(sku, "skuId"))


def _of_sku(sku: dict[str, Any]) -> list[Component]:
    category, description = answers.inner(sku, "category"), answers.word(sku, "description")
    if answers.word(category, "resourceFamily") != "Compute":
        raise NoPrice(SkipReason.NOT_A_MACHINE, description)
    for words, reason in OTHERS:
        if words in description:
            raise NoPrice(reason, description)
    usage = answers.word(category, "usageType")
    # Commit1Yr and Commit3Yr: prices per hour that only a contract gives.
    if usage not in MODELS:
        raise NoPrice(SkipReason.OTHER_TERMS, f"{usage} {description}")
    family, part = _meaning(description)
    unit = UNITS.get(part, "h")
    prices = [
        (day, *_price(answers.inner(info, "pricingExpression"), unit))
        for day, info in _periods(sku).items()
    ]
    # Places are read from their codes: a description says "Americas" or "Virginia".
    regions = answers.words(sku, "serviceRegions")
    if not regions:
        raise NoPrice(SkipReason.NO_REGION, description)
    return [
        Component(
            family=family,
            part=part,
            region=region,
            purchase_model=MODELS[usage],
            amount=amount,
            currency=currency,
            sku=answers.word(sku, "skuId"),
            valid_from=day,
        )
        for region in regions
        for day, amount, currency in prices
    ]


def _meaning(description: str) -> tuple[str, str]:
    """(family, part) of a description. Raises NoPrice for one that names no known part."""
    plain = description.removeprefix(SPOT)
    if whole := WHOLE.fullmatch(plain):
        return "", WHOLE_MACHINES[whole["size"]]
    if gpu := GPU.fullmatch(plain):
        name = gpu["name"].lower().replace(" ", "-")
        return "", ACCELERATORS.get(name, name)
    part = PART.fullmatch(plain)
    if part is None:
        raise NoPrice(SkipReason.NOT_A_MACHINE, description)
    family = FAMILY.fullmatch(part["machine"])
    name = family["family"].lower() if family else NAMED.get(part["machine"], "")
    if not name:
        raise NoPrice(SkipReason.NOT_A_MACHINE, description)
    return name, part["part"].lower()


def _periods(sku: dict[str, Any]) -> dict[dt.date | None, dict[str, Any]]:
    """The prices of a SKU by their first day; of one day the last counts."""
    listed = sku.get("pricingInfo")
    if not isinstance(listed, list) or not listed:
        raise NoPrice(SkipReason.NO_PRICE, "no pricingInfo")
    known = answers.objects(listed, where="pricingInfo")
    by_time = sorted(known, key=lambda info: answers.word(info, "effectiveTime"))
    return {answers.day(info.get("effectiveTime")): info for info in by_time}


def _price(expression: dict[str, Any], expected_unit: str) -> tuple[Decimal, str]:
    unit = answers.word(expression, "usageUnit")
    if unit != expected_unit:
        raise NoPrice(SkipReason.OTHER_UNIT, unit)
    listed = expression.get("tieredRates")
    rates = answers.objects(listed, where="tieredRates") if listed else []
    if len(rates) != 1 or answers.above_zero(rates[0].get("startUsageAmount")):
        raise NoPrice(SkipReason.TIERED if rates else SkipReason.NO_PRICE, f"{len(rates)} rates")
    price = answers.inner(rates[0], "unitPrice")
    amount = money(price.get("units"), price.get("nanos"))
    return answers.amount(amount), answers.currency(price.get("currencyCode"))


def money(units: object, nanos: object) -> Decimal | None:
    """units + nanos / 10⁹, exactly; of a negative amount both carry the sign.

    A part that is left out is 0; None when both are, or one is no whole number.
    """
    if units is None and nanos is None:
        return None
    parts = [Decimal(0) if part is None else answers.number(part) for part in (units, nanos)]
    whole, fraction = parts
    if whole is None or fraction is None or whole % 1 or fraction % 1:
        return None
    return EXACT.add(whole, fraction.scaleb(-NANO))
