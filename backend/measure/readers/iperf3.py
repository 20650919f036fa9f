"""Output of iperf3 -J, from the client.

iperf3 before 3.14 ends with status 0 whatever happened, so success is read from the text: no
error, and bytes that arrived. Rates are the receiver's, the figure of end.sum_received.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median

from backend.foundation.addresses import is_loopback
from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text
from backend.measure.readers import ParsedSample
from backend.measure.readers.document import JsonDocument, Node, ToolResult, read_document, shown
from backend.measure.stats import CACHED, LOWER_BOUND

TOOL = "iperf3"
VERSION = re.compile(r"iperf 3\.([0-9]{1,3})\b.*")
# cJSON wrote these words where a division by zero had been; the lines stay as they are.
NAN = re.compile(r'(":\s*)-?(?:nan|inf)(?=\s*[,}\]])')
# Printed once for each stream.
REPEATED = ("sock_bufsize", "sndbuf_actual", "rcvbuf_actual", "target_bitrate")
# Endings of the keys that hold the client's sending, and the way back of a test of both.
FORWARD, REVERSE = "", "_bidir_reverse"
# From 3.16 on each stream has a thread of its own; before, one CPU carried all of them.
THREADED_SINCE = 16
BUSY_CPU_PERCENT = 90
CPU_BOUND = "cpu_bound"
# What was asked for with -b and --fq-rate: TCP then sends no faster.
LIMITS = ("target_bitrate", "fqrate")
TOLERANCE = 0.02
LEAST_SECONDS = 0.95
# The rest at the end of a test is too short for a rate.
LEAST_INTERVAL_S = 0.1
MAX_INTERVALS = 3600
COMPLAINT = "iperf3: error"
# A line of --json-stream, which iperf3 has since 3.17.
EVENT = re.compile(r'\s*\{\s*"event"\s*:\s*"(\w{1,40})"\s*,\s*"data"\s*:\s*(.*)\}\s*')


@dataclass(frozen=True)
class Test:
    """A finished test. `version` is the minor one; `streams` are counted each way."""

    root: Node
    version: int
    protocol: str
    streams: int
    is_reverse: bool
    is_bidirectional: bool
    duration_s: int
    """Requested duration; 0 = a number of bytes or blocks was."""

    @property
    def is_loopback(self) -> bool:
        """True if both ends are one machine: its memory was measured, and no network."""
        start = self.root.node("start")
        streams = start.nodes("connected") if start.has("connected") else []
        ends = [
            [stream.text(key) for key in ("local_host", "remote_host") if stream.has(key)]
            for stream in streams
        ]
        if start.has("connecting_to"):
            ends.append([start.node("connecting_to").text("host")])
        return any(
            (len(pair) > 1 and pair[0] == pair[1]) or any(map(is_loopback, pair)) for pair in ends
        )

    @property
    def variants(self) -> tuple[tuple[str, str], ...]:
        """(variant, ending of the keys) of each way that was measured."""
        if self.protocol == "UDP":
            name, reverse = "standard", "reverse"
        else:
            name = "tcp_parallel" if self.streams > 1 else "tcp_single"
            reverse = f"{name}_reverse"
        if self.is_bidirectional:
            return ((f"{name}_bidir", FORWARD), (f"{name}_bidir_reverse", REVERSE))
        return ((reverse if self.is_reverse else name, FORWARD),)


def parse_json(text: str, *, takes_loopback: bool = False) -> ToolResult:
    """The samples of one test; lines before the JSON are kept as warnings. Raises ProbeError.

    A test that never left its machine is refused, or flagged "cached" for `takes_loopback`.

    TCP gives net_tcp_bits_per_s (bits/s), UDP net_udp_jitter_ns (ns) and net_udp_loss_ratio, which
    is the one metric that may be 0.
    """
    document = read(text)
    warnings = list(document.remarks)
    complaint = next((w for w in (*warnings, *document.behind) if w.startswith(COMPLAINT)), None)
    if complaint is not None:
        document.root.fail(complaint)
    test = complete_test(document.root)
    if test.is_loopback and not takes_loopback:
        document.root.fail(
            "both ends are one machine, so no network was measured; loopback: true keeps it unranked"
        )
    samples = tuple(test_samples(test, warnings))
    if document.root.node("start").has("accepted_connection"):
        warnings.append("this is the server's output: its directions are those of the client")
    if test.is_loopback:
        warnings.append("both ends are one machine: flagged cached, and takes no rank")
    return ToolResult(samples, tuple(warnings), document.root.node("start").text("version"))


def read(text: str, *, first_line: int = 1) -> JsonDocument:
    """The JSON that iperf3 printed, with null for its words that are no JSON."""
    return read_document(
        TOOL,
        NAN.sub(r"\1null", _document(check_text(TOOL, text))),
        first_line=first_line,
        repeated=REPEATED,
        is_nan_null=True,
        takes_more=True,
    )


def _document(text: str) -> str:
    """The events of --json-stream as the one document of -J; other texts as they are."""
    lines = text.split("\n")
    events = [
        (number, match) for number, line in enumerate(lines) if (match := EVENT.fullmatch(line))
    ]
    if not events:
        return text
    data: dict[str, list[str]] = {}
    for _, event in events:
        data.setdefault(event[1], []).append(event[2])
    first, last = events[0][0], events[-1][0] + 1
    for name in ("start", "end"):
        if len(data.get(name, [])) > 1:
            raise ProbeError(TOOL, f"two {name} events: give one run at a time", last)
    if not {"end", "error"} & data.keys():
        raise ProbeError(TOOL, "no end event came, so the run was cut off: let it end", last)
    once = [f'"{name}":{data[name][0]}' for name in ("start", "end", "error") if name in data]
    intervals = f'"intervals":[{",".join(data.get("interval", []))}]'
    return "\n".join([*lines[:first], f"{{{','.join([*once, intervals])}}}"])


def complete_test(root: Node) -> Test:
    """The test, if it went through to its end."""
    if root.has("error"):
        root.fail(root.text("error"))
    start, end = root.node("start"), root.node("end")
    version = VERSION.fullmatch(start.text("version"))
    if version is None:
        root.fail(f"{start.text('version')!r} is not iperf 3")
    asked = start.node("test_start")
    protocol = asked.text("protocol")
    if protocol not in {"TCP", "UDP"}:
        root.fail(f"protocol {protocol!r} is not read")
    is_bounded = any(asked.has(key) and asked.count(key) for key in ("bytes", "blocks"))
    return Test(
        root=root,
        version=int(version[1]),
        protocol=protocol,
        streams=asked.count("num_streams", minimum=1),
        is_reverse=asked.count("reverse") == 1,
        is_bidirectional=end.has(f"sum_received{REVERSE}"),
        duration_s=0 if is_bounded else asked.count("duration"),
    )


def test_samples(test: Test, warnings: list[str]) -> Iterator[ParsedSample]:
    """Samples of each way; what is doubtful about them is added to `warnings`."""
    flags: tuple[str, ...] = (CACHED,) if test.is_loopback else ()
    asked = test.root.node("start").node("test_start")
    limit = next((key for key in LIMITS if asked.has(key) and asked.count(key)), "")
    # UDP is sent at a stated rate, and its losses are at that rate.
    if limit and test.protocol == "TCP":
        flags += (LOWER_BOUND,)
        warnings.append(
            f"{limit} held the test back, so the network can do more: kept, and takes no rank"
        )
    for variant, ending in test.variants:
        received = _receiver_sum(test, ending)
        _check_received(test, received)
        if test.protocol == "UDP":
            samples = _udp(test, variant, received)
        else:
            intervals = _intervals(test, ending, received, warnings)
            samples = iter([_tcp(test, variant, ending, received, intervals)])
        yield from (replace(sample, flags=(*flags, *sample.flags)) for sample in samples)


def _receiver_sum(test: Test, ending: str) -> Node:
    """The sum at the receiver; before 3.8 UDP has one sum alone, with the receiver's losses."""
    end = test.root.node("end")
    is_old = test.protocol == "UDP" and not end.has("sum_received") and end.has("sum")
    return end.node("sum") if is_old else end.node(f"sum_received{ending}")


