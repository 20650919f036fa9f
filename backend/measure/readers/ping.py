"""Output of ping (iputils, busybox): the time of each answer, and how many are missing."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean, median

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text

TOOL = "ping"
ANSWER = re.compile(r"[0-9]+ bytes from .+ time[=<]([0-9]{1,9}(?:\.[0-9]{1,6})?) ms")
COUNTS = re.compile(
    r"([0-9]{1,9}) packets transmitted, ([0-9]{1,9}) (?:packets )?received,.* packet loss.*"
)
# Characters: more than ten thousand answers.
MOST = 2**20
REPEATED = "(DUP!)"
DECIMAL_COMMA = re.compile(r".*=[0-9]+,[0-9]+ ms.*")


@dataclass(frozen=True)
class RoundTrips:
    """The times (ns) of the packets that were answered, of `sent` packets."""

    times_ns: tuple[float, ...]
    sent: int

    @property
    def median_ns(self) -> float:
        return median(self.times_ns)

    @property
    def parameters(self) -> dict[str, object]:
        ranked = sorted(self.times_ns)
        return {
            "min_ns": ranked[0],
            "avg_ns": fmean(ranked),
            # Nearest rank: with fewer than 100 answers it is the longest one.
            "p99_ns": ranked[math.ceil(0.99 * len(ranked)) - 1],
            "max_ns": ranked[-1],
            "loss_ratio": 1 - len(ranked) / self.sent,
            "packets": self.sent,
            "received": len(ranked),
        }


def round_trips(text: str, *, first_line: int = 1) -> RoundTrips:
    """Round trips in ping's output, complete to its end. Raises ProbeError with the offending line.

    Lines about single lost packets may stand anywhere; the counts at the end must agree.
    """
    lines = list(enumerate(check_text(TOOL, text, most=MOST).split("\n"), start=first_line))
    times_ns = tuple(_times_ns(lines))
    summaries = [
        (number, counts) for number, line in lines if (counts := COUNTS.fullmatch(line.strip()))
    ]
    if len(summaries) != 1:
        raise ProbeError(TOOL, "not one line counts the packets (LC_ALL=C?)", lines[-1][0])
    number, counts = summaries[0]
    sent, received = int(counts[1]), int(counts[2])
    if not 0 < received <= sent:
        raise ProbeError(TOOL, f"{received} of {sent} packets were answered", number)
    if received != len(times_ns):
        raise ProbeError(TOOL, f"{len(times_ns)} times for {received} answers", number)
    if not median(times_ns):
        raise ProbeError(TOOL, "the times are 0", number)
    return RoundTrips(times_ns, sent)


def _times_ns(lines: list[tuple[int, str]]) -> Iterator[float]:
    for number, whole in lines:
        line = whole.strip()
        if line.endswith(REPEATED):
            continue
        answer = ANSWER.fullmatch(line)
        if answer:
            yield float(answer[1]) * 1e6
        elif DECIMAL_COMMA.fullmatch(line):
            raise ProbeError(TOOL, "a decimal comma: run ping with LC_ALL=C", number)
        elif " time" in line and " bytes from " in line:
            raise ProbeError(TOOL, f"unexpected {line[:80]!r}", number)
