"""From the document of a scenario to everything that its result depends on."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from backend.catalog.calc.hardware import monthly_cost
from backend.catalog.calc.hardware_document import HardwareDocument
from backend.foundation.errors import InvalidDocument
from backend.foundation.texts import text as _
from backend.foundation.units import HOURS_PER_MONTH
from backend.money.pricing.billing.terms import Terms
from backend.scenarios.calc.demand import demand_from
from backend.scenarios.calc.document import OptionDocument, PartDocument, ScenarioDocument
from backend.scenarios.calc.document_values import MONTH, MOST_SERVERS
from backend.scenarios.calc.model import (
    Assumption,
    Option,
    OptionPart,
    OwnServer,
    Price,
    ScenarioInput,
    unlimited,
)
from backend.scenarios.calc.price_document import PURCHASE, UNITS_OF_BILLINGS, ServerPriceDocument


def scenario_from(document: object, check: Callable[[], None] = unlimited) -> ScenarioInput:
    """The scenario that a document describes; InvalidDocument names every field that is wrong."""
    read = ScenarioDocument.read(document)
    demand = demand_from(read.demand, read.horizon.steps)
    scenario = ScenarioInput(
        name=read.name,
        steps=read.horizon.steps,
        months=read.horizon.months,
        demand=demand,
        target_utilisation=read.capacity.target_utilisation,
        policy=read.policy.model_copy(update={"target": read.target}),
        options=tuple(option_from(option, read) for option in read.options),
        hazard_per_month=read.hazard_per_month,
        contract_months=read.contract.minimum_months,
        notice_days=read.contract.notice_days,
        tolerated_unserved_share=read.tolerated_unserved_share,
        price_per_unserved_unit_hour=read.price_per_unserved_unit_hour,
        uncertainty=read.uncertainty,
        assumptions=(*_assumptions(read), *demand.notes),
        document=document if isinstance(document, Mapping) else {},
        check=check,
    )
    faults = sorted(_sizes(read, scenario))
    if faults:
        raise InvalidDocument(faults)
    return scenario


def option_from(document: OptionDocument, whole: ScenarioDocument) -> Option:
    """An option of a scenario, also one that its document does not have."""
    parts = tuple(_part(part, whole) for part in document.parts)
    extras = document.extras.over(whole.extras) if document.extras else whole.extras
    if len(parts) == 1:
        return Option(document.name, parts, extras)
    # By their names: base comes before burst in the alphabet.
    base, burst = sorted(parts, key=lambda part: part.role)
    stated = document.parts[parts.index(base)].price
    if base.price.billing == "reserved" and "minimum_s" not in stated.model_fields_set:
        # Reservations count lives as the price beside them does, if they do not say otherwise.
        terms = replace(base.price.terms, minimum_s=burst.price.terms.minimum_s)
        parts = (replace(base, price=replace(base.price, terms=terms)), burst)
    return Option(document.name, parts, extras)


def _part(document: PartDocument, whole: ScenarioDocument) -> OptionPart:
    units = document.capacity or whole.capacity.units_per_server
    return OptionPart(
        role=document.role,
        count=document.count,
        price=_price(document.price),
        units_per_server=units or Fraction(1),
    )


def _price(document: ServerPriceDocument) -> Price:
    if document.hardware is not None:
        return _purchase(document.hardware, document.after_per_hour)
    return Price(
        billing=document.billing,
        unit=UNITS_OF_BILLINGS[document.billing],
        currency=document.currency,
        terms=document.terms,
        after_per_hour=document.after_per_hour,
    )


def _purchase(hardware: HardwareDocument, after_per_hour: Fraction | None) -> Price:
    """Own hardware: what one server of the set costs a month of 730 hours, as it is calculated."""
    cost = monthly_cost(hardware)
    terms = Terms(
        price=Fraction(cost.price_per_month),
        month_convention=HOURS_PER_MONTH,
        term_months=hardware.lease.term_months if hardware.lease else hardware.life_months,
    )
    purchase = Fraction(cost.capital_total) / hardware.servers
    own = OwnServer(
        purchase=purchase,
        resale_at_start=purchase * Fraction(hardware.resale_ratio_at_start),
        residual=Fraction(cost.residual_total) / hardware.servers,
        sunk=Fraction(cost.one_off_total) / hardware.servers,
        lease_per_month=Fraction(cost.breakdown.lease),
        running_per_month=Fraction(cost.breakdown.running),
    )
    return Price(PURCHASE, MONTH, hardware.currency, terms, after_per_hour, own)


def _sizes(read: ScenarioDocument, scenario: ScenarioInput) -> Iterator[tuple[str, str]]:
    """Servers too small for the highest demand."""
    highest = Fraction(float(scenario.demand.values.max()))
    target = min(scenario.target_utilisation, read.target)
    for index, option in enumerate(scenario.options):
        for n, part in enumerate(option.parts):
            servers = highest / (part.units_per_server * target)
            if servers > MOST_SERVERS:
                is_own = read.options[index].parts[n].capacity is not None
                own = f"/options/{index}/parts/{n}/capacity"
                detail = f"the highest demand needs {float(servers):.0f} servers"
                yield (
                    own if is_own else "/capacity/units_per_server",
                    f"{detail}; at most {MOST_SERVERS} are possible",
                )


def _assumptions(read: ScenarioDocument) -> list[Assumption]:
    """Defaults that were assumed for what was not stated."""
    step = str(read.horizon.step_s)
    assumptions = [Assumption("step", step, "s", _("demand between two step starts is not seen"))]
    for name in ("warmup_s", "lag_s"):
        if name not in read.policy.model_fields_set:
            source = _("not stated: servers start and are seen at once")
            assumptions.append(Assumption(name, "0", "s", source))
    if read.uncertainty and "score_cv" not in read.uncertainty.model_fields_set:
        source = _("not stated: what is stated between machines of a type for CPU scores")
        assumptions.append(Assumption("score_cv", str(read.uncertainty.score_cv), "ratio", source))
    if not read.hazard_per_month:
        for name in sorted(read.contract.model_fields_set):
            source = _("without hazard_per_month no project ends early: it changes nothing")
            value = str(getattr(read.contract, name))
            assumptions.append(Assumption(f"contract {name}", value, "", source))
    for option in read.options:
        for part in option.parts:
            assumptions += _of_price(option.name, part.price, read)
    return assumptions


def _of_price(
    option: str, price: ServerPriceDocument, read: ScenarioDocument
) -> Iterator[Assumption]:
    if price.example is not None:
        source = _("proposed by a template: put in your own before you compare")
        yield Assumption(f"example price, {option}", price.example, "", source)
    if price.notice:
        source = "in words; contract notice_days is what is calculated with"
        yield Assumption(f"notice, {option}", price.notice, "", source)
    if price.billing == "spot":
        source = (
            "each leaves the demand of one server unmet for warm-up and lag and pays the least "
            "time once more; the worst step is that of a run without any"
            if price.interruptions_per_month
            else "none: a provider that takes servers back costs nothing here"
        )
        number = f"{float(price.interruptions_per_month):g}"
        yield Assumption(f"interruptions, {option}", number, "per server and 730 h", source)
    if price.hardware is not None and read.hazard_per_month:
        source = _(
            "own hardware is sold when the project ends: this share of its price at first, falling to"
            " the residual value, {ratio}, at the end of its life",
            ratio=f"{price.hardware.residual_ratio:f}",
        )
        resale = f"{price.hardware.resale_ratio_at_start:f}"
        yield Assumption(f"resale value, {option}", resale, "ratio", source)
