"""Figures of a scenario's options: how they read, and which of them stand out."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from backend.scenarios.calc.conclusion import decisive_cost, may_win, unmet_cost
from backend.scenarios.calc.ready_options import options_with_examples
from backend.scenarios.selectors.scenarios import Simulated
from backend.site import figures
from backend.site.language import _

Option = Mapping[str, Any]
SHORTEST_MONTH_DAYS = 28
# Below a cent the usual four decimals would leave one or two digits.
SMALL = Decimal("0.01")


def share(ratio: float) -> str:
    """A share of the demand, never rounded to nothing."""
    return f"< {figures.percent(0.0001, 2)}" if 0 < ratio < 0.0001 else figures.percent(ratio, 2)


def beside(option: Option) -> str:
    """Name of an option with what it leaves unserved."""
    return _(
        "{option}, {share} unmet",
        option=option["name"],
        share=share(option["unserved_share"]),
    )


def cost(option: Option) -> float:
    """Its cost, for comparisons and drawings."""
    return float(option["cost_total"])


def mark_options(options: Sequence[Option], simulated: Simulated) -> list[dict[str, Any]]:
    """The options with what sets each apart: the cheapest that serves, unless a price is an example,
    and those that serve too little."""
    serving = [option for option in options if may_win(option)]
    lost = cost_of_unmet_demand(simulated)
    # By the cost with what unserved demand loses, or serving nothing would be the cheapest.
    is_open = not serving or bool(options_with_examples(simulated.resolved))
    cheapest = None if is_open else min(serving, key=lambda option: decisive_cost(option, lost))
    return [
        {
            **option,
            "is_cheapest": option is cheapest,
            "is_short": option not in serving,
            "unit_hour": _unit_hour(option),
        }
        for option in options
    ]


def cost_of_unmet_demand(simulated: Simulated) -> float:
    """Cost of leaving all demand of a result unmet."""
    return unmet_cost(simulated.result, simulated.resolved.get("price_per_unserved_unit_hour"))


def _unit_hour(option: Option) -> str:
    """Cost of a unit of demand for an hour; of a very small one the first four digits."""
    text = option.get("cost_per_demand_unit_hour")
    if text is None:
        return ""
    amount = Decimal(text)
    return figures.money(amount, "hour") if amount >= SMALL else figures.figure(amount)


def currency_of(simulated: Simulated) -> str:
    """The one currency of a document that has a result."""
    # The first stands for all: a document in several currencies is refused.
    price = simulated.resolved["options"][0]["parts"][0]["price"]
    hardware = price.get("hardware") or {}
    return str(price.get("currency") or hardware.get("currency", "")).upper()


def step_words(step_s: int) -> str:
    """How long a step is: `10 minutes` or `1 hour`."""
    for unit_s, singular, many in (
        (86_400, _("1 day"), _("days")),
        (3600, _("1 hour"), _("hours")),
    ):
        if step_s % unit_s == 0:
            return singular if step_s == unit_s else f"{step_s // unit_s} {many}"
    return _("{minutes} minutes", minutes=figures.quantity(step_s / 60))


def is_shorter_than_a_month(document: Mapping[str, Any]) -> bool:
    """True where a cost per month is extrapolated from a part of one."""
    days = document["horizon"].get("days")
    return days is not None and Decimal(str(days)) < SHORTEST_MONTH_DAYS


def horizon_words(document: Mapping[str, Any]) -> str:
    """How long the time is that a result is of: `30 days` or `36 months`."""
    horizon = document["horizon"]
    unit = "day" if horizon.get("days") is not None else "month"
    length = Decimal(str(horizon[f"{unit}s"]))
    return f"{figures.quantity(length)} {unit}{'' if length == 1 else 's'}"


def _tier(entry: object) -> str:
    """A value of a list, or a pair of a tier's upper bound and its price or factor."""
    if not isinstance(entry, list | tuple) or len(entry) != 2:
        return value_text(entry)
    bound, value = entry
    if bound is None:
        return _("beyond that: {value}", value=value_text(value))
    return _("up to {bound}: {value}", bound=value_text(bound), value=value_text(value))


def value_text(value: object) -> str:
    """A value of a document; a number with more digits than people read is rounded."""
    if isinstance(value, list | tuple):
        return ", ".join(map(_tier, value))
    text = str(value)
    try:
        number = Decimal(text)
    except ArithmeticError:
        return text
    if not number.is_finite():
        return text
    return (
        figures.quantity(number) if number == number.to_integral_value() else figures.figure(number)
    )
