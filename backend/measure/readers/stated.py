"""Figures that somebody states without the output of a tool: times of jobs, and bounds.

One figure a line, in the unit of its metric; what follows a # is left out:

    job_time_s tar_nfs 203
    job_time_s tar_nfs aborted after 600
    cmips_score > 16000

Nothing but the word of a person stands behind such a figure, so another metric than the time of a
job, which has no tool, is taken as a bound only. Neither a bound nor an aborted job ever ranks.
"""

import re

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text
from backend.measure.metrics import METRICS
from backend.measure.readers import ParsedSample
from backend.measure.stats import ABORTED, LOWER_BOUND

TOOL = "stated"
JOB_TIME = "job_time_s"
MAX_CHARACTERS = 100_000
ANY_VARIANT = "standard"
FLAGS = {">": (LOWER_BOUND,), "aborted after": (ABORTED,), None: ()}
LINE = re.compile(
    r"(?P<metric>[a-z][a-z0-9_]{1,39})"
    r"(?:[ \t]+(?P<variant>[A-Za-z0-9][A-Za-z0-9_.,-]{0,39}))?"
    r"[ \t]+(?P<sign>>|aborted after)?[ \t]*"
    r"(?P<value>[0-9]{1,15}(?:\.[0-9]{1,9})?)"
)
EXAMPLES = "job_time_s tar_nfs 203, job_time_s tar_nfs aborted after 600, cmips_score > 16000"


def parse(text: str) -> list[ParsedSample]:
    """The figures, in the order of the lines. Raises ProbeError with the line of what is none."""
    checked = check_text(TOOL, text, most=MAX_CHARACTERS)
    stated = ((n, line.partition("#")[0].strip()) for n, line in enumerate(checked.split("\n"), 1))
    return [_sample(line, number) for number, line in stated if line]


def _sample(line: str, number: int) -> ParsedSample:
    match = LINE.fullmatch(line)
    if match is None:
        raise ProbeError(TOOL, f"{line[:60]!r} is not like {EXAMPLES}", number)
    key, variant, sign = match["metric"], match["variant"], match["sign"]
    metric = METRICS.get(key)
    if metric is None:
        raise ProbeError(TOOL, f"{key!r} is not a metric key", number)
    value = float(match["value"])
    if not value:
        raise ProbeError(TOOL, f"{key} is 0", number)
    is_job = key == JOB_TIME
    if is_job and variant is None:
        raise ProbeError(TOOL, f"the name of the job is missing: {EXAMPLES}", number)
    if not is_job and sign != ">":
        detail = f"{key} without the output of a tool is taken as a bound only: {key} > …"
        raise ProbeError(TOOL, detail, number)
    parameters = {"job": variant} if is_job else {}
    if sign == "aborted after":
        parameters["outcome"] = ABORTED
    return ParsedSample(
        metric=key,
        variant=variant or metric.canonical_variant or ANY_VARIANT,
        value=value,
        unit=metric.unit,
        parameters=parameters,
        flags=FLAGS[sign],
    )
