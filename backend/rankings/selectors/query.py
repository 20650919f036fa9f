"""The question of a ranking."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from decimal import Decimal
from typing import Any

from django.utils.functional import cached_property

from backend.catalog.selectors.price_choice import LIST, MACHINE, ON_DEMAND, PriceBasis
from backend.core.rest.parameters import PER_PAGE
from backend.foundation.units import HOURS_PER_MONTH
from backend.measure.metrics import METRICS, Metric
from backend.money.pricing.discounts import Discount
from backend.money.pricing.extras import DISK, EGRESS, IP, ExtraAmounts
from backend.money.pricing.quoted import SETUP_MONTHS
from backend.rankings.calc.mix import MIX
from backend.rankings.selectors.columns import COLUMNS_V1

SUSTAINED, BURST = "sustained", "burst"
UNRANKED, RANKED = "unranked", "ranked"
# Part of a basis: prices after the discounts of the workspace.
CONTRACT = "contract"
DEFAULT_SORT = (("value_per_cost", True),)


@dataclass(frozen=True)
class Filter:
    """A condition on a column; `values` are alternatives for `=` and `!`."""

    column: str
    operator: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class RankingQuery:
    """Everything that a ranking depends on, and the part of it to show."""

    metric: str = "cmips_score"
    weights: tuple[tuple[str, Decimal], ...] = ()
    """Metric and weight, by key; where there are any, their mix ranks in place of `metric`."""
    base: str = ""
    """Slug of the offer that a mix is relative to; empty: the first that has all its metrics."""
    load: str = SUSTAINED
    """How long machines are busy, which decides what CPU credits do: sustained or burst."""
    period: str = "hour"
    currency: str = "USD"
    hours_per_month: Decimal = Decimal(HOURS_PER_MONTH)
    hours_run: Decimal | None = None
    """Hours a month that the machine runs; None = all. Commitments and months are paid in full."""
    setup_months: int = SETUP_MONTHS
    """Over how many months a setup fee is spread; 0 leaves it out."""
    term: str = ON_DEMAND
    basis: tuple[str, ...] = (MACHINE,)
    """Parts of BASIS_PARTS, in their order."""
    discounts: tuple[Discount, ...] = ()
    """With `contract` in the basis: what the workspace has agreed."""
    basis_disk_gb: Decimal = Decimal(100)
    """Disk requested in all; what the machine includes counts."""
    basis_ipv4: int = 1
    basis_egress_gb: Decimal = Decimal(1000)
    """Traffic to the internet in a month; what the price includes counts."""
    tax_rate: Decimal | None = None
    """The reader's tax (ratio) that prices are shown with; None = net prices."""
    tax_unknown: str = UNRANKED
    """True if prices of unknown tax take a rank beside net ones: unranked or ranked."""
    as_of: dt.date | None = None
    q: str = ""
    filters: tuple[Filter, ...] = ()
    sort: tuple[tuple[str, bool], ...] = DEFAULT_SORT
    """Column and whether descending; the first is foremost."""
    cols: tuple[str, ...] = COLUMNS_V1
    page: int = 1
    per_page: int = PER_PAGE

    @property
    def ranking_metric(self) -> Metric:
        """The metric that ranks: the one asked for, or the mix of several."""
        return MIX if self.weights else METRICS[self.metric]

    @property
    def machine_basis(self) -> str:
        """The price of the machine itself: with automatic discounts, or as listed."""
        return LIST if LIST in self.basis else MACHINE

    @cached_property
    def price_basis(self) -> PriceBasis:
        """Under which terms a machine is priced."""
        return PriceBasis(
            self.term,
            self.machine_basis,
            self.currency,
            self.period,
            self.as_of,
            self.hours_per_month,
            self.hours_run,
            self.setup_months,
        )

    @property
    def extra_amounts(self) -> ExtraAmounts:
        """Requested amount of each extra in the basis, in a month; None = not in the basis."""
        return ExtraAmounts(
            disk_gb=self.basis_disk_gb if DISK in self.basis else None,
            ipv4_count=self.basis_ipv4 if IP in self.basis else None,
            egress_gb=self.basis_egress_gb if EGRESS in self.basis else None,
        )


def _default_text(name: str, value: Any) -> str:
    if name == "sort":
        return ",".join(
            f"{'-' if is_descending else ''}{column}" for column, is_descending in value
        )
    if isinstance(value, tuple):
        return ",".join(value)
    return "" if value is None else str(value)


# Values of RankingQuery as a URL states them; what is empty is left out.
DEFAULTS: Mapping[str, str] = {
    field.name: stated
    for field in dataclass_fields(RankingQuery)
    if (stated := _default_text(field.name, field.default))
}
