"""Framed tests of the network probe, and what ping prints."""

import re

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import network, ping

HEAD = "PING 192.0.2.7 (192.0.2.7): 56 data bytes\n"


def _answers(*times_ms):
    return HEAD + "".join(
        f"64 bytes from 192.0.2.7: icmp_seq={place} ttl=64 time={time} ms\n"
        for place, time in enumerate(times_ms, start=1)
    )


def _counts(sent, received, more=""):
    return f"\n{sent} packets transmitted, {received} received,{more} 0% packet loss, time 9ms\n"


def _framed(text, status=0, protocol="ping"):
    return (
        "=== conditions\npeer 192.0.2.7\ndirection forward\nstreams 1\nseconds 2\n"
        f"protocol {protocol}\nmtu unknown\ncongestion cubic\ntool ping from iputils\n"
        f"=== end conditions rc=0\n=== ping\n{text}\n=== end ping rc={status}\n"
    )


@pytest.mark.parametrize(
    ("name", "variant", "value", "flags"),
    [
        ("tcp-parallel", "tcp_parallel", 16102878286.80725, ()),
        ("tcp-single-reverse", "tcp_single_reverse", 24059787406.76371, ("cpu_bound",)),
    ],
)
def test_network_gives_the_receivers_rate_when_tcp_is_recorded(
    recorded, name, variant, value, flags
):
    (sample,) = network.parse(recorded(f"network-{name}"))
    assert (sample.metric, sample.variant) == ("net_tcp_bits_per_s", variant)
    assert (sample.value, sample.flags) == (value, ("cached", *flags))
    assert sample.parameters["peer"] == "127.0.0.1"
    assert sample.parameters["mtu"] == 65536
    assert sample.parameters["congestion"] == "bbr"
    assert sample.parameters["tool"] == "iperf 3.12 (cJSON 1.7.15)"


def _shared(text, streams):
    """A recorded test as two processes print it that share the streams."""
    head, output = text.split("=== iperf3\n")
    head = re.sub(r"(?m)^streams .*$", f"streams {streams}", head)
    return f"{head}=== iperf3\n{output}=== iperf3\n{output}"


def test_processes_that_share_streams_give_what_they_moved_together(recorded):
    text = recorded("network-tcp-parallel")
    (one,), (both,) = network.parse(text), network.parse(_shared(text, 8))
    assert (both.metric, both.variant, both.flags) == (one.metric, one.variant, one.flags)
    assert both.value == 2 * one.value
    assert (both.parameters["streams"], both.parameters["processes"]) == (8, 2)
    for key in ("bytes", "retransmits"):
        assert both.parameters[key] == 2 * one.parameters[key]
    assert both.parameters["intervals"] == [2 * rate for rate in one.parameters["intervals"]]
    single = recorded("network-tcp-single-reverse")
    (of_one_each,) = network.parse(_shared(single, 2))
    assert of_one_each.variant == "tcp_parallel_reverse"
    assert "cpu_bound" in of_one_each.flags
    silent = re.sub(r'"retransmits":\s*[0-9]+,', "", _shared(text, 8))
    assert "retransmits" not in network.parse(silent)[0].parameters


@pytest.mark.parametrize(
    ("name", "streams", "message"),
    [
        ("tcp-parallel", 7, "7 streams do not share 2 processes"),
        ("tcp-parallel", "x", "several tests of tcp"),
        ("tcp-parallel", 4, "streams is 4 in the JSON and 2"),
        ("udp", 2, "several tests of udp"),
    ],
)
def test_processes_that_share_no_streams_are_refused(recorded, name, streams, message):
    with pytest.raises(ProbeError, match=message) as refused:
        network.parse(_shared(recorded(f"network-{name}"), streams))
    assert refused.value.line


@pytest.mark.parametrize(("name", "variant"), [("udp", "standard"), ("udp-reverse", "reverse")])
def test_network_gives_jitter_and_loss_when_udp_is_recorded(recorded, name, variant):
    jitter, loss = network.parse(recorded(f"network-{name}"))
    assert (jitter.metric, loss.metric) == ("net_udp_jitter_ns", "net_udp_loss_ratio")
    assert (jitter.variant, loss.variant) == (variant, variant)
    assert 1000 < jitter.value < 100_000
    assert loss.value == 0


