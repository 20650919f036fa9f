"""YABS results: cells of their own, network of their own, and what is left out."""

import json

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import yabs


def _text(**fields):
    cell = {"bs": "4k", "iops_r": 100, "iops_w": 50, "speed_r": 400, "speed_w": 200}
    return json.dumps({"version": "v2022-08-17", "fio": [cell], **fields})


def _server(**fields):
    return {
        "mode": "IPv4",
        "provider": "P",
        "loc": "L",
        "send": "1 bits/sec",
        "recv": "busy ",
    } | fields


def test_yabs_gives_every_cell_and_direction_of_a_whole_output(recorded):
    made = yabs.parse(recorded("yabs-synthetic"))
    assert made.version == "v2024-06-09"
    assert [(sample.metric, sample.variant, sample.value) for sample in made.samples] == [
        ("disk_rand_read_iops", "yabs_4k", 25000),
        ("disk_rand_write_iops", "yabs_4k", 25100),
        ("disk_rand_read_iops", "yabs_64k", 10000),
        ("disk_rand_write_iops", "yabs_64k", 10100),
        ("disk_rand_read_iops", "yabs_512k", 2000),
        ("disk_rand_write_iops", "yabs_512k", 2100),
        ("disk_rand_read_iops", "yabs_1m", 1000),
        ("disk_rand_write_iops", "yabs_1m", 1050),
        ("net_tcp_bits_per_s", "yabs_send", 9.41e9),
        ("net_tcp_bits_per_s", "yabs_receive", 941e6),
        ("net_tcp_bits_per_s", "yabs_receive", 58.5e6),
    ]
    assert made.warnings == (
        "iperf Provider B, Paris, FR (10G): send was busy, left out",
        "Geekbench 6 (single 1200 and multi 4100) is not imported",
    )


def test_yabs_keeps_how_it_measured_when_all_is_there(recorded):
    samples = yabs.parse(recorded("yabs-synthetic")).samples
    disk, network = samples[0].parameters, samples[8].parameters
    assert (disk["depth"], disk["jobs"], disk["read_ratio"]) == (64, 2, 0.5)
    # 100,000 KiB/s are 25,000 × 4 KiB
    assert (disk["block_bytes"], disk["bytes_per_s"]) == (4096, 25_000 * 4096)
    assert disk["ram_bytes"] == 8_150_000 * 1024
    assert (disk["cpu_model"], disk["vcpu_count"]) == ("Example CPU 4-Core Processor", 4)
    assert disk["virtualization"] == "KVM"
    assert (network["location"], network["mode"]) == ("Provider A, London, UK (10G)", "IPv4")
    assert (network["streams"], network["rtt_ns"]) == (8, 12.5e6)
    assert samples[10].parameters["rtt_ns"] is None


def test_yabs_is_read_when_its_report_stands_before_the_json():
    made = yabs.parse(f"# ## Yet-Another-Bench-Script ## #\nfio: 4k | 64k\n\n{_text()}\n")
    assert [sample.value for sample in made.samples] == [100, 50]
    assert made.warnings == ()
    assert made.samples[0].parameters["yabs"] == "v2022-08-17"


def test_yabs_leaves_a_cell_out_when_nothing_was_counted():
    cell = {"bs": "1M", "iops_r": 0, "iops_w": 1, "speed_r": 0, "speed_w": 1024}
    made = yabs.parse(_text(fio=[cell]))
    assert [sample.variant for sample in made.samples] == ["yabs_1m"]
    assert made.warnings == ("fio 1m: no reads, left out",)


def test_yabs_is_read_when_only_the_network_was_measured():
    made = yabs.parse(_text(fio=None, iperf=[_server(latency="8.1 ms")]))
    assert [sample.value for sample in made.samples] == [1]
    assert made.samples[0].parameters["rtt_ns"] == pytest.approx(8.1e6)


@pytest.mark.parametrize(
    ("said", "bits_per_s"),
    [("250 Kbits/sec", 250e3), ("1.5 Mbits/sec", 1.5e6), ("2 Tbits/sec", 2e12)],
)
def test_yabs_reads_a_speed_in_its_unit(said, bits_per_s):
    made = yabs.parse(_text(fio=None, iperf=[_server(send=said)]))
    assert made.samples[0].value == bits_per_s


def test_yabs_leaves_a_direction_out_when_its_speed_is_zero():
    made = yabs.parse(_text(iperf=[_server(send="0.00 bits/sec")]))
    assert made.warnings == (
        "iperf P, L: send was busy, left out",
        "iperf P, L: recv was busy, left out",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_text(version=None), "version"),
        (_text(fio=None), "neither fio nor iperf has a result"),
        (_text(fio=[], iperf=[_server(send="busy")]), "neither fio nor iperf has a result"),
        (_text(fio="none"), "fio is missing, or no list"),
        (_text(fio=[{"bs": "4 KiB"}]), "bs '4 kib' is no block size"),
        (_text(fio=[{"bs": "4k", "iops_r": "41k"}]), r"fio\[0\]: iops_r"),
        (_text(fio=[{"bs": "4k", "iops_r": 1, "speed_r": -1}]), "speed_r"),
        (_text(iperf=[_server(send="9,41 Gbits/sec")]), "send is '9,41 Gbits/sec', not a speed"),
        (_text(iperf=[_server(send="1 Gbyte/sec")]), "not a speed"),
        (_text(iperf=[_server(send=None)]), "send"),
        (_text(iperf=[{}]), r"iperf\[0\]: provider"),
        (_text(cpu={"cores": 0}), "cores"),
        (_text(mem={"ram": "8 GB"}), "ram"),
        (_text(geekbench=[{"version": 6, "single": "x", "multi": 1}]), "single"),
    ],
)
def test_yabs_is_refused_naming_the_field_when_it_is_not_as_it_must_be(text, message):
    with pytest.raises(ProbeError, match=message) as refused:
        yabs.parse(text)
    assert refused.value.line == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("no JSON\nhere", 1),
        # What YABS writes when fio printed nothing.
        ('a\n{"version":"v2023-04-23","fio":[{"bs":"4k","speed_r":,"iops_r":}]}', 2),
        ('{"fio": 1, "fio": 2}', 1),
        ('{"version": NaN}', 1),
        ('{"version": "\0"}', 1),
    ],
)
def test_yabs_is_refused_with_the_line_when_the_text_is_damaged(text, line):
    with pytest.raises(ProbeError) as refused:
        yabs.parse(text)
    assert refused.value.line == line


def test_yabs_is_refused_when_it_is_cut_off_anywhere(recorded):
    text = recorded("yabs-synthetic").rstrip()
    for end in range(0, len(text), 50):
        with pytest.raises(ProbeError) as refused:
            yabs.parse(text[:end])
        assert refused.value.line == 1
