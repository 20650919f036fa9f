"""A scenario of a recorded demand: the time that the recording covers, and its points.

The template gives capacity, policy and options; a server is sized so that ten of them carry the
peak, which is a guess to be changed.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from copy import deepcopy
from decimal import Decimal
from typing import Any

from backend.foundation.errors import InvalidValue
from backend.money.pricing.billing.lifetimes import DAY_S
from backend.scenarios.calc.steps import Steps
from backend.scenarios.calc.traces import DemandTrace

DEFAULT_STEP_S = 60
SERVERS_AT_PEAK = 10
MOST_GAPS = 5


def steps_of(trace: DemandTrace, step_s: int | None = None) -> Steps:
    """Whole days from the first point on that hold the recording, in steps of its usual distance.

    A step divides a day. InvalidValue for one that does not, and for more steps than are possible.
    """
    if step_s is not None and (step_s < 1 or DAY_S % step_s):
        raise InvalidValue("/step_s", f"{step_s} s do not divide a day")
    usual = trace.interval_s or DEFAULT_STEP_S
    length_s = step_s or max(n for n in range(1, min(usual, DAY_S) + 1) if DAY_S % n == 0)
    first, last = int(trace.at_s[0]), int(trace.at_s[-1])
    start = first // length_s * length_s
    days = -(-(last + usual - start) // DAY_S)
    return Steps(start, length_s, days * DAY_S // length_s)


def with_recorded_demand(
    trace: DemandTrace, steps: Steps, template: Mapping[str, Any], *, name: str
) -> dict[str, Any]:
    """The document of a template with the recorded demand instead of its own."""
    seen = trace.seen(steps)
    document = deepcopy(dict(template))
    start = dt.datetime.fromtimestamp(steps.start_s, dt.UTC).isoformat()
    days = steps.count * steps.step_s // DAY_S
    document["name"] = name
    document["horizon"] = {"start": start, "days": days, "step_s": steps.step_s}
    document["demand"] = {
        "unit": trace.unit or "units",
        "kind": "trace",
        "points": seen.points(),
        "remarks": [*trace.remarks, *gap_lines(trace)],
    }
    # By its shortest text: the float itself would come with all its binary digits.
    peak = Decimal(repr(float(seen.values.max())))
    units = max(peak / SERVERS_AT_PEAK, Decimal("0.001")).quantize(Decimal("0.001"))
    document["capacity"] = {**document.get("capacity", {}), "units_per_server": format(units, "f")}
    return document


def gap_lines(trace: DemandTrace) -> Sequence[str]:
    """The gaps of a recording in words, the first ones; nothing is filled silently."""
    gaps = trace.gaps()
    lines = [
        f"{dt.datetime.fromtimestamp(gap.from_s, dt.UTC):%Y-%m-%d %H:%M} to "
        f"{dt.datetime.fromtimestamp(gap.until_s, dt.UTC):%Y-%m-%d %H:%M}: "
        f"{gap.missing} points missing; the value before holds"
        for gap in gaps[:MOST_GAPS]
    ]
    return [*lines, f"and {len(gaps) - MOST_GAPS} more gaps"] if len(gaps) > MOST_GAPS else lines
