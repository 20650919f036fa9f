"""Output of CoreMark at the end of a performance run."""

import re

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text
from backend.measure.readers import ParsedSample

TOOL = "coremark"
MAX_CHARACTERS = 2**18
# CoreMark's own rule for a result that may be reported.
MIN_SECONDS = 10
TOLERANCE = 0.01
MAX_RATE = 1e12
VALIDATED = "Correct operation validated"
PERFORMANCE = "2K performance run parameters"
REFUSED = {
    "validation run parameters": "a validation run, not a performance run",
    "profile generation run parameters": "a profile run, not a performance run",
    "Must execute for at least 10 secs": "the run took less than 10 s",
    "Errors detected": "CoreMark detected errors",
    "ERROR!": "CoreMark reports an error",
    "Cannot validate operation": "CoreMark could not validate its results",
}
FIELD = re.compile(r"([A-Za-z][A-Za-z /()]{1,30}?)[ \t]*:[ \t]*(.{1,400})")
NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")
PARALLEL = re.compile(r"Parallel \w{1,20}")


def parse(text: str) -> list[ParsedSample]:
    """coremark_score (iterations/s): variant standard of a parallel run, single of one context.

    Raises ProbeError for a run that CoreMark did not validate or that took less than 10 s.
    """
    values, lines = _fields(text)
    rate, seconds, iterations = (
        _number(values, lines, name)
        for name in ("Iterations/Sec", "Total time (secs)", "Iterations")
    )
    if seconds < MIN_SECONDS:
        line = lines["Total time (secs)"]
        raise ProbeError(TOOL, f"the run took {seconds:g} s, less than 10 s", line)
    # The rate is printed beside what it is made of: figures of which one was changed do not fit.
    if abs(iterations / seconds - rate) > TOLERANCE * rate:
        detail = f"Iterations/Sec {rate:g} does not agree with {iterations:g} in {seconds:g} s"
        raise ProbeError(TOOL, detail, lines["Iterations/Sec"])
    contexts = 1
    for name in values:
        if PARALLEL.fullmatch(name):
            contexts = int(_number(values, lines, name))
    return [
        ParsedSample(
            metric="coremark_score",
            variant="standard" if contexts > 1 else "single",
            value=rate,
            unit="iterations/s",
            parameters={
                "contexts": contexts,
                "seconds": seconds,
                "compiler": values.get("Compiler version", "")[:200] or None,
                "compiler_flags": values.get("Compiler flags", "")[:400] or None,
            },
        )
    ]


def _fields(text: str) -> tuple[dict[str, str], dict[str, int]]:
    """The `name : value` lines with their line numbers; refuses what CoreMark calls no result."""
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    is_validated = is_performance = False
    for number, whole in enumerate(
        check_text(TOOL, text, most=MAX_CHARACTERS).split("\n"), start=1
    ):
        line = whole.strip()
        for words, why in REFUSED.items():
            if words in line:
                raise ProbeError(TOOL, why, number)
        is_validated = is_validated or line.startswith(VALIDATED)
        is_performance = is_performance or line.startswith(PERFORMANCE)
        field = FIELD.fullmatch(line)
        if field is None:
            continue
        if field[1] in values:
            detail = f"{field[1]} is there twice: give one run at a time"
            raise ProbeError(TOOL, detail, number)
        values[field[1]], lines[field[1]] = field[2].strip(), number
    if not (is_validated and is_performance):
        missing = PERFORMANCE if is_validated else VALIDATED
        raise ProbeError(TOOL, f"the line {missing!r} is missing", text.count("\n") + 1)
    return values, lines


def _number(values: dict[str, str], lines: dict[str, int], name: str) -> float:
    value = values.get(name)
    if value is None:
        raise ProbeError(TOOL, f"{name} is missing", 1)
    number = float(value) if NUMBER.fullmatch(value) else 0
    if not 0 < number < MAX_RATE:
        raise ProbeError(TOOL, f"{name} is {value[:40]!r}", lines[name])
    return number
