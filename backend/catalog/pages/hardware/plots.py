"""Monthly cost of own hardware as stacked bars: one bar for each cost model or version."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from backend.catalog.models import HardwareModel
from backend.foundation.errors import UnknownRate
from backend.money.money import RateTable
from backend.rankings.calc.conclusions import Conclusion, server_cost
from backend.site import figures
from backend.site.language import _, lazy
from backend.site.plots import Axis, Mark, Plot

# What is drawn as one band: the residual value lowers what the purchase costs.
BANDS = (
    (lazy("purchase and spares"), ("capital", "spares", "residual", "lease")),
    (lazy("energy"), ("energy",)),
    (lazy("space"), ("space",)),
    (lazy("support"), ("support", "disks")),
    (lazy("staff"), ("staff", "remote_hands", "installation", "migration")),
    (lazy("network"), ("network", "transit")),
)
# More bars have no room for their labels side by side.
MOST_BARS = 12


def hardware_plot(
    models: Sequence[HardwareModel], labels: Sequence[str], rates: RateTable
) -> Plot | None:
    """Cost of one server a month by its parts, in one currency; None without any.

    Models whose currency has no rate are left out, and the note says how many.
    """
    shown, currency = _in_one_currency(models, labels, rates)
    if not shown:
        return None
    marks = [
        Mark(name, [float(_sum(amounts, parts)) for _, amounts in shown], "bar")
        for name, parts in BANDS
    ]
    # The height of a stack is not known to the part that draws error bars.
    whole = [sum(amounts.values(), Decimal(0)) for _, amounts in shown]
    left_out = min(len(models), MOST_BARS) - len(shown)
    return Plot(
        id="plot-hardware",
        title=_("Monthly cost of one server"),
        x_label="",
        x_kind="category",
        x=[label for label, _ in shown],
        y=Axis(_("{currency} per month", currency=currency), most=float(max(whole))),
        marks=marks,
        is_stacked=True,
        extra={
            _("total, {currency} per month", currency=currency): [
                figures.money(cost, "month") for cost in whole
            ]
        },
        summary=_("Stacked bars of what a server costs a month in {currency}: ", currency=currency)
        + "; ".join(
            f"{label} {figures.money(cost, 'month')}"
            for (label, _), cost in zip(shown, whole, strict=True)
        )
        + ".",
        note=_("{left_out} not shown: no exchange rate is known.", left_out=left_out)
        if left_out
        else "",
    )


def conclusion(cost: Mapping[str, Any]) -> Conclusion:
    """Cost of one server of a cost document, and the bands that make it up."""
    return server_cost(band_costs(cost), cost["currency"])


def band_costs(cost: Mapping[str, Any]) -> list[tuple[str, Decimal]]:
    """Monthly cost of each band of one server."""
    amounts = {part: Decimal(amount) for part, amount in cost["breakdown"].items()}
    return [(name, _sum(amounts, parts)) for name, parts in BANDS]


def _sum(amounts: Mapping[str, Decimal], parts: Sequence[str]) -> Decimal:
    # Costs that were stored before a part was known have none of it.
    return sum((amounts.get(part, Decimal(0)) for part in parts), Decimal(0))


def _in_one_currency(
    models: Sequence[HardwareModel], labels: Sequence[str], rates: RateTable
) -> tuple[list[tuple[str, dict[str, Decimal]]], str]:
    """(label, amounts by part) of each model, in their own currency where all share one."""
    currencies = {model.cost["currency"] for model in models}
    # Amounts in different currencies cannot stand beside each other: then all are converted.
    currency = currencies.pop() if len(currencies) == 1 else "USD"
    shown = []
    for model, label in list(zip(models, labels, strict=True))[:MOST_BARS]:
        own = model.cost["currency"]
        try:
            factor, _ = rates.rate(own, currency)
        except UnknownRate:
            continue
        parts = model.cost["breakdown"].items()
        shown.append((label, {part: Decimal(amount) * factor for part, amount in parts}))
    return shown, currency
