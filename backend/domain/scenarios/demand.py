"""Demand over the steps: daily windows, a trace, or composed of cycles, growth, noise and events."""

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from backend.domain.pricing.billing.lifetimes import DAY_S
from backend.domain.scenarios.model import Assumption, Demand
from backend.domain.scenarios.reading import Node, exact
from backend.domain.scenarios.steps import Steps
from backend.domain.scenarios.traces import trace_from
from backend.domain.scenarios.windows import EVERY_DAY, THURSDAY, Window, levels

MONTH_S = 730 * 3600
MOST_UNITS = "1000000000000"
Values = NDArray[np.float64]


def demand_from(node: Node, steps: Steps) -> Demand:
    """The demand that a node describes, at the start of each step; faults stay in the node."""
    kind = node.text("kind", choices=KINDS)
    node.knows("unit", "kind", *_FIELDS[kind])
    unit = node.text("unit", "units")
    if kind == "trace":
        return _recorded(node, steps, unit)
    return Demand(unit, _daily(node, steps) if kind == "daily" else _composed(node, steps))


def windows_from(node: Node, most: str = MOST_UNITS) -> tuple[Window, ...]:
    """The `windows` of demand or of a schedule, with levels up to `most`."""
    found = []
    for one in node.nodes("windows", high=200):
        one.knows("from", "to", "level", "weekdays")
        days = one.list("weekdays", 1, 7) if one.has("weekdays") else range(7)
        if any(isinstance(d, bool) or not isinstance(d, int) or not 0 <= d <= 6 for d in days):
            one.fault("weekdays", "days from 0 (Monday) to 6 are needed")
            days = range(7)
        from_s = one.clock_s("from")
        if from_s == DAY_S:
            one.fault("from", "24:00 is the end of a day, not a start")
        found.append(
            Window(
                from_s,
                one.clock_s("to"),
                decimal(one.number("level", high=most)),
                frozenset(days) or EVERY_DAY,
            )
        )
    return tuple(found)


def decimal(value: Fraction) -> Decimal:
    """A fraction that was read from a decimal, as that decimal."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def _daily(node: Node, steps: Steps) -> Values:
    base = decimal(node.number("base", "0", high=MOST_UNITS))
    return levels(steps, node.time_zone(), base, windows_from(node))


def _recorded(node: Node, steps: Steps, unit: str) -> Demand:
    trace = trace_from(node)
    if trace is None:
        return Demand(unit, np.zeros(steps.count))
    gaps = trace.gaps()
    if not gaps:
        return Demand(unit, trace.at_steps(steps))
    longest = max(gaps, key=lambda gap: gap.until_s - gap.from_s)
    begins = dt.datetime.fromtimestamp(longest.from_s, dt.UTC).isoformat()
    told = (
        f"points are {trace.interval_s} s apart as a rule; the value before a gap holds through it;"
        f" the longest has {longest.until_s - longest.from_s} s from {begins} on"
    )
    note = Assumption("gaps in the trace", str(len(gaps)), "gaps", told)
    return Demand(unit, trace.at_steps(steps), (note,))


def _composed(node: Node, steps: Steps) -> Values:
    """level × hour of the day × weekday × growth × noise, and what events add."""
    local_s = steps.local_s(node.time_zone())
    day, second = np.divmod(local_s, DAY_S)
    found = np.full(steps.count, float(node.number("level", high=MOST_UNITS)))
    found *= _factors(node, "daily", 24)[second // 3600]
    found *= _factors(node, "weekly", 7)[(day + THURSDAY) % 7]
    growth = float(node.number("growth_per_month", "0", low="-1", high="10"))
    if growth:
        with np.errstate(over="ignore"):
            found *= (1 + growth) ** ((steps.instants() - steps.start_s) / MONTH_S)
    spread = float(node.number("noise_cv", "0", high="10"))
    seed = node.whole("seed", 0, 0, 2**32 - 1)
    if spread:
        found *= _noise(spread, seed, steps.count)
    for event in node.nodes("events"):
        event.knows("at", "duration_s", "level")
        first = -(-(event.time_s("at") - steps.start_s) // steps.step_s)
        length = steps.of(event.whole("duration_s", None, 1, 366 * DAY_S))
        level = float(event.number("level", high=MOST_UNITS))
        found[max(0, first) : max(0, first + length)] += level
    if not found.max() <= float(MOST_UNITS):
        node.fault("level", f"the demand grows beyond {MOST_UNITS}")
        return np.zeros(steps.count)
    return found


def _factors(node: Node, name: str, count: int) -> Values:
    """Factors by hour or weekday; all 1 where nothing is said."""
    if not node.has(name):
        return np.ones(count)
    values = [exact(value) for value in node.list(name, count, count)]
    known = [float(value) for value in values if value is not None and value >= 0]
    if len(known) != count:
        node.fault(name, f"{count} numbers from 0 on are needed")
        return np.ones(count)
    return np.array(known)


def _noise(spread: float, seed: int, count: int) -> Values:
    """Log-normal factors of mean 1 and the coefficient of variation given."""
    sigma = float(np.sqrt(np.log1p(spread**2)))
    drawn = np.random.default_rng(seed).standard_normal(count)
    return np.exp(sigma * drawn - sigma**2 / 2)


_COMPOSED = ("level", "daily", "weekly", "growth_per_month", "noise_cv", "events", "seed")
_FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "daily": ("time_zone", "base", "windows"),
        "trace": ("points", "csv"),
        "composed": ("time_zone", *_COMPOSED),
    }
)
KINDS = tuple(_FIELDS)
