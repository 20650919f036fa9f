"""Results of iperf3: whose figure counts, and which tests are no results."""

import json

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import iperf3


def _received(**fields):
    """4 s at 1 Gbit/s: 4 × 10⁹ ÷ 8 = 500,000,000 bytes."""
    return {"seconds": 4.0, "bytes": 500_000_000, "bits_per_second": 1e9, **fields}


def _interval(size=125_000_000, **fields):
    return {"sum": {"seconds": 1.0, "bytes": size, "omitted": False, **fields}}


def _text(*, version="iperf 3.12", asked=None, intervals=None, end=None, **fields):
    started = {"protocol": "TCP", "num_streams": 1, "duration": 4, "reverse": 0, **(asked or {})}
    return json.dumps(
        {
            "start": {"version": version, "test_start": started},
            "intervals": [_interval()] * 4 if intervals is None else intervals,
            "end": {"sum_received": _received(), **(end or {})},
            **fields,
        }
    )


def _udp(**fields):
    received = _received(jitter_ms=0.25, lost_percent=1.5, packets=2000, lost_packets=30)
    asked = {"protocol": "UDP", "blksize": 1400}
    return _text(asked=asked, end={"sum_received": {**received, **fields}})


@pytest.mark.parametrize(
    ("name", "variant", "value", "flags"),
    [
        ("3.12-tcp", "tcp_single", 17493047416.89101, ()),
        ("3.12-tcp-4-streams", "tcp_parallel", 22752502688.4285, ()),
        ("3.12-tcp-reverse", "tcp_single_reverse", 21850647249.19256, ("cpu_bound",)),
        # Threads of 3.16 and later use more than one CPU.
        ("3.18-synthetic", "tcp_parallel", 22752502688.4285, ()),
    ],
)
def test_iperf3_gives_the_rate_of_the_receiver_when_recorded(recorded, name, variant, value, flags):
    text = recorded(f"iperf3-{name}")
    made = iperf3.parse_json(text, takes_loopback=True)
    (sample,) = made.samples
    assert (sample.metric, sample.variant) == ("net_tcp_bits_per_s", variant)
    assert sample.value == value == json.loads(text)["end"]["sum_received"]["bits_per_second"]
    assert (sample.unit, sample.flags) == ("bits/s", ("cached", *flags))
    assert made.version == f"iperf {name[:4]}"
    assert ["one machine" in warning for warning in made.warnings] == [True]


def test_iperf3_keeps_what_belongs_to_the_rate_when_recorded(recorded):
    (sample,) = iperf3.parse_json(recorded("iperf3-3.12-tcp"), takes_loopback=True).samples
    assert len(sample.parameters["intervals"]) == 4
    assert sample.parameters["intervals"][0] == pytest.approx(19675691918.54)
    assert sample.parameters["retransmits"] == 2
    assert sample.parameters["congestion"] == "bbr"
    assert sample.parameters["rtt_ns"] == 172_000
    assert sample.parameters["omitted_s"] == 1
    assert sample.parameters["seconds"] == 4
    assert (sample.parameters["peer"], sample.parameters["ip_version"]) == ("127.0.0.1", 4)


def test_iperf3_gives_both_directions_when_measured_at_once(recorded):
    made = iperf3.parse_json(recorded("iperf3-3.12-bidir"), takes_loopback=True)
    assert [(sample.variant, sample.value) for sample in made.samples] == [
        ("tcp_parallel_bidir", 9810864744.47914),
        ("tcp_parallel_bidir_reverse", 9733562045.92618),
    ]
    assert [sample.parameters["retransmits"] for sample in made.samples] == [2, 22]
    assert len(made.warnings) == 1  # that it never left its machine


@pytest.mark.parametrize(
    ("name", "jitter_ns", "loss_ratio", "rate"),
    [
        ("udp", 22141.0319067667, 0, 99955242.150629655),
        # 604 of 3,213 packets
        ("udp-loss", 589934.63123359335, 604 / 3214, 9711581.89095475),
    ],
)
def test_iperf3_counts_udp_at_the_receiver_when_recorded(
    recorded, name, jitter_ns, loss_ratio, rate
):
    jitter, loss = iperf3.parse_json(recorded(f"iperf3-3.12-{name}"), takes_loopback=True).samples
    assert (jitter.metric, loss.metric) == ("net_udp_jitter_ns", "net_udp_loss_ratio")
    assert (jitter.variant, loss.variant) == ("standard", "standard")
    assert (jitter.unit, loss.unit) == ("ns", "ratio")
    assert jitter.value == pytest.approx(jitter_ns)
    assert loss.value == pytest.approx(loss_ratio, rel=0.01)
    assert loss.parameters["bits_per_s"] == rate


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("refused", "unable to connect to server: Connection refused"),
        ("busy", "the server is busy running a test"),
        ("killed", "unable to write to stream socket: Connection reset by peer"),
        ("interrupted", "interrupt - the client has terminated"),
    ],
)
def test_iperf3_is_refused_in_its_own_words_when_the_test_failed(recorded, name, message):
    with pytest.raises(ProbeError, match=message) as refused:
        iperf3.parse_json(recorded(f"iperf3-3.12-{name}"), takes_loopback=True)
    assert refused.value.line == 1


