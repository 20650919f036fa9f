"""Output of the original CMIPS program: versions 1.0.3 to 1.0.5.

Its score is whole 1,000,000 / s for 100 threads, and twice that for the 200 threads of 1.0.5, with s
the wall time it prints: kernel iterations per second over 1,024,000 either way, so that the figure
stands on one scale with cmips_score.
"""

import re

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text
from backend.measure.cmips import ITERATIONS_PER_CMIPS_S
from backend.measure.readers import ParsedSample
from backend.measure.readers.cmips import MAX_ITERATIONS_PER_S

TOOL = "cmips"
THREADS = {"1.0.3": 100, "1.0.4": 100, "1.0.5": 200}
# By version: the printed score is trunc(numerator / seconds).
NUMERATORS = {"1.0.3": 1_000_000, "1.0.4": 1_000_000, "1.0.5": 2_000_000}
BANNER = re.compile(r"CMIPS V\.?\s?([0-9]\.[0-9](?:\.[0-9])?)\b")
SCORE = re.compile(r"CMIPS:[ \t]*([0-9]{1,12})")
SECONDS = re.compile(r"Execution time:[ \t]*([0-9]{1,9}(?:\.[0-9]{1,6})?(?:e\+[0-9]{2})?)")
# Threads may write into each other's lines: what matters is how many ended, and in 1.0.5 with which
# byte. Earlier versions do not print it, or share it between threads.
END = re.compile(r"End thread\b(?: +([0-9]{1,4}) +\((-?[0-9]{1,4})\))?")
CPU = re.compile(r"(?m)^processor\s*:\s*[0-9]+\s*$")
# Over this many CPUs, a fixed number of equal threads leaves some of them idle in the last round.
MANY_CPUS = 48


def version(text: str) -> str:
    """The program's version. Raises ProbeError."""
    text = check_text(TOOL, text)
    banner = BANNER.search(text)
    if banner is None:
        raise ProbeError(TOOL, "the program's banner is missing", 1)
    if banner[1] not in THREADS:
        detail = f"version {banner[1]} is not one of {', '.join(THREADS)}"
        raise ProbeError(TOOL, detail, _line(text, banner))
    return banner[1]


def _line(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.start()) + 1


def parse(text: str) -> list[ParsedSample]:
    """The score of one whole run as cmips_score, variant all. Raises ProbeError.

    Refused: fewer ends of threads than threads, a last byte other than 0, a score of 0, and a score
    that the time contradicts.
    """
    text = check_text(TOOL, text)
    program = version(text)
    threads = THREADS[program]
    score_match = _only(SCORE, text, "CMIPS")
    seconds_match = _only(SECONDS, text, "Execution time")
    _check_ends(text, program)
    score, seconds = int(score_match[1]), float(seconds_match[1])
    line = _line(text, score_match)
    cpus = len(CPU.findall(text))
    work = NUMERATORS[program]
    # The printed time is rounded: to a microsecond, or to six digits before 1.0.5.
    rounding = 0.000001 if program == "1.0.5" else seconds * 0.000005
    rest = work - score * seconds
    if score == 0 or not -rounding * score <= rest < seconds + rounding * score:
        raise ProbeError(TOOL, f"CMIPS: {score} does not agree with {seconds:g} s", line)
    if cpus and score * ITERATIONS_PER_CMIPS_S > MAX_ITERATIONS_PER_S * cpus:
        raise ProbeError(TOOL, f"CMIPS: {score} is impossible on {cpus} CPUs", line)
    return [
        ParsedSample(
            metric="cmips_score",
            variant="all",
            value=float(score),
            unit="CMIPS",
            parameters={
                "threads": threads,
                "seconds": seconds,
                "usable_cpus": cpus or None,
                "program": program,
            },
        )
    ]


def warnings(text: str) -> tuple[str, ...]:
    """Warnings for a reader of the score."""
    cpus = len(CPU.findall(text))
    if cpus > MANY_CPUS:
        return (f"a fixed number of threads can report too little on {cpus} CPUs",)
    return ()


def _only(pattern: re.Pattern[str], text: str, name: str) -> re.Match[str]:
    matches = list(pattern.finditer(text))
    if not matches:
        raise ProbeError(TOOL, f"the line {name}: is missing", text.count("\n") + 1)
    if len(matches) > 1:
        detail = f"the line {name}: is there twice; give one run at a time"
        raise ProbeError(TOOL, detail, _line(text, matches[1]))
    return matches[0]


def _check_ends(text: str, program: str) -> None:
    ends = list(END.finditer(text))
    if len(ends) != THREADS[program]:
        detail = f"{len(ends)} threads ended instead of {THREADS[program]}"
        raise ProbeError(TOOL, detail, text.count("\n") + 1)
    for end in ends if program == "1.0.5" else ():
        if end[2] != "0":
            detail = f"{end[0]!r}: the thread did not end with the byte 0 as all the work gives"
            raise ProbeError(TOOL, detail, _line(text, end))
