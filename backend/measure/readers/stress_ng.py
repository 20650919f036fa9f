"""Output of `stress-ng --cpu N --metrics-brief`, versions 0.13 to 0.19.

The columns changed names and number over the years, and a rate of CPU time stands beside that of the
clock; so the rate that is taken has to agree with the operations and the time of its own line. The
text does not say which method the CPUs ran: whoever calls knows it.
"""

import re
from dataclasses import dataclass, field

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text
from backend.measure.readers import ParsedSample
from backend.measure.readers.document import MAX_NOTES, shown
from backend.measure.stats import DISTURBED

TOOL = "stress-ng"
METRIC, UNIT = "stress_ng_div16", "bogo ops/s"
METHOD = "div16"
MAX_CHARACTERS = 2**18
MAX_RATE = 1e12
# Below this the printed time is too coarse to check the rate with.
MIN_SECONDS = 1.0
TOLERANCE = 0.02
# Share of the time asked for that a whole result has at least.
ENDED_EARLY = 0.9
PREFIX = "stress-ng: "
# --timestamp puts the time before the level.
LINE = re.compile(
    rf"{PREFIX}(?:[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}\.[0-9]{{2}} )?([a-z]{{4,5}}): +\[[0-9]{{1,10}}\] +(.*)"
)
# --log-brief leaves all of that out.
BRIEF = re.compile(r"()(.*)")
# stress-ng's own words for a figure that it does not trust.
UNTRUSTED = re.compile(r"untrustworthy|may be incorrect|compromised|corrupted|data is suspect")
HOGS = re.compile(r"dispatching hogs: ([0-9]{1,6}) (.+)")
# 90 second (1 min, 30.00 secs) in some versions, 1 min, 30 secs in later ones.
ASKED = re.compile(r"setting to a ([^()]{1,60}?)(?: \(.+\))? run per stressor")
PERIOD = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,2})?) (sec|min|hour|day)")
PERIOD_S = {"sec": 1, "min": 60, "hour": 3600, "day": 86400}
HEAD = "stressor bogo ops real time usr time sys time bogo ops/s bogo ops/s"
UNITS = "(secs) (secs) (secs) (real time) (usr+sys time)"
# --sn: scientific notation.
NUMBER = r"([0-9]{1,15}\.[0-9]{2}|[0-9]\.[0-9]{1,6}e[+-][0-9]{2})"
ROW = re.compile(
    rf"cpu ([0-9]{{1,18}}) {NUMBER} {NUMBER} {NUMBER} {NUMBER} {NUMBER}(?: .{{1,60}})?"
)
BAD_COUNT = re.compile(r"(skipped|failed|metrics untrustworthy): [1-9].*")
COMPLETED = re.compile(r"successful run completed in .{1,60}")
UNSUCCESSFUL = "unsuccessful run"


@dataclass
class _StressNgRun:
    """Readings of the text; a number is None until its line came."""

    threads: int | None = None
    asked_s: int | None = None
    heads: int = 0
    row: re.Match[str] | None = None
    row_line: int = 0
    is_complete: bool = False
    warnings: list[str] = field(default_factory=list)


def parse(text: str) -> list[ParsedSample]:
    """stress_ng_div16 (bogo ops/s of the clock's time) of one run of the CPU stressor.

    Variant single of one worker, else `N_workers`. Raises ProbeError for another stressor, a run that
    ended early, and lines that do not agree.
    """
    report = _StressNgRun()
    checked = check_text(TOOL, text, most=MAX_CHARACTERS)
    is_brief = "dispatching hogs: " in checked and PREFIX not in checked
    for number, line in enumerate(checked.split("\n"), start=1):
        if line.strip():
            _read(report, (BRIEF if is_brief else LINE).fullmatch(line.strip()), line, number)
    if report.threads is None or report.row is None or not report.is_complete:
        detail = "the workers, the row of the CPU or the end is missing: no whole result"
        raise ProbeError(TOOL, detail, checked.count("\n") + 1)
    rate, seconds = _check_rate(report.row, report.row_line, report.asked_s)
    return [
        ParsedSample(
            metric=METRIC,
            variant="single" if report.threads == 1 else f"{report.threads}_workers",
            value=rate,
            unit=UNIT,
            parameters={
                "threads": report.threads,
                "seconds": seconds,
                "cpu_s": float(report.row[3]) + float(report.row[4]),
                "cpu_method": METHOD,
                "warnings": report.warnings[:MAX_NOTES],
            },
            # Not even the tool takes such a figure for one.
            flags=(DISTURBED,) if any(map(UNTRUSTED.search, report.warnings)) else (),
        )
    ]


def _read(report: _StressNgRun, match: re.Match[str] | None, line: str, number: int) -> None:
    if match is None:
        raise ProbeError(TOOL, f"not a line of stress-ng: {line.strip()[:80]!r}", number)
    words = " ".join(match[2].split())
    if match[1] in {"fail", "error"} or BAD_COUNT.fullmatch(words) or UNSUCCESSFUL in words:
        raise ProbeError(TOOL, words[:200], number)
    # "metrics untrustworthy: 0" is no doubt, but its count.
    if match[1] == "warn" or (UNTRUSTED.search(words) and not words.endswith(": 0")):
        report.warnings.append(shown(words))
    elif hogs := HOGS.fullmatch(words):
        _once(report.threads is None, words, number)
        if hogs[2] != "cpu":
            raise ProbeError(TOOL, f"not the CPU stressor alone: {hogs[2][:60]}", number)
        report.threads = int(hogs[1])
    elif asked := ASKED.fullmatch(words):
        report.asked_s = sum(
            round(float(number) * PERIOD_S[unit]) for number, unit in PERIOD.findall(asked[1])
        )
    elif words.startswith((HEAD, UNITS)):
        report.heads += 1
    elif words.startswith("cpu ") or match[1] == "metrc":
        _once(report.row is None, words, number)
        report.row, report.row_line = ROW.fullmatch(words), number
        if report.row is None or report.heads != len((HEAD, UNITS)):
            raise ProbeError(TOOL, f"columns that are not known: {words[:80]!r}", number)
    elif COMPLETED.fullmatch(words):
        report.is_complete = True


def _once(is_first: bool, words: str, number: int) -> None:
    if not is_first:
        raise ProbeError(TOOL, f"twice, give one run at a time: {words[:80]!r}", number)


def _check_rate(row: re.Match[str], line: int, asked_s: int | None) -> tuple[float, float]:
    """The rate and the seconds, when they agree with the operations."""
    operations, seconds, rate = (float(row[group]) for group in (1, 2, 5))
    if not (seconds >= MIN_SECONDS and 0 < rate < MAX_RATE):
        raise ProbeError(TOOL, f"{rate:g} bogo ops/s in {seconds:g} s", line)
    if abs(operations / seconds - rate) > TOLERANCE * rate:
        detail = f"{rate:g} bogo ops/s does not agree with {operations:g} in {seconds:g} s"
        raise ProbeError(TOOL, detail, line)
    if asked_s is not None and seconds < ENDED_EARLY * asked_s:
        raise ProbeError(TOOL, f"ended after {seconds:g} of {asked_s} s", line)
    return rate, seconds
