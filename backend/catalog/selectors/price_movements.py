"""Price changes between two days, summed up by provider and line."""

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from statistics import median

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.catalog.selectors.price_history import (
    CHANGED,
    change_ratio,
    difference,
    terms_before,
)
from backend.catalog.selectors.price_list import PriceFilter
from backend.catalog.selectors.read_prices import as_quoted
from backend.foundation.errors import InvalidValue
from backend.foundation.texts import text as _
from backend.money.pricing.purchase import PurchaseModel
from backend.money.pricing.quoted import NEW_MACHINES
from backend.providers.registry import provider

MAX_CHANGES = 20_000


@dataclass(frozen=True)
class Movement:
    """Price of a type that rose or fell, with the regions that have the same two amounts."""

    name: str
    purchase_model: str
    before: Decimal
    after: Decimal
    currency: str
    unit: str
    ratio: Decimal
    """Price of an hour, after by before."""
    is_new_orders_only: bool
    regions: list[str] = field(default_factory=list, compare=False)
    """A region for each price; empty texts where the offer has no region."""


@dataclass(frozen=True)
class LineMovement:
    """Movements of a provider's line, the largest first."""

    provider: str
    line: str
    movements: Sequence[Movement]

    @property
    def ratios(self) -> list[Decimal]:
        """A ratio for each price."""
        return [each.ratio for each in self.movements for _region in each.regions]

    @property
    def median_ratio(self) -> Decimal:
        return median(self.ratios)


def price_movements(
    day_a: dt.date,
    day_b: dt.date,
    price_filter: PriceFilter,
    *,
    workspace_slug: str = DEFAULT_WORKSPACE,
) -> list[LineMovement]:
    """Lines whose prices moved between the ends of two days, those of the most prices first.

    Spot prices, which move all the time, only where the filter asks for them. Raises InvalidValue
    for more changes than a summary reads.
    """
    rows = difference(day_a, day_b, price_filter, change=CHANGED, workspace_slug=workspace_slug)
    if price_filter.purchase_model is None:
        rows = rows.exclude(purchase_model=PurchaseModel.SPOT)
    if rows.count() > MAX_CHANGES:
        message = _(
            "more than {n} prices changed; choose a provider or a shorter period", n=MAX_CHANGES
        )
        raise InvalidValue("/params", message)
    lines: dict[tuple[str, str], dict[Movement, Movement]] = defaultdict(dict)
    for row in rows:
        before, ratio = terms_before(row), change_ratio(row)
        # Other terms changed, such as a set-up fee that an hour's price does not hold.
        if before is None or ratio is None or ratio == 1:
            continue
        record = provider(row.offer.provider.slug)
        movement = Movement(
            name=row.offer.name,
            purchase_model=row.purchase_model,
            before=before.amount,
            after=as_quoted(row.amount),
            currency=row.currency,
            unit=row.unit,
            ratio=ratio,
            is_new_orders_only=row.applies_to == NEW_MACHINES,
        )
        line = lines[record.slug, record.line_of(movement.name) or record.family_of(movement.name)]
        region = row.offer.region.code if row.offer.region else ""
        line.setdefault(movement, movement).regions.append(region)
    moved = [
        LineMovement(slug, line, sorted(movements, key=lambda each: -abs(each.ratio - 1)))
        for (slug, line), movements in lines.items()
    ]
    return sorted(moved, key=lambda each: -len(each.ratios))
