"""Probes between two hosts."""

from backend.foundation.texts import text as _
from backend.measure.probes.series import Probe, ProbeSeries
from backend.measure.readers import network

NETWORK = "network"
STREAMS = "{network_streams}"
MOST_BYTES = "{sent_bytes}"


def _network(
    variant: str,
    function: str,
    *words: str,
    metric: str,
    chart_label: str = "",
    timeout_s: str = "network_s+30",
) -> ProbeSeries:
    return ProbeSeries(
        variant,
        ("network.sh", function, "{peer_address}", *words),
        "ping_s+1" if function == "ping" else "network_s+1",
        "ping_s+30" if function == "ping" else timeout_s,
        metric,
        needed_parameter="peer",
        chart_label=chart_label,
    )


def _tcp(variant: str, streams: str, direction: str, chart_label: str) -> ProbeSeries:
    words = ("{peer_port}", "{network_s}", streams, direction, MOST_BYTES)
    # Several streams are sent a second time, by several processes, where one was limited by its CPU.
    timeout_s = "network_s+30" if streams == "1" else "network_s+network_s+45"
    return _network(
        variant,
        "tcp",
        *words,
        metric="net_tcp_bits_per_s",
        chart_label=chart_label,
        timeout_s=timeout_s,
    )


def _udp(variant: str, direction: str) -> ProbeSeries:
    words = ("{peer_port}", "{network_s}", "{udp_bits_per_s}", direction, MOST_BYTES)
    return _network(variant, "udp", *words, metric="net_udp_jitter_ns")


NETWORK_PROBES: tuple[Probe, ...] = (
    Probe(
        name=NETWORK,
        version="1",
        series=(
            _tcp("tcp_parallel", STREAMS, "forward", _("{n} streams, to peer")),
            _tcp("tcp_parallel_reverse", STREAMS, "reverse", _("{n} streams, from peer")),
            _tcp("tcp_single", "1", "forward", _("1 stream, to peer")),
            _tcp("tcp_single_reverse", "1", "reverse", _("1 stream, from peer")),
            _udp("udp", "forward"),
            _udp("udp_reverse", "reverse"),
            _network("ping", "ping", "{ping_count}", metric="net_rtt_ns"),
        ),
        parser=network.parse,
        metrics=(
            "net_tcp_bits_per_s",
            "net_udp_jitter_ns",
            "net_udp_loss_ratio",
            "net_rtt_ns",
        ),
        needs=(),
        is_tool=True,
        io="network",
    ),
)
