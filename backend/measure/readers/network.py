"""Framed output of the network probe: one test of iperf3 or of ping, with its conditions."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from backend.foundation.addresses import is_loopback
from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text
from backend.measure.readers import ParsedSample, iperf3, ping
from backend.measure.readers.frames import Section, counts, key_values, sections
from backend.measure.stats import CACHED

TOOL = "network"
KEYS = (
    "peer",
    "direction",
    "streams",
    "seconds",
    "protocol",
    "mtu",
    "congestion",
    "tool",
)
MTU = re.compile(r"[0-9]{1,6}")
# The section that says what the device sent, or received in a test of the way back.
SENT = "sent"
BYTES = ("bytes",)
FAILURE = "=== failure "
# ping's status after a packet was lost, also when others were answered.
NOT_ANSWERED = 1


def parse(text: str) -> list[ParsedSample]:
    """Samples of one test. Raises ProbeError.

    TCP: net_tcp_bits_per_s (bits/s). UDP: net_udp_jitter_ns and net_udp_loss_ratio, the one metric
    that may be 0. ping: net_rtt_ns, the median.
    """
    parts = sections(TOOL, check_text(TOOL, text))
    if sum(part.name != SENT for part in parts) < 2 or parts[0].name != "conditions":
        raise ProbeError(TOOL, "not the conditions and one test", 1)
    conditions, *outputs = (part for part in parts if part.name != SENT)
    values = key_values(TOOL, conditions, KEYS)
    tool = ping.TOOL if values["protocol"] == "ping" else iperf3.TOOL
    for output in outputs:
        if output.name != tool:
            raise ProbeError(TOOL, f"{output.name} instead of {tool}", output.first_line)
    if len(outputs) > 1:
        samples = [_by_processes(outputs, values)]
    elif tool == ping.TOOL:
        samples = [_rtt(outputs[0], values["peer"])]
    else:
        samples = _iperf3(outputs[0], values, values["streams"])
    mtu = int(values["mtu"]) if MTU.fullmatch(values["mtu"]) else None
    described = {"peer": values["peer"], "mtu": mtu, "tool": values["tool"]}
    congestion = {"congestion": values["congestion"]}
    return [
        replace(sample, parameters={**congestion, **_test_parameters(sample), **described})
        for sample in samples
    ]


def bytes_of_test(text: str) -> tuple[int, int]:
    """Bytes that the host and its peer sent in a test; nothing for ping.

    By the counter of the host's device, with headers and what was sent again, as providers charge it;
    where there is none, and of older runs, by iperf3.
    """
    try:
        # A test that was ended because all was sent that may be says so after what it had sent.
        parts = sections(TOOL, check_text(TOOL, text).partition(FAILURE)[0])
        return _count_bytes(parts) or _add_up(parts)
    except ProbeError:  # a test that was cut off, or failed before it sent anything
        return 0, 0


def _count_bytes(parts: Sequence[Section]) -> tuple[int, int] | None:
    counted = [
        counts(TOOL, part, key_values(TOOL, part, BYTES), BYTES)["bytes"]
        for part in parts
        if part.name == SENT
    ]
    if not any(counted):
        return None
    is_reverse = key_values(TOOL, parts[0], KEYS)["direction"] == "reverse"
    return (0, sum(counted)) if is_reverse else (sum(counted), 0)


def _add_up(parts: Sequence[Section]) -> tuple[int, int]:
    host = peer = 0
    for test in parts:
        if test.name != iperf3.TOOL:
            continue
        root = iperf3.read(test.text, first_line=test.first_line).root
        end = root.node("end")
        # iperf3 before 3.17 has one sum for both ends of UDP.
        sent = end.node("sum_sent" if end.has("sum_sent") else "sum").count("bytes")
        is_reverse = root.node("start").node("test_start").count("reverse") == 1
        host, peer = host + sent * (not is_reverse), peer + sent * is_reverse
    return host, peer


def _test_parameters(sample: ParsedSample) -> dict[str, object]:
    return {key: value for key, value in sample.parameters.items() if value is not None}


def _by_processes(outputs: Sequence[Section], values: Mapping[str, str]) -> ParsedSample:
    """A test whose streams several processes shared, since one of them would have been limited by
    its CPU: together they moved what each did."""
    second = outputs[1].first_line
    if values["protocol"] != "tcp" or not values["streams"].isdecimal():
        raise ProbeError(TOOL, f"several tests of {values['protocol']}", second)
    streams, rest = divmod(int(values["streams"]), len(outputs))
    if rest:
        detail = f"{values['streams']} streams do not share {len(outputs)} processes"
        raise ProbeError(TOOL, detail, second)
    parts = [sample for output in outputs for sample in _iperf3(output, values, str(streams))]
    first = parts[0]
    # iperf3 calls one stream of each "single"; together they are several.
    variant = first.variant.replace("tcp_single", "tcp_parallel")
    parameters = {
        **first.parameters,
        "streams": int(values["streams"]),
        "processes": len(outputs),
        **{key: _sum(parts, key) for key in ("bytes", "retransmits")},
        "intervals": [
            math.fsum(rates)
            for rates in zip(*(part.parameters["intervals"] for part in parts), strict=False)
        ],
        "cpu_percent": [part.parameters["cpu_percent"] for part in parts],
    }
    flags = tuple(dict.fromkeys(flag for part in parts for flag in part.flags))
    value = math.fsum(part.value for part in parts)
    return replace(first, variant=variant, value=value, parameters=parameters, flags=flags)


def _sum(parts: Sequence[ParsedSample], key: str) -> int | None:
    counts = [part.parameters[key] for part in parts]
    known = [count for count in counts if isinstance(count, int)]
    return sum(known) if len(known) == len(counts) else None


def _iperf3(output: Section, values: Mapping[str, str], streams: str) -> list[ParsedSample]:
    document = iperf3.read(output.text, first_line=output.first_line)
    test = iperf3.complete_test(document.root)
    said = {
        "protocol": test.protocol.lower(),
        "streams": str(test.streams),
        "direction": "reverse" if test.is_reverse else "forward",
        "seconds": str(test.duration_s),
    }
    for key, value in said.items():
        stated = streams if key == "streams" else values[key]
        if stated != value:
            document.root.fail(f"{key} is {value} in the JSON and {stated} in the conditions")
    if test.is_bidirectional:
        document.root.fail("a test of both ways at once was not asked for")
    samples = list(iperf3.test_samples(test, []))
    if output.exit_code:
        document.root.fail(f"iperf3 ended with {output.exit_code}")
    return samples


def _rtt(output: Section, peer: str) -> ParsedSample:
    trips = ping.round_trips(output.text, first_line=output.first_line)
    if output.exit_code not in {0, NOT_ANSWERED}:
        raise ProbeError(TOOL, f"ping ended with {output.exit_code}", output.first_line)
    flags = (CACHED,) if is_loopback(peer) else ()
    return ParsedSample("net_rtt_ns", "standard", trips.median_ns, "ns", trips.parameters, flags)
