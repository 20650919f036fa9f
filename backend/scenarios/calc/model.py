"""A scenario as read: what is asked, with every default filled in. Amounts are exact fractions."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.money.pricing.billing.terms import Terms
from backend.scenarios.calc.document import Extras, Uncertainty
from backend.scenarios.calc.needed import Needs
from backend.scenarios.calc.policy_document import Policy
from backend.scenarios.calc.steps import Steps


def unlimited() -> None:
    """The check of a calculation that may take as long as it takes."""


@dataclass(frozen=True)
class Assumption:
    """An input that readers may want to check."""

    name: str
    value: str
    unit: str
    source: str


@dataclass(frozen=True, eq=False)
class Demand:
    """Units asked for in each step."""

    unit: str
    values: NDArray[np.float64]
    notes: tuple[Assumption, ...] = ()
    """Open points of the recording."""

    @cached_property
    def highest(self) -> float:
        return float(self.values.max())

    @cached_property
    def total(self) -> float:
        """Σ of the steps."""
        return float(self.values.sum())

    @cached_property
    def needs(self) -> Needs:
        """How many servers it needs."""
        return Needs(self.values)


@dataclass(frozen=True)
class OwnServer:
    """Amounts of one server of own hardware; those at the start recur with each life."""

    purchase: Fraction
    resale_at_start: Fraction
    """Resale value right after the purchase; it falls linearly to `residual`."""
    residual: Fraction
    """Resale value at the end of the life."""
    sunk: Fraction
    """Installation and migration, paid at the start."""
    lease_per_month: Fraction
    running_per_month: Fraction
    """Energy, space, support, staff and network in 730 hours."""

    @property
    def paid_at_start(self) -> Fraction:
        return self.purchase + self.sunk

    def resale(self, age: Fraction) -> Fraction:
        """Resale value at an age, as a share of the life."""
        return self.resale_at_start + (self.residual - self.resale_at_start) * age


@dataclass(frozen=True)
class Price:
    """A price and the rule that bills it; `terms` hold its amount for the unit."""

    billing: str
    unit: str
    currency: str
    terms: Terms
    after_per_hour: Fraction | None = None
    """Price of a server-hour once the first term has ended; None where the term renews."""
    own: "OwnServer | None" = None
    """Set for own hardware, which `terms` then bill by the month."""


@dataclass(frozen=True)
class OptionPart:
    """Servers of one price; `count` None is elastic."""

    role: str
    count: int | str | None
    price: Price
    units_per_server: Fraction


@dataclass(frozen=True)
class Option:
    """A set-up that serves the whole load: one part `all`, or a base and a burst."""

    name: str
    parts: tuple[OptionPart, ...]
    extras: Extras


@dataclass(frozen=True)
class ScenarioInput:
    """Everything that a result depends on."""

    name: str
    steps: Steps
    months: int | None
    demand: Demand
    target_utilisation: Fraction
    policy: Policy
    options: tuple[Option, ...]
    hazard_per_month: Fraction = Fraction(0)
    contract_months: int = 0
    notice_days: int = 0
    tolerated_unserved_share: Fraction = Fraction(0)
    price_per_unserved_unit_hour: Fraction | None = None
    uncertainty: Uncertainty | None = None
    assumptions: tuple[Assumption, ...] = ()
    document: Mapping[str, object] = field(default_factory=dict, hash=False)
    check: Callable[[], None] = field(default=unlimited, repr=False, compare=False)
    """Called between the parts of a long calculation; it ends one that takes too long by raising."""
    kept: dict[Hashable, Any] = field(
        default_factory=dict, init=False, repr=False, compare=False, hash=False
    )
    """The last trajectories, so that options that differ in price alone share one."""

    @property
    def currency(self) -> str:
        return self.options[0].parts[0].price.currency
