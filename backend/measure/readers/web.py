"""Framed output of web.sh: what wrk counted with each number of connections.

The client counts, because a server also counts the answers that nobody received.
"""

import re
from collections.abc import Sequence

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text
from backend.measure.readers import ParsedSample
from backend.measure.readers.frames import Section, counts, key_values, sections
from backend.measure.stats import OTHER_METHOD

TOOL = "web"
METRIC, UNIT = "web_requests_per_s", "requests/s"
NUMBERS = ("threads", "seconds", "kib")
CLIENT = re.compile(r"wrk ([0-9]{1,5})")
REQUESTS = re.compile(r"  ([0-9]{1,12}) requests in ([0-9]{1,6}\.[0-9]{2})(s|m), .* read")
RATE = re.compile(r"Requests/sec: +([0-9]{1,9}\.[0-9]{2})")
ERRORS = ("  Socket errors:", "  Non-2xx or 3xx responses:")
# The client of a busy machine stops late; a step of the clock is larger.
TIME_SHARE_MIN, TIME_SHARE_MAX = 0.9, 3.0
# The time is rounded to a hundredth of a second, or of a minute.
RATE_TOLERANCE = 0.02


def parse(text: str) -> list[ParsedSample]:
    """web_requests_per_s with the best number of connections, variant 1k or 64k. Raises ProbeError."""
    parts = sections(TOOL, check_text(TOOL, text))
    if not parts or parts[0].name != "conditions":
        raise ProbeError(TOOL, "the conditions are missing", 1)
    conditions, tests = parts[0], parts[1:]
    values = key_values(TOOL, conditions, (*NUMBERS, "tool"))
    numbers = counts(TOOL, conditions, values, NUMBERS)
    if not tests:
        raise ProbeError(TOOL, "no test", conditions.first_line)
    rate, connections = max(_test(test, numbers["seconds"]) for test in tests)
    return [
        ParsedSample(
            metric=METRIC,
            variant=f"{numbers['kib']}k",
            value=rate,
            unit=UNIT,
            parameters={**numbers, "connections": connections, "tool": values["tool"][:40]},
            flags=(OTHER_METHOD,),
        )
    ]


def _test(test: Section, seconds: int) -> tuple[float, int]:
    """Requests per second of one test, and its connections."""
    name = CLIENT.fullmatch(test.name)
    if not name or test.exit_code != 0:
        detail = f"unexpected {test.name[:40]!r} with status {test.exit_code}"
        raise ProbeError(TOOL, detail, test.first_line)
    failures = [line for line in test.lines if line.startswith(ERRORS)]
    if failures:
        raise ProbeError(TOOL, f"requests failed: {failures[0].strip()[:80]}", test.first_line)
    requests, took, unit = _line(test, REQUESTS)
    (rate,) = _line(test, RATE)
    took_s, rate_per_s = float(took) * (60 if unit == "m" else 1), float(rate)
    if not TIME_SHARE_MIN * seconds <= took_s <= TIME_SHARE_MAX * seconds + 1:
        raise ProbeError(TOOL, f"{took_s:g} s instead of {seconds}", test.first_line)
    if int(requests) < 1 or abs(rate_per_s * took_s / int(requests) - 1) > RATE_TOLERANCE:
        detail = f"{requests} requests in {took_s:g} s are not {rate_per_s:g} a second"
        raise ProbeError(TOOL, detail, test.first_line)
    return rate_per_s, int(name[1])


def _line(test: Section, pattern: re.Pattern[str]) -> Sequence[str]:
    """The groups of the one line that has this form."""
    matches = [match for line in test.lines if (match := pattern.fullmatch(line))]
    if len(matches) != 1:
        detail = f"{len(matches)} lines instead of one like {pattern.pattern.strip()[:20]!r}"
        raise ProbeError(TOOL, detail, test.first_line)
    return matches[0].groups()
