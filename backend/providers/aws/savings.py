"""The AWS savings-plan files: discounted rates by the SKU of the on-demand price.

The rates carry no type: a usage type or a name would match several systems and tenancies.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from backend.money.price_lists import NoPrice, ParsedPrice, Result, SkipReason, answers
from backend.money.price_lists.collected import not_used
from backend.money.price_lists.json_stream import Scanner, Stream
from backend.money.pricing.purchase import PriceUnit, PurchaseModel
from backend.providers.aws.prices import HOURS, PROVIDER, UPFRONT

SOURCE = "AWS price list, savings plans, https://aws.amazon.com/savingsplans/compute-pricing/"
FILE = "savings plan file"
PLANS: Mapping[str, str] = MappingProxyType(
    {"ComputeSavingsPlans": "compute", "EC2InstanceSavingsPlans": "ec2_instance"}
)
TERMS: Mapping[tuple[str, str], str] = MappingProxyType({("1", "year"): "1y", ("3", "year"): "3y"})


@dataclass(frozen=True, slots=True)
class _Plan:
    """Rates of one offered plan."""

    sku: str
    term: str
    effective: str
    rates: list[dict[str, Any]]


def parse(stream: Stream, on_demand: Mapping[str, ParsedPrice]) -> Iterator[Result]:
    """Rates of the SKUs in `on_demand` (see aws.skus), from a region's file or pieces of it.

    Rates of other SKUs (other systems, tenancies, services) are passed over in silence: they are
    nearly all of the file. Raises InvalidValue, naming the character, for text of another form.
    """
    scanner = Scanner(stream, where=FILE)
    products: dict[str, dict[str, Any]] = {}
    plans: list[_Plan] = []
    for key in scanner.members():
        if key == "products":
            for _ in scanner.items():
                product = answers.mapping(scanner.value(), where=f"{FILE} products")
                products[answers.word(product, "sku")] = product
        elif key == "terms":
            for kind in scanner.members():
                if kind == "savingsPlan":
                    # Terms may stand before the products, so prices are made once both are read.
                    plans.extend(_plan(scanner, on_demand) for _ in scanner.items())
                else:
                    scanner.skip()
        else:
            scanner.skip()
    for plan in plans:
        yield from _prices(plan, products.get(plan.sku, {}), on_demand)


def _plan(scanner: Scanner, on_demand: Mapping[str, ParsedPrice]) -> _Plan:
    """A plan, of whose rates (tens of thousands) only those of known machines are kept."""
    rates: list[dict[str, Any]] = []
    fields: dict[str, Any] = {}
    for key in scanner.members():
        if key == "rates":
            for _ in scanner.items():
                rate = answers.mapping(scanner.value(), where=f"{FILE} rates")
                # The SKU of the right row's price (see prices.RIGHT_ROW): it settles system, tenancy and
                # licence.
                if answers.word(rate, "discountedSku") in on_demand:
                    rates.append(rate)
        else:
            fields[key] = scanner.value()
    lease = answers.inner(fields, "leaseContractLength")
    return _Plan(
        sku=answers.word(fields, "sku"),
        term=TERMS.get((answers.word(lease, "duration"), answers.word(lease, "unit")), ""),
        effective=answers.word(fields, "effectiveDate"),
        rates=rates,
    )


def _prices(
    plan: _Plan, product: dict[str, Any], on_demand: Mapping[str, ParsedPrice]
) -> Iterator[Result]:
    for rate in plan.rates:
        machine, raw_id = (
            on_demand[answers.word(rate, "discountedSku")],
            answers.word(rate, "rateCode"),
        )
        try:
            paid = _payment_terms(plan, product, rate)
        except NoPrice as why:
            yield not_used(machine, why.reason, why.detail, PurchaseModel.SAVINGS, raw_id)
            continue
        yield ParsedPrice(
            provider=PROVIDER,
            offer=machine.offer,
            region=machine.region,
            purchase_model=PurchaseModel.SAVINGS,
            unit=PriceUnit.HOUR,
            source=SOURCE,
            raw_id=raw_id,
            valid_from=answers.day(plan.effective),
            **paid,
        )


def _payment_terms(plan: _Plan, product: dict[str, Any], rate: dict[str, Any]) -> dict[str, Any]:
    name = PLANS.get(answers.word(product, "productFamily"), "")
    option = answers.word(answers.inner(product, "attributes"), "purchaseOption")
    if not (name and plan.term and option in UPFRONT):
        raise NoPrice(SkipReason.OTHER_TERMS, f"plan {plan.sku} {option}")
    if answers.word(rate, "unit") != HOURS:
        raise NoPrice(SkipReason.OTHER_UNIT, answers.word(rate, "unit"))
    discounted = answers.inner(rate, "discountedRate")
    return {
        "amount": answers.amount(discounted.get("price")),
        "currency": answers.currency(discounted.get("currency")),
        "term": plan.term,
        "upfront": UPFRONT[option],
        "plan": name,
    }
