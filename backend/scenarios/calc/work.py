"""How much calculation a scenario asks for, estimated from its document beforehand."""

from collections.abc import Callable, Mapping
from typing import Any

from backend.foundation.documents.values import exact
from backend.foundation.errors import InvalidDocument
from backend.money.pricing.billing.lifetimes import DAY_S
from backend.scenarios.calc.cost_curves import MOST_RUNS
from backend.scenarios.calc.policies import pace
from backend.scenarios.calc.regimes import PRICES, SHAPES
from backend.scenarios.calc.uncertainty import GRID, exact_runs

# Steps of all options and passes; a year of minutes for 200 offers is 105,120,000.
MOST_WORK = 120_000_000


# Steps of all options and cells of a map; each cell has a cost beside its steps.
MOST_MAP_WORK = 40_000_000
# Trajectories with a bill that take as long as a simulation is taken to, and what the price and the
# bill of one offer take; measured.
SCREENED_AT_ONCE, STEPS_OF_OFFER = 5, 4_000
# Steps of all options and passes of a job, each option of which takes at most MOST_WORK: a year of
# minutes for 300 options with uncertainty is 2,995,920,000.
MOST_JOB_WORK = 4_000_000_000
# Of all options of a job, which are kept until they are compared: 16 bytes each.
MOST_JOB_DRAWS = 5_000_000
ADVICE = "take longer steps, fewer options or no uncertainty"


# Step lengths that curves and maps may be drawn in where those of the document are too many.
COARSER_STEPS_S = (120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, DAY_S)


class TooMuchWork(InvalidDocument):
    """It is more than may be calculated."""


def check_work(document: object, most: int = MOST_WORK) -> int:
    """Steps of all options and passes; InvalidDocument for more than `most`."""
    if not isinstance(document, Mapping):
        return 0
    return _check_work(document, _passes(document), "passes", most)


def check_job_work(document: Mapping[str, Any]) -> int:
    """Steps of one option in all passes; TooMuchWork for more than a job may take."""
    options = max(1, _options(document))
    draws = exact(_object(document, "uncertainty").get("draws")) or 0
    if draws * options > MOST_JOB_DRAWS:
        detail = f"{options:,} options of that many are more than {MOST_JOB_DRAWS:,} in all"
        raise TooMuchWork([("/uncertainty/draws", detail)])
    return check_work(document, min(MOST_JOB_WORK, options * MOST_WORK)) // options


def check_map_work(document: Mapping[str, Any], most: int = MOST_MAP_WORK) -> int:
    """Steps of all options and cells of a map; InvalidDocument for more than `most`."""
    return _check_work(document, len(PRICES) * len(SHAPES) * pace(_kind(document)), "cells", most)


def check_curve_work(document: Mapping[str, Any], most: int = MOST_MAP_WORK) -> int:
    """Steps of all options and points of both cost curves; InvalidDocument for more than `most`."""
    return _check_work(document, MOST_RUNS * pace(_kind(document)), "points", most)


def coarsen(
    document: Mapping[str, Any], check: Callable[[Mapping[str, Any]], int]
) -> tuple[Mapping[str, Any], int | None]:
    """The document in the shortest steps that the check accepts, and their length where it is not
    the document's own; the document as it is where none is accepted."""
    try:
        check(document)
    except TooMuchWork:
        pass
    else:
        return document, None
    horizon = _object(document, "horizon")
    own_s, days = exact(horizon.get("step_s", 60)), exact(horizon.get("days"))
    for step_s in COARSER_STEPS_S:
        # Every new step starts with one of the document's.
        is_multiple = own_s is not None and step_s > own_s and step_s % own_s == 0
        if not is_multiple or (days is not None and days * DAY_S % step_s):
            continue
        coarser = {**document, "horizon": {**horizon, "step_s": step_s}}
        try:
            check(coarser)
        except TooMuchWork:
            continue
        return coarser, step_s
    return document, None


def check_screening_work(document: Mapping[str, Any], sizes: int, offers: int, most: int) -> int:
    """Check the work of screening offers of so many sizes, in steps of a simulation;
    InvalidDocument for more than `most`."""
    steps = _steps(document) * pace(_kind(document))
    work = steps * sizes // SCREENED_AT_ONCE + offers * STEPS_OF_OFFER
    if work > most:
        detail = (
            f"{offers:,} offers of {sizes:,} sizes over {steps:,} steps take more than {most:,} steps "
            "of a simulation: take longer steps, fewer offers or a lower limit"
        )
        raise InvalidDocument([("/horizon/step_s", detail)])
    return work


def _check_work(document: Mapping[str, Any], times: int, name: str, most: int) -> int:
    steps, options = _steps(document), _options(document)
    work = steps * options * times
    if work > most:
        detail = (
            f"{steps:,} steps × {options:,} options × {times:,} {name} are more than "
            f"{most:,}: {ADVICE}"
        )
        raise TooMuchWork([("/horizon/step_s", detail)])
    return work


def _object(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = document.get(name)
    return value if isinstance(value, Mapping) else {}


def _options(document: Mapping[str, Any]) -> int:
    options = document.get("options")
    return len(options) if isinstance(options, list | tuple) else 0


def _steps(document: Mapping[str, Any]) -> int:
    """Steps of the horizon, a month taken for 31 days; 0 where the document does not say."""
    horizon = _object(document, "horizon")
    length_s = exact(horizon.get("step_s", 60))
    days = exact(horizon.get("days")) or (exact(horizon.get("months")) or 0) * 31
    return int(days * DAY_S / length_s) if length_s and length_s > 0 and days > 0 else 0


def _passes(document: Mapping[str, Any]) -> int:
    """How often each option is run at most: as stated, and for each input that is uncertain."""
    uncertainty, policy = _object(document, "uncertainty"), _object(document, "policy")
    steps, options = max(1, _steps(document)), max(1, _options(document))
    times = 1
    if uncertainty:
        times += exact_runs(steps, options, _kind(document))
        times += 2 * GRID if uncertainty.get("boot_cv") and policy.get("warmup_s") else 0
    return times * pace(_kind(document))


def _kind(document: Mapping[str, Any]) -> str:
    kind = _object(document, "policy").get("kind")
    return kind if isinstance(kind, str) else ""