def _check_received(test: Test, received: Node) -> None:
    if received.count("bytes") == 0:
        received.fail("bytes is 0: nothing arrived")
    seconds = received.positive("seconds")
    if seconds < LEAST_SECONDS * test.duration_s:
        received.fail(f"seconds is {seconds:g} of {test.duration_s} asked: it ended early")


def _intervals(test: Test, ending: str, received: Node, warnings: list[str]) -> list[float]:
    """bits/s of each interval that counts; they must make the rate of the whole."""
    key = "sum" + (ending if test.is_bidirectional else "")
    intervals = []
    for interval in test.root.nodes("intervals"):
        total = interval.node(key)
        # What was left out of the result on request, such as the slow start of TCP, is listed all
        # the same.
        if not (total.has("omitted") and total.flag("omitted")):
            intervals.append((total.count("bytes"), total.number("seconds")))
    seconds = math.fsum(length for _, length in intervals)
    rate = received.positive("bits_per_second")
    counted = (
        8 * sum(size for size, _ in intervals) / seconds if seconds > LEAST_INTERVAL_S else rate
    )
    if abs(rate - counted) > TOLERANCE * rate:
        warnings.append(
            f"the receiver's rate is {rate:.4g} bits/s, that of the intervals {counted:.4g}"
        )
    whole = [(size, length) for size, length in intervals if length > LEAST_INTERVAL_S]
    return [8 * size / length for size, length in whole[:MAX_INTERVALS]]


