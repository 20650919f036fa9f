"""Framed output of redis.sh: what each server had done at the start and at the end of the test.

The operations are counted by the servers and timed by their own clocks, so every version of Redis
and Valkey, and every client, is read alike.
"""

import re
from collections.abc import Sequence

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text
from backend.measure.readers import ParsedSample
from backend.measure.readers.frames import Section, counts, key_values, sections
from backend.measure.stats import OTHER_METHOD

TOOL = "redis"
METRIC, UNIT = "redis_set_per_s", "operations/s"
NUMBERS = ("threads", "seconds", "pipeline", "connections", "value_bytes", "keys", "memory_mib")
SERVER = re.compile(r"server [0-9]{1,5}")
CONDITIONS = "conditions"
SECOND = re.compile(r"[0-9]{10}")
MICROSECOND = re.compile(r"[0-9]{1,6}")
# Redis before 6.2 does not count calls that it rejects.
SETS = re.compile(
    r"cmdstat_set:calls=([0-9]{1,15}),usec=[0-9]+,usec_per_call=[0-9.]+"
    r"(?:,rejected_calls=([0-9]+),failed_calls=([0-9]+))?"
)
# The end of a test waits for the busy machine to count; a step of the clock is larger.
TIME_SHARE_MIN, TIME_SHARE_MAX = 0.9, 3.0
MAX_RATE = 1e8


def parse(text: str) -> list[ParsedSample]:
    """redis_set_per_s of all servers together, variant pN by the requests in a pipeline. ProbeError."""
    return [read_redis(sections(TOOL, check_text(TOOL, text)))]


def read_redis(parts: Sequence[Section]) -> ParsedSample:
    """The sample of one test: its conditions and a section for each server. Raises ProbeError."""
    if not parts or parts[0].name != CONDITIONS:
        raise ProbeError(TOOL, "the conditions are missing", 1)
    conditions, servers = parts[0], parts[1:]
    values = key_values(TOOL, conditions, (*NUMBERS, "tool"))
    numbers = counts(TOOL, conditions, values, NUMBERS)
    if len(servers) != numbers["threads"]:
        detail = f"{len(servers)} servers, and {numbers['threads']} asked for"
        raise ProbeError(TOOL, detail, conditions.first_line)
    rate = sum(_rate(server, numbers["seconds"]) for server in servers)
    return ParsedSample(
        metric=METRIC,
        variant=f"p{numbers['pipeline']}",
        value=rate,
        unit=UNIT,
        parameters={**numbers, "tool": values["tool"][:40]},
        flags=(OTHER_METHOD,),
    )


def _rate(server: Section, seconds: int) -> float:
    """SETs per second of one server."""
    if not SERVER.fullmatch(server.name):
        raise ProbeError(TOOL, f"unexpected {server.name[:40]!r}", server.first_line)
    lines = [line for line in server.lines if line]
    if len(lines) != 6:
        detail = f"{len(lines)} lines instead of the time and the SETs at the start and the end"
        raise ProbeError(TOOL, detail, server.first_line)
    start_s, sets_before = _count(lines[:3], server.first_line)
    end_s, sets_after = _count(lines[3:], server.first_line + 3)
    took_s, sets = end_s - start_s, sets_after - sets_before
    if not TIME_SHARE_MIN * seconds <= took_s <= TIME_SHARE_MAX * seconds + 1:
        raise ProbeError(TOOL, f"{took_s:g} s instead of {seconds}", server.first_line)
    if not 0 < sets / took_s < MAX_RATE:
        raise ProbeError(TOOL, f"{sets} SETs in {took_s:g} s", server.first_line)
    return sets / took_s


def _count(lines: Sequence[str], number: int) -> tuple[float, int]:
    """A server's time in seconds and its SETs until then."""
    sets = SETS.fullmatch(lines[2])
    if not (SECOND.fullmatch(lines[0]) and MICROSECOND.fullmatch(lines[1]) and sets):
        raise ProbeError(TOOL, f"not a time and a count of SETs: {lines[2][:80]!r}", number)
    if int(sets[2] or 0) or int(sets[3] or 0):
        raise ProbeError(TOOL, "SETs were refused: too little memory", number)
    return int(lines[0]) + int(lines[1]) / 1e6, int(sets[1])
