"""The document of a scenario (schema 1): every field with its range, default, unit and words.

The reader, the JSON Schema, the documentation of the API and the fields of the editor come from
these models. Prices by `offer` or `price_observation` and scores by `metric` are replaced by
plain ones by whoever knows the catalog, before the document is read.
"""

from fractions import Fraction
from typing import Annotated

from pydantic import Field

from backend.foundation.documents.model import Document, Faults
from backend.foundation.documents.values import (
    Float,
    Many,
    Number,
    Object,
    Text,
    Version,
    WholeNumber,
    Word,
)
from backend.foundation.texts import text as _
from backend.measure.metrics import CPU_CV
from backend.money.pricing.billing.lifetimes import CALENDAR
from backend.scenarios.calc.demand_document import DemandDocument, HorizonDocument
from backend.scenarios.calc.document_values import (
    CV,
    MOST_OPTIONS,
    MOST_SEED,
    OPTIMAL,
    UNIT,
    ZERO,
    AmountNumber,
    Convention,
    Count,
    Ratio,
    Tiers,
)
from backend.scenarios.calc.policy_document import Policy
from backend.scenarios.calc.price_document import PURCHASE, ServerPriceDocument


class CapacityDocument(Document):
    """Capacity of a server."""

    units_per_server: Annotated[
        Fraction | None,
        Number(
            _("Demand that one server can handle at its limit"),
            UNIT,
            label=_("Units that one server handles"),
            is_above=True,
        ),
    ] = None
    target_utilisation: Annotated[
        Fraction,
        Ratio(
            _("Share of a server that is planned to be used"),
            label=_("Target utilisation"),
            source=_("our assumption: no reserve; 0.7 is a common target"),
            is_above=True,
        ),
    ] = Fraction(1)
    metric: Annotated[
        str | None,
        Text(
            _("Metric whose score is the capacity of options that name an offer"),
            label=_("or a measured score"),
        ),
    ] = None
    units_per_score: Annotated[
        Fraction | None,
        Number(
            _("Demand that one point of the metric can handle"),
            UNIT,
            label=_("Units for a point of the score"),
            is_above=True,
        ),
    ] = None

    def faults(self) -> Faults:
        if self.metric is not None:
            yield "metric", "a score needs the catalog of offers"
        if self.units_per_score is not None:
            yield "units_per_score", "a score needs the catalog of offers"


class Extras(Document):
    """Costs beside the servers."""

    egress_gb_per_month: Annotated[
        Fraction,
        AmountNumber(
            _("Traffic to the internet"), "GB/month", label=_("Traffic out, GB per month")
        ),
    ] = ZERO
    egress_tiers: Annotated[
        tuple[tuple[Fraction | None, Fraction], ...],
        Tiers(
            _("[up to GB a month, price a GB]; the last bound is null"),
            _("currency/GB"),
            label=_("Prices of traffic"),
        ),
    ] = ()
    storage_gb: Annotated[Fraction, AmountNumber(_("Storage"), "GB", label=_("Storage, GB"))] = ZERO
    storage_usd_per_gb_month: Annotated[
        Fraction,
        AmountNumber(
            _("Price of storage"), _("currency/GB and month"), label=_("Price of a GB a month")
        ),
    ] = ZERO
    staff_hours_per_month: Annotated[
        Fraction, AmountNumber(_("Work"), "h/month", label=_("Staff hours a month"))
    ] = ZERO
    staff_hours_per_server_month: Annotated[
        Fraction,
        AmountNumber(
            _("Work on each server that is always on, rented or owned; elastic ones count as one"),
            _("h/month"),
            label=_("Staff hours a server and month"),
        ),
    ] = ZERO
    hardware_hours_per_server_month: Annotated[
        Fraction,
        AmountNumber(
            _("Work on the hardware of each own server, on top of its own document"),
            _("h/month"),
            label=_("Hardware hours an own server and month"),
        ),
    ] = ZERO
    staff_usd_per_hour: Annotated[
        Fraction, AmountNumber(_("Price of work"), _("currency/h"), label=_("Price of an hour"))
    ] = ZERO
    fixed_per_month: Annotated[
        Fraction, AmountNumber(_("Everything else"), _("currency/month"), label=_("Fixed a month"))
    ] = ZERO
    month_convention: Annotated[
        str | int, Convention(_("Hours that count as a month"), label=_("A month counts as"))
    ] = CALENDAR

    def over(self, shared: "Extras") -> "Extras":
        """These with those of all options for what they leave out."""
        return shared.model_copy(
            update={name: getattr(self, name) for name in self.model_fields_set}
        )