def test_iperf3_reads_the_few_fields_of_an_old_version():
    made = iperf3.parse_json(f"iperf3: a note\n{_text(version='iperf 3.1.3')}")
    (sample,) = made.samples
    assert sample.value == 1e9
    assert sample.parameters["intervals"] == [1e9] * 4
    assert sample.parameters["cpu_percent"] == {}
    for key in ("retransmits", "congestion", "rtt_ns", "peer", "ip_version", "omitted_s"):
        assert sample.parameters[key] is None
    assert (made.version, made.warnings) == ("iperf 3.1.3", ("iperf3: a note",))


@pytest.mark.parametrize("version", ["iperf 3.0.11", "iperf 3.1.3", "iperf 3.7"])
def test_iperf3_of_old_versions_has_one_sum_for_udp(version):
    now = json.loads(_udp())
    now["start"]["version"] = version
    now["end"] = {"sum": now["end"]["sum_received"]}
    made = iperf3.parse_json(json.dumps(now))
    # 0.25 ms, and 30 of 2,000 packets.
    assert [sample.value for sample in made.samples] == [250_000, 0.015]


@pytest.mark.parametrize("limit", ["target_bitrate", "fqrate"])
def test_iperf3_rate_under_a_limit_is_a_bound(limit):
    made = iperf3.parse_json(_text(asked={limit: 1_000_000_000}))
    assert made.samples[0].flags == ("lower_bound",)
    assert f"{limit} held the test back" in made.warnings[0]
    assert iperf3.parse_json(_text(asked={limit: 0})).samples[0].flags == ()
    # Losses are those at the rate that was sent.
    udp = json.loads(_udp())
    udp["start"]["test_start"][limit] = 1_000_000_000
    assert {sample.flags for sample in iperf3.parse_json(json.dumps(udp)).samples} == {()}


def test_iperf3_reads_the_word_of_a_rate_that_its_server_prints_twice():
    text = _text(asked={"target_bitrate": 0})
    twice = text.replace('"target_bitrate": 0', '"target_bitrate": 0, "target_bitrate": 0')
    assert iperf3.parse_json(twice).samples == iperf3.parse_json(text).samples


def test_iperf3_says_whose_directions_are_those_of_its_server():
    of_server = json.loads(_text())
    of_server["start"]["accepted_connection"] = {"host": "192.0.2.1", "port": 40_000}
    made = iperf3.parse_json(json.dumps(of_server))
    assert made.warnings == ("this is the server's output: its directions are those of the client",)
    assert iperf3.parse_json(_text()).warnings == ()


def test_iperf3_leaves_the_first_seconds_out_when_they_were_omitted():
    slow = _interval(1, omitted=True)
    rest = _interval(10, seconds=0.005)
    made = iperf3.parse_json(_text(intervals=[slow, *[_interval()] * 4, rest]))
    assert made.samples[0].parameters["intervals"] == [1e9] * 4
    assert made.warnings == ()


def test_iperf3_warns_when_its_sum_is_not_that_of_the_intervals():
    # 4 × 121 MB in 4 s are 968 Mbit/s, 3.2 % less.
    made = iperf3.parse_json(_text(intervals=[_interval(121_000_000)] * 4))
    assert made.samples[0].value == 1e9
    assert made.warnings == ("the receiver's rate is 1e+09 bits/s, that of the intervals 9.68e+08",)


def test_iperf3_takes_the_sum_when_there_are_no_intervals():
    made = iperf3.parse_json(_text(intervals=[]))
    assert (made.samples[0].value, made.warnings) == (1e9, ())


@pytest.mark.parametrize(
    ("version", "host", "remote", "flags"),
    [
        ("iperf 3.15", 90.5, 10.0, ("cpu_bound",)),
        ("iperf 3.15", 10.0, 90.5, ("cpu_bound",)),
        ("iperf 3.15", 90.0, 90.0, ()),
        ("iperf 3.15", None, 90.5, ("cpu_bound",)),
        ("iperf 3.16", 99.0, 99.0, ()),
        ("iperf 3.17.1+", 150.0, 99.0, ()),
    ],
)
def test_iperf3_is_flagged_when_one_thread_was_the_limit(version, host, remote, flags):
    cpu = {"cpu_utilization_percent": {"host_total": host, "remote_total": remote}}
    (sample,) = iperf3.parse_json(_text(version=version, end=cpu)).samples
    assert sample.flags == flags


