"""Framed output of the network probe: one test of iperf3 or of ping, with its conditions."""

import re
from collections.abc import Mapping
from dataclasses import replace

from backend.domain.addresses import is_loopback
from backend.domain.errors import ProbeError
from backend.domain.parsing import ParsedSample, iperf3, ping
from backend.domain.parsing.frames import Section, key_values, sections
from backend.domain.parsing.texts import checked_text
from backend.domain.stats import CACHED

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
NOT_ANSWERED = 1
"""ping's status after a packet was lost, also when others were answered."""


def parse(text: str) -> list[ParsedSample]:
    """Samples of one test. Raises ProbeError.

    TCP: net_tcp_bits_per_s (bits/s). UDP: net_udp_jitter_ns and net_udp_loss_ratio, the one metric
    that may be 0. ping: net_rtt_ns, the median.
    """
    parts = sections(TOOL, checked_text(TOOL, text))
    if len(parts) != 2 or parts[0].name != "conditions":
        raise ProbeError(TOOL, "not the conditions and one test", 1)
    conditions, output = parts
    values = key_values(TOOL, conditions, KEYS)
    tool = ping.TOOL if values["protocol"] == "ping" else iperf3.TOOL
    if output.name != tool:
        raise ProbeError(TOOL, f"{output.name} instead of {tool}", output.first_line)
    samples = [_rtt(output, values["peer"])] if tool == ping.TOOL else _iperf3(output, values)
    mtu = int(values["mtu"]) if MTU.fullmatch(values["mtu"]) else None
    described = {"peer": values["peer"], "mtu": mtu, "tool": values["tool"]}
    congestion = {"congestion": values["congestion"]}
    return [
        replace(sample, parameters={**congestion, **_known(sample), **described})
        for sample in samples
    ]


def _known(sample: ParsedSample) -> dict[str, object]:
    return {key: value for key, value in sample.parameters.items() if value is not None}


def _iperf3(output: Section, values: Mapping[str, str]) -> list[ParsedSample]:
    document = iperf3.read(output.text, first_line=output.first_line)
    test = iperf3.finished(document.root)
    said = {
        "protocol": test.protocol.lower(),
        "streams": str(test.streams),
        "direction": "reverse" if test.is_reverse else "forward",
        "seconds": str(test.duration_s),
    }
    for key, value in said.items():
        if values[key] != value:
            document.root.fail(f"{key} is {value} in the JSON and {values[key]} in the conditions")
    if test.is_bidirectional:
        document.root.fail("a test of both ways at once was not asked for")
    samples = list(iperf3.measured(test, []))
    if output.exit_code:
        document.root.fail(f"iperf3 ended with {output.exit_code}")
    return samples


def _rtt(output: Section, peer: str) -> ParsedSample:
    trips = ping.round_trips(output.text, first_line=output.first_line)
    if output.exit_code not in {0, NOT_ANSWERED}:
        raise ProbeError(TOOL, f"ping ended with {output.exit_code}", output.first_line)
    flags = (CACHED,) if is_loopback(peer) else ()
    return ParsedSample("net_rtt_ns", "standard", trips.median_ns, "ns", trips.parameters, flags)
