"""Demand over the steps: daily windows, a trace, or composed of cycles, growth, noise and events."""

import datetime as dt

import numpy as np
from numpy.typing import NDArray

from backend.foundation.errors import InvalidDocument
from backend.foundation.texts import text as _
from backend.foundation.units import HOURS_PER_MONTH
from backend.money.pricing.billing.lifetimes import DAY_S
from backend.scenarios.calc.demand_document import DAILY, TRACE, DemandDocument
from backend.scenarios.calc.document_values import MOST_UNITS
from backend.scenarios.calc.model import Assumption, Demand
from backend.scenarios.calc.steps import Steps
from backend.scenarios.calc.windows import THURSDAY, levels

MONTH_S = HOURS_PER_MONTH * 3600
Values = NDArray[np.float64]


def demand_from(document: DemandDocument, steps: Steps) -> Demand:
    """The demand of a document at the start of each step. Raises InvalidDocument."""
    if document.kind == TRACE:
        return _trace_demand(document, steps)
    values = _daily(document, steps) if document.kind == DAILY else _compose(document, steps)
    return Demand(document.unit, values)


def _daily(document: DemandDocument, steps: Steps) -> Values:
    windows = [each.window for each in document.windows]
    return levels(steps, document.time_zone, document.base, windows)


def _trace_demand(document: DemandDocument, steps: Steps) -> Demand:
    trace, unit = document.trace, document.unit
    remarks = document.remarks if document.remarks is not None else trace.remarks
    notes = tuple(
        Assumption(f"recording, remark {n}", remark, "", _("said by the source, or found in it"))
        for n, remark in enumerate(remarks, 1)
    )
    # The importer has looked for gaps in the recording itself, whose points may have been more.
    gaps = trace.gaps() if document.remarks is None else []
    if not gaps:
        return Demand(unit, trace.at_steps(steps), notes)
    longest = max(gaps, key=lambda gap: gap.until_s - gap.from_s)
    begins = dt.datetime.fromtimestamp(longest.from_s, dt.UTC).isoformat()
    source = (
        f"points are {trace.interval_s} s apart as a rule; the value before a gap holds through it;"
        f" the longest has {longest.until_s - longest.from_s} s from {begins} on"
    )
    note = Assumption("gaps in the trace", str(len(gaps)), "gaps", source)
    return Demand(unit, trace.at_steps(steps), (*notes, note))


def _compose(document: DemandDocument, steps: Steps) -> Values:
    """level × hour of the day × weekday × growth × noise, and what events add."""
    local_s = steps.local_s(document.time_zone)
    day, second = np.divmod(local_s, DAY_S)
    values = np.full(steps.count, document.level)
    values *= np.array(document.daily)[second // 3600]
    values *= np.array(document.weekly)[(day + THURSDAY) % 7]
    if document.growth_per_month:
        # Growth may exceed what a float holds; that is refused below, in words.
        with np.errstate(over="ignore"):
            elapsed_months = (steps.instants() - steps.start_s) / MONTH_S
            values *= (1 + document.growth_per_month) ** elapsed_months
    if document.noise_cv:
        values *= _noise(document.noise_cv, document.seed, steps.count)
    for event in document.events:
        # Demand of a step is that of the instant it starts.
        first, last = (
            -(-(at_s - steps.start_s) // steps.step_s)
            for at_s in (event.at_s, event.at_s + event.duration_s)
        )
        values[max(0, first) : max(0, last)] += event.level
    # In this form it refuses NaN as well, which compares as false with everything.
    if not values.max() <= float(MOST_UNITS):
        raise InvalidDocument([("/demand/level", f"the demand grows beyond {MOST_UNITS}")])
    return values


def _noise(spread: float, seed: int, count: int) -> Values:
    """Log-normal factors of mean 1 and the coefficient of variation given."""
    sigma = float(np.sqrt(np.log1p(spread**2)))
    drawn = np.random.default_rng(seed).standard_normal(count)
    # Without − σ²/2 the median would be 1 and the mean above it.
    return np.exp(sigma * drawn - sigma**2 / 2)