class PartDocument(Document):
    """Servers of one price."""

    role: Annotated[str, Word(_("Which part of the load"), choices=("all", "base", "burst"))] = (
        "all"
    )
    count: Annotated[
        int | str | None,
        Count(
            _(
                "Servers that are always on: a number, peak, or for a base optimal; by default elastic"
            ),
            _("servers"),
            label=_("How many"),
        ),
    ] = None
    price: Annotated[ServerPriceDocument, Object(_("What such a server costs"))]
    capacity: Annotated[
        Fraction | None,
        Number(
            _("units_per_server of this part"),
            UNIT,
            label=_("Units that it handles"),
            is_above=True,
        ),
    ] = None


class OptionDocument(Document):
    """A set-up that serves the whole load."""

    name: Annotated[str, Text(_("Name, once in the document"), label=_("Option"))]
    parts: Annotated[
        tuple[PartDocument, ...], Many(_("One part all, or one base and one burst"), low=1, high=2)
    ]
    extras: Annotated[Extras | None, Object(_("Own costs; each wins over that of all options"))] = (
        None
    )

    def faults(self) -> Faults:
        roles = [part.role for part in self.parts]
        if roles not in (["all"], ["base", "burst"], ["burst", "base"]):
            yield "parts", "either one part all, or one base and one burst"
            return
        base = next((part for part in self.parts if part.role == "base"), None)
        for index, part in enumerate(self.parts):
            if part.role == "base" and part.count is None:
                yield f"parts/{index}/count", "a base needs optimal, peak or a number"
            if part.role == "burst" and part.count is not None:
                yield f"parts/{index}/count", "a burst takes no count"
            if part.role == "all" and part.count == OPTIMAL:
                yield f"parts/{index}/count", "optimal is for a base beside a burst"
            if part.price.billing == PURCHASE and part.role == "burst":
                detail = "own servers stay when the load goes: make them the base, or one part all"
                yield f"parts/{index}/price/billing", detail
            elif part.price.billing == PURCHASE and part.role == "all" and part.count is None:
                detail = "own servers are bought once: state a number, or peak"
                yield f"parts/{index}/count", detail
            if part.price.billing == "reserved" and part.count is None:
                yield f"parts/{index}/price/billing", "reserved servers need a count"
            elif (
                part.role == "burst"
                and base is not None
                and base.price.billing == "reserved"
                and part.price.billing != "per_second"
            ):
                yield f"parts/{index}/price/billing", "beside reservations per_second is needed"


class ContractDocument(Document):
    """A term that binds beyond the need."""

    minimum_months: Annotated[
        int,
        WholeNumber(
            _("For every server that is always on"),
            _("months"),
            label=_("Minimum months of contracts"),
            high=120,
        ),
    ] = 0
    notice_days: Annotated[
        int, WholeNumber(_("Days from notice to end"), _("days"), label=_("Notice, days"), high=366)
    ] = 0


class Uncertainty(Document):
    """Spreads of the inputs, for Monte Carlo; without them there are no intervals."""

    draws: Annotated[
        int, WholeNumber(_("Simulations"), label=_("Simulations"), low=1, high=100_000)
    ] = 1000
    seed: Annotated[
        int,
        WholeNumber(_("The same seed gives the same simulations"), label=_("Seed"), high=MOST_SEED),
    ] = 0
    demand_growth_cv: Annotated[
        float,
        Float(
            _("Spread of the demand around its mean"), CV, label=_("Spread of the demand"), high="5"
        ),
    ] = 0.0
    score_cv: Annotated[
        float,
        Float(
            _("Spread of what one server handles; for a measured score its interval"),
            CV,
            label=_("Spread of the score"),
            high="5",
            source="what is stated between machines of a type for CPU scores",
        ),
    ] = CPU_CV
    price_cv: Annotated[
        float, Float(_("Spread of the prices"), CV, label=_("Spread of the price"), high="5")
    ] = 0.0
    boot_cv: Annotated[
        float,
        Float(
            _("Spread of the warm-up; for a measured one its interval"),
            CV,
            label=_("Spread of the start"),
            high="5",
        ),
    ] = 0.0


