"""Figures of a scenario's options: how they read, and which of them stand out."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from backend.scenarios.selectors.scenarios import Simulated
from backend.web.shared import figures

Option = Mapping[str, Any]
SMALL = Decimal("0.01")


def share(ratio: float) -> str:
    """A share of the demand, never rounded to nothing."""
    return "under 0.01 %" if 0 < ratio < 0.0001 else f"{figures.quantity(100 * ratio)} %"


def beside(option: Option) -> str:
    """Name of an option with what it leaves unserved."""
    return f"{option['name']}, {share(option['unserved_share'])} unmet"


def cost(option: Option) -> float:
    """Its cost, for comparisons and drawings."""
    return float(option["cost_total"])


def marked(options: Sequence[Option]) -> list[dict[str, Any]]:
    """The options with what sets each apart: the cheapest, and the cheapest that serves it all."""
    cheapest = min(options, key=cost)
    serving = [one for one in options if not one["unserved_share"]]
    whole = min(serving, key=cost) if serving else None
    return [
        {
            **one,
            "is_cheapest": one is cheapest,
            "is_cheapest_whole": one is whole,
            "unit_hour": _unit_hour(one),
        }
        for one in options
    ]


def _unit_hour(option: Option) -> str:
    """Cost of a unit of demand for an hour; a very small one with all its decimals."""
    text = option.get("cost_per_demand_unit_hour")
    if text is None:
        return ""
    amount = Decimal(text)
    return figures.money(amount, "hour") if amount >= SMALL or not amount else figures.plain(amount)


def currency_of(simulated: Simulated) -> str:
    """The one currency of a document that has a result."""
    price = simulated.resolved["options"][0]["parts"][0]["price"]
    hardware = price.get("hardware") or {}
    return str(price.get("currency") or hardware.get("currency", "")).upper()