def test_network_gives_the_median_round_trip_when_ping_is_recorded(recorded):
    (sample,) = network.parse(recorded("network-ping"))
    assert (sample.metric, sample.variant) == ("net_rtt_ns", "standard")
    # sorted µs: 28 28 29 31 32 34 43 50 52 55; in the middle 32 and 34
    assert (sample.value, sample.unit) == (33_000, "ns")
    assert sample.parameters == {
        "min_ns": 28_000,
        "avg_ns": pytest.approx(38_200),
        "p99_ns": 55_000,
        "max_ns": 55_000,
        "loss_ratio": 0,
        "packets": 10,
        "received": 10,
        "peer": "127.0.0.1",
        "mtu": 65536,
        "congestion": "bbr",
        "tool": "ping from iputils 20221126",
    }


def test_network_is_refused_in_the_tools_words_when_the_peer_was_absent(recorded):
    with pytest.raises(ProbeError, match="Connection refused") as refused:
        network.parse(recorded("network-tcp-refused"))
    assert refused.value.line == 12


@pytest.mark.parametrize(
    ("key", "value"),
    [("protocol", "udp"), ("direction", "reverse"), ("streams", "2"), ("seconds", "5")],
)
def test_network_is_refused_when_the_conditions_say_something_else(recorded, key, value):
    text = re.sub(rf"(?m)^{key} .*$", f"{key} {value}", recorded("network-tcp-parallel"))
    with pytest.raises(ProbeError, match=key):
        network.parse(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("=== end iperf3 rc=0", "=== end iperf3 rc=1"), "iperf3 ended with 1"),
        (("protocol tcp", "protocol ping"), "iperf3 instead of ping"),
        (('"end":\t{', '"end":\t{"sum_received_bidir_reverse": {},'), "both ways at once"),
        (("mtu 65536\n", ""), "mtu missing"),
        (("=== conditions\n", "=== other\n"), "unexpected|not the conditions|does not end"),
        (("peer 127", "peer \0 127"), "NUL"),
    ],
)
def test_network_is_refused_when_the_test_is_another(recorded, change, message):
    with pytest.raises(ProbeError, match=message) as refused:
        network.parse(recorded("network-tcp-parallel").replace(*change))
    assert refused.value.line


def test_network_is_refused_when_there_is_no_test(recorded):
    with pytest.raises(ProbeError, match="not the conditions and one test"):
        network.parse(recorded("network-ping").split("=== ping\n")[0])


def test_network_is_refused_with_a_line_when_it_is_cut_off_anywhere(recorded):
    for name in ("network-ping", "network-udp"):
        text = recorded(name)
        for end in range(0, len(text), 50):
            with pytest.raises(ProbeError) as refused:
                network.parse(text[:end])
            assert refused.value.line


@pytest.mark.parametrize("status", [0, 1])
def test_network_keeps_the_loss_when_some_packets_were_lost(status):
    text = _answers("1.5", "2.5", "0.5") + _counts(4, 3, " +1 errors,")
    (sample,) = network.parse(_framed(text, status))
    assert sample.value == 1_500_000
    assert sample.parameters["loss_ratio"] == 0.25
    assert sample.parameters["mtu"] is None


def test_network_is_refused_when_ping_failed_otherwise():
    with pytest.raises(ProbeError, match="ping ended with 2") as refused:
        network.parse(_framed(_answers(1) + _counts(1, 1), 2))
    assert refused.value.line == 12


# ---- ping


@pytest.mark.parametrize(
    ("name", "median_ns", "sent"), [("iputils-20221126", 50_000, 10), ("busybox-1.35", 82_000, 5)]
)
def test_ping_gives_each_time_when_it_is_recorded(recorded, name, median_ns, sent):
    found = ping.round_trips(recorded(f"ping-{name}"))
    assert (found.median_ns, found.sent, len(found.times_ns)) == (median_ns, sent, sent)


@pytest.mark.parametrize("name", ["iputils-20221126", "busybox-1.35"])
def test_ping_is_refused_when_all_packets_were_lost(recorded, name):
    with pytest.raises(ProbeError, match=r"0 of [23] packets were answered") as refused:
        ping.round_trips(recorded(f"ping-{name}-all-lost"))
    assert refused.value.line == 4