class ScenarioDocument(Document):
    """A scenario: demand over time, and options that serve it."""

    version: Annotated[int, Version(_("Version of the document"))] = Field(alias="schema")
    name: Annotated[str, Text(_("Name for people"), label=_("Name"))] = "Scenario"
    horizon: Annotated[HorizonDocument, Object(_("The time that is looked at"))]
    demand: Annotated[DemandDocument, Object(_("What is asked for over time"))]
    capacity: Annotated[CapacityDocument, Object(_("What one server can handle"))] = Field(
        default_factory=CapacityDocument
    )
    policy: Annotated[Policy, Object(_("How servers follow the demand"))] = Field(
        default_factory=lambda: Policy.read({})
    )
    options: Annotated[
        tuple[OptionDocument, ...],
        Many(
            _("What is compared, 1 to {most_options}", most_options=MOST_OPTIONS),
            low=1,
            high=MOST_OPTIONS,
        ),
    ]
    extras: Annotated[Extras, Object(_("Costs in addition to the servers, for all options"))] = (
        Field(default_factory=Extras)
    )
    hazard_per_month: Annotated[
        Fraction,
        Ratio(
            _("Probability that the project ends in a month"),
            label=_("Chance that the project ends in a month"),
        ),
    ] = ZERO
    contract: Annotated[ContractDocument, Object(_("What binds beyond the need"))] = Field(
        default_factory=ContractDocument
    )
    tolerated_unserved_share: Annotated[
        Fraction,
        Ratio(
            _("Share of the demand that an option may leave unmet and still be the cheapest"),
            label=_("Tolerated share of unmet demand"),
            source=_("our assumption: three nines"),
        ),
    ] = Fraction(1, 1000)
    price_per_unserved_unit_hour: Annotated[
        Fraction | None,
        AmountNumber(
            _("Instead: the cost of one unit of demand that is not served for an hour"),
            _("currency/unit of the demand and h"),
            label=_("or a price of unmet demand"),
        ),
    ] = None
    uncertainty: Annotated[
        Uncertainty | None,
        Object(_("Spreads of the inputs; without them no intervals"), is_nullable=True),
    ] = None

    @property
    def target(self) -> Fraction:
        """The use that the policy aims at."""
        is_own = "target" in self.policy.model_fields_set
        return self.policy.target if is_own else self.capacity.target_utilisation

    def faults(self) -> Faults:
        if self.policy.kind == "step" and self.policy.in_below > self.target:
            yield "policy/in_below", f"{float(self.policy.in_below)} is above target"
        has_price = self.price_per_unserved_unit_hour is not None
        if has_price and "tolerated_unserved_share" in self.model_fields_set:
            yield "tolerated_unserved_share", "either a share that is tolerated, or a price"
        names: set[str] = set()
        currency = _currency(self.options[0].parts[0])
        for n, option in enumerate(self.options):
            if option.name in names:
                yield f"options/{n}/name", f"{option.name!r} is the name of another option, too"
            names.add(option.name)
            extras = option.extras.over(self.extras) if option.extras else self.extras
            if extras.egress_gb_per_month and not extras.egress_tiers:
                own = "" if option.extras is None else f"options/{n}/"
                yield f"{own}extras/egress_tiers", "egress needs tiers"
            for m, part in enumerate(option.parts):
                at = f"options/{n}/parts/{m}"
                if part.capacity is None and self.capacity.units_per_server is None:
                    yield f"{at}/capacity", "units_per_server is said neither here nor for all"
                if _currency(part) != currency:
                    detail = f"{_currency(part)} beside {currency}: a document has one currency"
                    yield f"{at}/price/currency", detail


def _currency(part: PartDocument) -> str:
    hardware = part.price.hardware
    return part.price.currency if hardware is None else hardware.currency