def _common(test: Test) -> dict[str, object]:
    start = test.root.node("start")
    asked = start.node("test_start")
    peer = start.node("connecting_to").text("host") if start.has("connecting_to") else None
    address = _address(start)
    return {
        "streams": test.streams,
        "seconds": test.duration_s or None,
        "omitted_s": asked.count("omit") if asked.has("omit") else None,
        "peer": peer if peer is None else shown(peer),
        "ip_version": None if address is None else 6 if ":" in address else 4,
        "tool": start.text("version"),
        "cpu_percent": dict(_cpu(test)),
    }


def _address(start: Node) -> str | None:
    connected = start.nodes("connected") if start.has("connected") else []
    if not connected or not connected[0].has("remote_host"):
        return None
    return connected[0].text("remote_host")


def _cpu(test: Test) -> Iterator[tuple[str, float]]:
    """How busy iperf3 kept a CPU on each side, in percent of one."""
    end = test.root.node("end")
    if end.has("cpu_utilization_percent"):
        usage = end.node("cpu_utilization_percent")
        for side, key in (("local", "host_total"), ("remote", "remote_total")):
            if usage.has(key):
                yield side, usage.number(key)


def _tcp(
    test: Test, variant: str, ending: str, received: Node, intervals: list[float]
) -> ParsedSample:
    end = test.root.node("end")
    sent = end.node(f"sum_sent{ending}") if end.has(f"sum_sent{ending}") else None
    rtts = [
        stream.node("sender").number("mean_rtt")
        for stream in (end.nodes("streams") if end.has("streams") else [])
        if stream.has("sender") and stream.node("sender").has("mean_rtt")
    ]
    parameters = {
        **_common(test),
        "bytes": received.count("bytes"),
        "intervals": intervals,
        "retransmits": sent.count("retransmits") if sent and sent.has("retransmits") else None,
        "congestion": end.text("sender_tcp_congestion")
        if end.has("sender_tcp_congestion")
        else None,
        # iperf3 prints microseconds, and 0 from the side that did not send.
        "rtt_ns": median(rtts) * 1000 if any(rtts) else None,
    }
    is_busy = max(dict(_cpu(test)).values(), default=0) > BUSY_CPU_PERCENT
    is_bound = is_busy and test.version < THREADED_SINCE
    return ParsedSample(
        metric="net_tcp_bits_per_s",
        variant=variant,
        value=received.positive("bits_per_second"),
        unit="bits/s",
        parameters=parameters,
        flags=(CPU_BOUND,) if is_bound else (),
    )


def _udp(test: Test, variant: str, received: Node) -> Iterator[ParsedSample]:
    asked = test.root.node("start").node("test_start")
    lost_percent = received.number("lost_percent")
    if lost_percent > 100:
        received.fail(f"lost_percent is {lost_percent:g}")
    parameters = {
        **_common(test),
        "bytes": received.count("bytes"),
        "bits_per_s": received.positive("bits_per_second"),
        "target_bits_per_s": asked.count("target_bitrate") if asked.has("target_bitrate") else None,
        "block_bytes": asked.count("blksize"),
        "packets": received.count("packets", minimum=1),
        "lost_packets": received.count("lost_packets"),
    }
    jitter_ms = received.positive("jitter_ms")
    yield ParsedSample("net_udp_jitter_ns", variant, jitter_ms * 1e6, "ns", parameters)
    yield ParsedSample("net_udp_loss_ratio", variant, lost_percent / 100, "ratio", parameters)