def test_ping_takes_the_nearest_rank_when_there_are_enough_answers():
    times = range(1, 201)
    found = ping.round_trips(_answers(*times) + _counts(200, 200))
    # 99 % of 200 are 198
    assert found.parameters["p99_ns"] == 198e6
    assert found.parameters["max_ns"] == 200e6
    assert found.median_ns == 100.5e6


def test_ping_ignores_repeated_answers_and_remarks():
    text = (
        _answers(3)
        + "64 bytes from 192.0.2.7: icmp_seq=1 ttl=64 time=9.99 ms (DUP!)\n"
        + "From 192.0.2.1 icmp_seq=2 Destination Host Unreachable\nping: sendmsg: No route\n"
        + _counts(2, 1, " +1 duplicates, +1 errors,")
    )
    assert ping.round_trips(text).times_ns == (3e6,)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "empty"),
        (_answers(1), 3, "not one line counts"),
        (_answers(1) + 2 * _counts(1, 1), 7, "not one line counts"),
        (_answers(1) + _counts(2, 2), 4, "1 times for 2 answers"),
        (_answers(1) + _counts(0, 0), 4, "0 of 0 packets"),
        (_answers(1) + _counts(1, 2), 4, "2 of 1 packets"),
        (_answers("0.000") + _counts(1, 1), 4, "the times are 0"),
        (_answers("0,263") + _counts(1, 1), 2, "a decimal comma: run ping with LC_ALL=C"),
        (_answers("nan") + _counts(1, 1), 2, "unexpected"),
        (_answers("-1") + _counts(1, 1), 2, "unexpected"),
        ("64 Bytes von ::1: icmp_seq=1 ttl=64 Zeit=0,05 ms\n", 1, "a decimal comma"),
        ("64 Bytes von ::1: icmp_seq=1 Zeit=5 ms\n1 Paket gesendet, 1 empfangen\n", 3, "LC_ALL=C"),
        ("\x7fELF\x02\n\x00\x01", 2, "NUL"),
        ("\n" * 2**21, 1, "too many"),
    ],
)
def test_ping_is_refused_with_the_line_when_the_text_is_damaged(text, line, message):
    with pytest.raises(ProbeError, match=message) as refused:
        ping.round_trips(text)
    assert refused.value.line == line


@pytest.mark.parametrize(
    ("name", "is_reverse"),
    [
        ("tcp-parallel", False),
        ("tcp-single-reverse", True),
        ("udp", False),
        ("udp-reverse", True),
    ],
)
def test_bytes_sent_are_those_of_the_end_that_sent(recorded, name, is_reverse):
    sent = network.bytes_of_test(recorded(f"network-{name}"))
    assert sent[is_reverse] > 100_000
    assert sent[not is_reverse] == 0


SENT = "=== sent\nbytes 123456\n=== end sent rc=0\n"


@pytest.mark.parametrize(("name", "at"), [("tcp-parallel", 0), ("tcp-single-reverse", 1)])
def test_bytes_of_the_device_count_before_those_of_iperf3(recorded, name, at):
    text = recorded(f"network-{name}")
    assert network.bytes_of_test(text + SENT)[at] == 123456
    assert network.bytes_of_test(text + SENT)[1 - at] == 0
    assert network.parse(text + SENT) == network.parse(text)
    # Without a device that counts, iperf3 does.
    assert network.bytes_of_test(text + SENT.replace("123456", "0")) == network.bytes_of_test(text)
    assert network.bytes_of_test(text + SENT.replace("123456", "many")) == (0, 0)


def test_bytes_of_a_test_that_was_ended_count_too(recorded):
    head, _, _ = recorded("network-tcp-parallel").partition("=== iperf3")
    text = f"{head}{SENT}=== failure unavailable: all is sent\n"
    assert network.bytes_of_test(text) == (123456, 0)
    with pytest.raises(ProbeError, match="not the conditions and one test"):
        network.parse(head + SENT)


def test_no_bytes_were_sent_when_no_test_was_done(recorded):
    text = recorded("network-tcp-parallel")
    assert network.bytes_of_test(text[: len(text) // 2]) == (0, 0)
    assert network.bytes_of_test(recorded("network-ping")) == (0, 0)
    assert network.bytes_of_test(recorded("network-tcp-refused")) == (0, 0)