def test_iperf3_does_not_ask_for_a_duration_when_bytes_were_asked_for():
    asked = {"bytes": 500_000_000, "duration": 60, "reverse": 1}
    (sample,) = iperf3.parse_json(_text(asked=asked)).samples
    assert (sample.variant, sample.parameters["seconds"]) == ("tcp_single_reverse", None)


def test_iperf3_states_ipv6_when_the_peer_has_such_an_address():
    text = _text().replace(
        '"start": {', '"start": {"connected": [{"remote_host": "2001:db8::1"}],', 1
    )
    assert iperf3.parse_json(text).samples[0].parameters["ip_version"] == 6


@pytest.mark.parametrize("connected", ["[]", "[{}]"])
def test_iperf3_states_no_address_when_nothing_was_connected(connected):
    text = _text().replace('"start": {', f'"start": {{"connected": {connected},', 1)
    assert iperf3.parse_json(text).samples[0].parameters["ip_version"] is None


def test_iperf3_takes_the_median_round_trip_of_the_streams():
    streams = [{"sender": {"mean_rtt": rtt}} for rtt in (100, 300, 200)]
    end = {"streams": [*streams, {"sender": {}}, {"udp": {}}]}
    assert iperf3.parse_json(_text(end=end)).samples[0].parameters["rtt_ns"] == 200_000


@pytest.mark.parametrize("word", ["nan", "-nan", "NaN", "inf", "null"])
def test_iperf3_is_read_when_a_figure_that_does_not_matter_is_no_number(word):
    text = _text(end={"sum_sent": {"retransmits": 3, "jitter_ms": "?"}}).replace('"?"', word)
    assert iperf3.parse_json(text).samples[0].parameters["retransmits"] == 3


@pytest.mark.parametrize("word", ["nan", "-nan", "NaN", "Infinity", "null", "1e999", "-1"])
@pytest.mark.parametrize("key", ["jitter_ms", "lost_percent", "bits_per_second"])
def test_iperf3_is_refused_when_a_figure_that_matters_is_no_number(key, word):
    text = _udp(**{key: "?"}).replace('"?"', word)
    with pytest.raises(ProbeError, match=rf"end.sum_received: {key}"):
        iperf3.parse_json(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_text(error="who knows"), "who knows"),
        (_text(version="iperf 2.1.9"), "'iperf 2.1.9' is not iperf 3"),
        (_text(asked={"protocol": "SCTP"}), "protocol 'SCTP'"),
        (_text(asked={"num_streams": 0}), "num_streams"),
        (_text(asked={"duration": None}), "duration"),
        (_text(end={"sum_received": None}), "end: sum_received is missing"),
        (_text(end={"sum_received": _received(bytes=0)}), "bytes is 0: nothing arrived"),
        (_text(end={"sum_received": _received(seconds=3.7)}), "seconds is 3.7 of 4 asked"),
        (_text(end={"sum_received": _received(seconds=0)}), "seconds is 0"),
        (_text(intervals=[{}]), r"intervals\[0\]: sum is missing"),
        (_text(intervals=None, end={"sum_sent": {"retransmits": -1}}), "retransmits"),
        (_udp(lost_percent=100.5), "lost_percent is 100.5"),
        (_udp(packets=0), "packets"),
        (_udp(jitter_ms=0), "jitter_ms is 0"),
    ],
)
def test_iperf3_is_refused_naming_the_field_when_there_is_no_result(text, message):
    with pytest.raises(ProbeError, match=message) as refused:
        iperf3.parse_json(text)
    assert refused.value.line == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("iperf3: error - unable to connect\n", 1),
        ('{\n"start": 9,41\n}', 2),
        ('{"start": {}, "start": {}}', 1),
        ('{"event":"start"}\n{"event":"end"}\n', 2),
        ("[" * 200_000, 1),
    ],
)
def test_iperf3_is_refused_with_the_line_when_the_text_is_damaged(text, line):
    with pytest.raises(ProbeError) as refused:
        iperf3.parse_json(text)
    assert refused.value.line == line


def test_iperf3_is_refused_with_a_line_when_it_is_cut_off_anywhere(recorded):
    text = recorded("iperf3-3.12-tcp").rstrip()
    for end in range(0, len(text), 50):
        with pytest.raises(ProbeError) as refused:
            iperf3.parse_json(text[:end])
        assert refused.value.line
