"""EC2 prices: which of a type's many rows is the one to pay, and what its terms say.

A type has some twenty rows (systems, licences, tenancies, reserved capacity), two in five of them
priced 0. Taking the first, last or dearest is wrong for most types; see RIGHT_ROW.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from backend.foundation.errors import InvalidValue
from backend.foundation.units import BYTES_PER_GB, BYTES_PER_GIB
from backend.money.price_lists import (
    NoPrice,
    ParsedPrice,
    ParsedType,
    Result,
    Skipped,
    SkipReason,
    answers,
)
from backend.money.pricing.purchase import PriceUnit, PurchaseModel
from backend.providers.aws import CREDIT_FAMILIES

PROVIDER = "aws"
SOURCE = "AWS price list, AmazonEC2, https://aws.amazon.com/ec2/pricing/on-demand/"
MACHINES = "Compute Instance"
# (attribute, its value on the right row, why another is wrong). An attribute that an answer does not carry
# does not filter. Bare metal is no exception: its Shared row is what is paid.
RIGHT_ROW: tuple[tuple[str, str, SkipReason], ...] = (
    ("locationtype", "AWS Region", SkipReason.OTHER_LOCATION),
    ("operatingsystem", "Linux", SkipReason.OTHER_SYSTEM),
    ("tenancy", "Shared", SkipReason.OTHER_TENANCY),
    ("preinstalledsw", "NA", SkipReason.OTHER_SOFTWARE),
    ("licensemodel", "No License required", SkipReason.OTHER_LICENCE),
    ("marketoption", "OnDemand", SkipReason.OTHER_MARKET),
    ("capacitystatus", "Used", SkipReason.OTHER_CAPACITY),
)
ON_DEMAND, RESERVED = "OnDemand", "Reserved"
# Kinds of terms that are read, by the provider's word.
PURCHASE_MODELS: Mapping[str, PurchaseModel] = MappingProxyType(
    {ON_DEMAND: PurchaseModel.ON_DEMAND, RESERVED: PurchaseModel.RESERVED}
)
HOURS, WHOLE_TERM = "Hrs", "Quantity"
TERMS: Mapping[str, str] = MappingProxyType({"1yr": "1y", "3yr": "3y"})
UPFRONT: Mapping[str, str] = MappingProxyType(
    {"No Upfront": "none", "Partial Upfront": "partial", "All Upfront": "all"}
)
# (whether hours cost something, whether the start of the term does). A file that says otherwise was
# misread, and a price without its upfront part would look like the cheapest.
PAID: Mapping[str, tuple[bool, bool]] = MappingProxyType(
    {"none": (True, False), "partial": (True, True), "all": (False, True)}
)
# The price list names no credits. T machines may use less CPU than they show.
BURSTABLE = ("t1.", *CREDIT_FAMILIES)


@dataclass(frozen=True, slots=True)
class Product:
    """A SKU that is the right row of its type."""

    sku: str
    type: ParsedType


@dataclass(frozen=True, slots=True)
class Rate:
    """A line of a SKU's terms, in the provider's own words."""

    sku: str
    model: str
    term_code: str
    rate_code: str
    unit: str
    amount: object
    currency: str
    lease: str
    option: str
    offering_class: str
    effective: str


def plain(name: str) -> str:
    """An attribute's name without spelling: the CSV writes "Pre Installed S/W", the JSON
    preInstalledSw."""
    return "".join(c for c in name if c.isalnum()).lower()


def choose_product(sku: str, family: str, attributes: Mapping[str, str]) -> Product | Skipped:
    """The product, if it is the plain Linux row of a type. Names of attributes are plain ones."""
    name, region = attributes.get("instancetype", ""), attributes.get("regioncode", "")

    # Families also hold dedicated hosts (m5), which are named without a size.
    if "." not in name or (family and not family.startswith(MACHINES)):
        # Without `offer`, or it would stand in the list of types without a price.
        detail = answers.shown(f"{family} {name}")
        return Skipped(
            reason=SkipReason.NOT_A_MACHINE,
            provider=PROVIDER,
            raw_id=sku,
            detail=detail,
            region=region,
        )
    try:
        _check_right(attributes)
    except NoPrice as why:
        return _skip(name, region, PurchaseModel.ON_DEMAND, sku, why)
    return Product(sku, _type(name, region, attributes))


def _check_right(attributes: Mapping[str, str]) -> None:
    for attribute, right, reason in RIGHT_ROW:
        value = attributes.get(attribute, "")
        # The interface and the two files carry different attributes: absent says nothing.
        if value not in {"", right}:
            raise NoPrice(reason, value)
    usage = attributes.get("usagetype", "")
    # DedicatedUsage, UnusedBox, Reservation …: the same type with other conditions, some at price 0.
    if usage and "BoxUsage" not in usage:
        raise NoPrice(SkipReason.OTHER_CAPACITY, usage)
    # The region's name changes ("EU (Ireland)", "Europe (Ireland)"), its code does not.
    if not attributes.get("regioncode", ""):
        raise NoPrice(SkipReason.NO_REGION, attributes.get("location", ""))


def _type(name: str, region: str, attributes: Mapping[str, str]) -> ParsedType:
    processor = attributes.get("physicalprocessor", "")
    disk_bytes, disk_kind = _disk(attributes.get("storage", ""))
    return ParsedType(
        provider=PROVIDER,
        region=region,
        name=name,
        arch=_arch(processor),
        cpu_model="" if processor in answers.MISSING else processor,
        vcpu_count=answers.above_zero(attributes.get("vcpu")),
        # A vCPU of the others is a thread, or a core, of which nobody else has a share.
        vcpu_kind="burstable" if name.startswith(BURSTABLE) else "dedicated",
        memory_bytes=_memory(attributes.get("memory", "")),
        disk_bytes=disk_bytes,
        disk_kind=disk_kind,
        gpu_count=_count(attributes.get("gpu", "")),
    )


def _arch(processor: str) -> str:
    if "Graviton" in processor:
        return "arm64"
    return "x86_64" if processor.startswith(("Intel", "AMD", "High Frequency Intel")) else ""


def _memory(text: str) -> int | None:
    """ "1,952 GiB" as bytes."""
    figure, _, unit = text.replace(",", "").partition(" ")
    return answers.size(figure, BYTES_PER_GIB) if unit == "GiB" else None


def _disk(text: str) -> tuple[int | None, str]:
    """ "2 x 900 NVMe SSD" and "1 x 475 GB SSD" as bytes and kind; "EBS only" is none."""
    parts = text.split()
    if len(parts) < 3 or parts[1] != "x":
        return None, ""
    count, each = answers.above_zero(parts[0]), answers.above_zero(parts[2])
    kind = "hdd" if "HDD" in parts else "nvme" if "NVMe" in parts else "ssd"
    if count is None or each is None:
        return None, ""
    return int(count * each * BYTES_PER_GB), kind


def _count(text: str) -> int | None:
    number = answers.above_zero(text)
    return None if number is None else int(number)


def term_rates(sku: str, model: str, terms: Mapping[str, Any]) -> Iterator[Rate | Skipped]:
    """The lines of {term code: term}, the form that one SKU has under a model of terms."""
    for code, term in terms.items():
        term = answers.mapping(term, where=f"{model}.{code}")  # noqa: PLW2901
        attributes = answers.inner(term, "termAttributes")
        for rate_code, line in answers.inner(term, "priceDimensions").items():
            line = answers.mapping(line, where=f"{model}.{code}.{rate_code}")  # noqa: PLW2901
            prices = answers.inner(line, "pricePerUnit")
            # Files of the Chinese regions are in another currency; two at once have no rule which one
            # counts.
            if len(prices) != 1:
                yield _unusable(rate_code, SkipReason.NO_CURRENCY, f"{len(prices)} currencies")
                continue
            ((currency, amount),) = prices.items()
            yield Rate(
                sku=sku,
                model=model,
                term_code=code,
                rate_code=rate_code,
                unit=answers.word(line, "unit"),
                amount=amount,
                currency=currency,
                lease=answers.word(attributes, "LeaseContractLength"),
                option=answers.word(attributes, "PurchaseOption"),
                offering_class=answers.word(attributes, "OfferingClass"),
                effective=answers.word(term, "effectiveDate"),
            )


def _unusable(rate_code: str, reason: SkipReason, detail: str) -> Skipped:
    return Skipped(reason=reason, provider=PROVIDER, raw_id=rate_code, detail=detail)


def priced(products: Mapping[str, Product], rates: Iterable[Rate]) -> Iterator[Result]:
    """The types and prices of the chosen products; each product without an on-demand price, or
    with a term that cannot be read, has its reason."""
    terms: dict[tuple[str, str, str, str], list[Rate]] = {}
    for rate in rates:
        term = (rate.sku, rate.model, rate.term_code, rate.effective)
        terms.setdefault(term, []).append(rate)
    on_demand = {sku for sku, model, *_ in terms if model == ON_DEMAND}
    for sku, product in products.items():
        yield product.type
        if sku not in on_demand:
            why = NoPrice(SkipReason.NO_PRICE, "no on-demand term")
            yield _skip(product.type.name, product.type.region, PurchaseModel.ON_DEMAND, sku, why)
    # A reserved term is one price of two lines: an hourly rate and what is paid at the start.
    for (sku, model, *_), lines in terms.items():
        yield _of_term(products[sku].type, PURCHASE_MODELS[model], lines)


def _skip(offer: str, region: str, model: PurchaseModel, raw_id: str, why: NoPrice) -> Skipped:
    return answers.skip_row(
        why, provider=PROVIDER, raw_id=raw_id, offer=offer, region=region, purchase_model=model
    )


def _of_term(machine: ParsedType, model: PurchaseModel, lines: list[Rate]) -> ParsedPrice | Skipped:
    """The price that the lines of one term make together."""
    raw_id = "+".join(line.rate_code for line in lines)
    try:
        paid = _reservation_terms(lines) if model is PurchaseModel.RESERVED else _on_demand(lines)
        return ParsedPrice(
            provider=PROVIDER,
            offer=machine.name,
            region=machine.region,
            purchase_model=model,
            currency=answers.currency(lines[0].currency),
            source=SOURCE,
            raw_id=raw_id,
            valid_from=answers.day(lines[0].effective),
            **paid,
        )
    except NoPrice as why:
        return _skip(machine.name, machine.region, model, raw_id, why)


def _on_demand(lines: list[Rate]) -> dict[str, Any]:
    # Several would be a price by amount used, which no row of an offer can state.
    if len(lines) != 1:
        raise NoPrice(SkipReason.TIERED, f"{len(lines)} prices")
    if lines[0].unit != HOURS:
        raise NoPrice(SkipReason.OTHER_UNIT, lines[0].unit)
    return {"amount": answers.amount(lines[0].amount), "unit": PriceUnit.HOUR}


def _reservation_terms(lines: list[Rate]) -> dict[str, Any]:
    """Hourly price and upfront part; with all upfront the amount is that of the whole term."""
    first = lines[0]
    term, upfront = TERMS.get(first.lease, ""), UPFRONT.get(first.option, "")
    if not (term and upfront):
        raise NoPrice(SkipReason.OTHER_TERMS, f"{first.lease} {first.option}")
    amounts = {line.unit: answers.above_zero(line.amount) for line in lines}
    # Two lines of one unit: which one counts is not known.
    if len(amounts) < len(lines) or not amounts.keys() <= {HOURS, WHOLE_TERM}:
        raise NoPrice(SkipReason.OTHER_UNIT, " ".join(line.unit for line in lines))
    hourly, whole = amounts.get(HOURS), amounts.get(WHOLE_TERM)
    if (hourly is not None, whole is not None) != PAID[upfront]:
        stated = ", ".join(f"{line.amount} {line.unit}" for line in lines)
        raise NoPrice(SkipReason.UNEXPECTED_SHAPE, f"{first.option}: {stated}")
    common = {"term": term, "upfront": upfront, "plan": first.offering_class}
    if hourly is None:
        return {"amount": whole, "unit": PriceUnit.ONCE, **common}
    return {"amount": hourly, "unit": PriceUnit.HOUR, "setup_amount": whole, **common}


def parse(pages: Iterable[str]) -> Iterator[Result]:
    """Prices from the pages of GetProducts, each the JSON text of one answer.

    Raises InvalidValue for an answer that is not of this form.
    """
    products: dict[str, Product] = {}
    rates: list[Rate] = []
    for number, page in enumerate(pages):
        where = f"page {number + 1}"
        entries = answers.mapping(answers.document(page, where=where), where=where)
        for entry in _entries(entries, where):
            listed = answers.inner(entry, "product")
            product = choose_json_product(answers.word(listed, "sku"), listed)
            if isinstance(product, Skipped):
                yield product
                continue
            products[product.sku] = product
            for model in PURCHASE_MODELS:
                for rate in term_rates(
                    product.sku, model, answers.inner(answers.inner(entry, "terms"), model)
                ):
                    if isinstance(rate, Skipped):
                        yield rate
                    else:
                        rates.append(rate)
    yield from priced(products, rates)


def choose_json_product(sku: str, product: Mapping[str, Any]) -> Product | Skipped:
    """As `choose_product`, from a product in the form of the JSON answers."""
    attributes = answers.inner(dict(product), "attributes")
    family = answers.word(dict(product), "productFamily")
    return choose_product(
        sku, family, {plain(name): answers.word(attributes, name) for name in attributes}
    )


def _entries(page: dict[str, Any], where: str) -> Iterator[dict[str, Any]]:
    """The entries of PriceList, which are JSON written into texts."""
    listed = page.get("PriceList")
    if not isinstance(listed, list):
        raise InvalidValue(f"{where} PriceList", "is missing, or no list")
    for index, entry in enumerate(listed):
        name = f"{where} PriceList[{index}]"
        # The API writes each entry as a text; who saved the answer may have unpacked it.
        value = answers.document(entry, where=name) if isinstance(entry, str) else entry
        yield answers.mapping(value, where=name)


def skus(results: Iterable[Result]) -> dict[str, ParsedPrice]:
    """The on-demand prices by SKU, on which the savings plans are joined."""
    return {
        # A rate's code begins with the SKU, and goes on with the term's after a full stop.
        result.raw_id.partition(".")[0]: result
        for result in results
        if isinstance(result, ParsedPrice) and result.purchase_model is PurchaseModel.ON_DEMAND
    }
