"""Charts of runs from samples made by hand: no database, every value worked out beside it."""

from types import SimpleNamespace
from typing import Any

import pytest

from backend.benchmarks.pages.runs import series_plots
from backend.benchmarks.pages.runs.disk_plots import SEQUENTIAL, disk_plots
from backend.benchmarks.pages.runs.network_plots import TCP, network_plots
from backend.benchmarks.pages.runs.plots import run_plots, run_strips
from backend.benchmarks.pages.runs.spreads import spreads
from backend.site.plots import MOST_POINTS, Axis


def sample(metric: str, variant: str, value: float, repeat: int = 0, **given: Any):
    return SimpleNamespace(
        **{
            "metric": metric,
            "variant": variant,
            "value": value,
            "repeat": repeat,
            "flags": [],
            "excluded_reason": "",
            "parameters": {},
            "unit": "",
            "source": "measured",
            "run_id": None,
            **given,
        }
    )


# --- once a second --------------------------------------------------------------------------------

SERIES = {
    "t_s": [0, 1, 2],
    "cpu_ratio": [0.5, None, 1.0],
    "steal_ratio": [None, None, None],
    "iowait_ratio": [0.0, 0.25, 0.0],
    "disk_read_bytes_per_s": [0, 2_000_000, 1_000_000],
    "net_send_bytes_per_s": [0, 0, 0],
    "mhz": [2400, 2500, None],
}


def test_seconds_are_drawn_in_percent_and_in_the_unit_of_the_peak():
    cpu, throughput = series_plots.series_plots(SERIES)
    assert [(mark.label, mark.values, mark.axis) for mark in cpu.marks] == [
        ("CPU busy", [50.0, None, 100.0], "y"),
        ("waiting for disks", [0.0, 25.0, 0.0], "y"),
        ("clock", [2400, 2500, None], "y2"),
    ]
    assert cpu.y == Axis("%", most=100)
    assert "CPU busy up to 100%" in cpu.summary
    assert [(mark.label, mark.values) for mark in throughput.marks] == [
        ("disk read", [0.0, 2.0, 1.0])
    ]
    assert throughput.y == Axis("MB/s")
    assert throughput.summary.endswith("disk read up to 2 MB/s.")


@pytest.mark.parametrize(
    ("series", "ids"),
    [
        (None, []),
        ({"t_s": [0], "cpu_ratio": [1.0]}, []),
        ({"t_s": [0, 1], "cpu_ratio": [None, None]}, []),
        ({"t_s": [0, 1], "disk_read_bytes_per_s": [0, 0]}, []),
        ({"t_s": [0, 1], "mhz": [1, 2]}, []),
        ({"t_s": [0, 1], "steal_ratio": [0.1, 0.2]}, ["plot-cpu"]),
        ({"t_s": [0, 1], "net_receive_bytes_per_s": [0, 5]}, ["plot-throughput"]),
    ],
)
def test_chart_is_left_out_where_too_little_was_seen(series, ids):
    assert [plot.id for plot in series_plots.series_plots(series)] == ids


def test_long_repeat_is_averaged_to_what_a_screen_shows():
    series = {"t_s": list(range(480)), "cpu_ratio": [0.0, 1.0] * 240}
    (cpu,) = series_plots.series_plots(series)
    assert len(cpu.x) == MOST_POINTS
    assert set(cpu.marks[0].values) == {50.0}


def test_strips_show_the_newest_values_and_the_largest_as_their_top():
    cpu, throughput = series_plots.live_strips(SERIES)
    assert cpu.top == "100%"
    assert cpu.summary == "CPU: CPU busy 100%, waiting for disks 0%"
    assert throughput.top == "2 MB/s"
    assert throughput.summary == "Throughput: disk read 1 MB/s, network out 0"
    assert series_plots.live_strips({"t_s": [1]}) == []


@pytest.mark.parametrize(
    ("series", "words"),
    [({"mhz": [2400, 2500.4]}, "2,500 MHz"), ({"mhz": [2400, None]}, ""), ({}, ""), (None, "")],
)
def test_clock_is_the_newest_that_is_known(series, words):
    assert series_plots.live_clock(series) == words


def test_rows_of_the_strips_are_newest_first_with_unknown_ones_empty():
    rows = series_plots.live_rows(SERIES)
    assert [row[0] for row in rows] == ["2", "1", "0"]
    assert dict(zip(series_plots.LIVE_HEADS, rows[1], strict=True)) == {
        "s": "1", "CPU busy, %": "", "steal, %": "", "waiting for disks, %": "25",
        "disk read, MB/s": "2", "disk write, MB/s": "", "network in, MB/s": "",
        "network out, MB/s": "0",
    }  # fmt: skip


def test_path_spans_the_box_and_breaks_at_gaps():
    # 600 wide and 64 high with a pixel of margin: 0 is at 63, the top at 1.
    assert (
        series_plots.path([10, 11, 12], [0.0, 1.0, 0.5], 1.0) == "M0.0 63.0 L300.0 1.0 L600.0 32.0"
    )
    assert series_plots.path([0, 1, 2, 3], [1.0, None, 2.0, -1.0], 1.0) == (
        "M0.0 1.0 M400.0 1.0 L600.0 63.0"
    )
    assert series_plots.path([5], [1.0], 2.0) == "M0.0 32.0"


# --- disks ----------------------------------------------------------------------------------------


def fio(variant: str, iops: float, p99_ns: float, direction: str = "read", **given: Any):
    return [
        sample(f"disk_rand_{direction}_iops", variant, iops, **given),
        sample(f"disk_rand_{direction}_p99_ns", variant, p99_ns, **given),
    ]


def plots_of(*samples, evidence=()):
    return {plot.id: plot for plot in run_plots(samples, evidence)}


def test_matrix_stands_before_single_tests_and_is_grouped_by_jobs():
    samples = [
        *fio("fio_4k_qd1", 1.0, 9e6),
        *fio("fio_4k_qd32", 1.0, 9e6),
        *fio("matrix_4k_qd2_jobs1", 100.0, 1e6),
        *fio("matrix_4k_qd16_jobs1", 700.0, 2e6),
        *fio("matrix_4k_qd16_jobs4", 900.0, 4e6),
    ]
    plot = plots_of(*samples)["plot-depth-read"]
    assert list(plot.x) == ["2", "16"]
    assert {mark.label: list(mark.values) for mark in plot.marks} == {
        "1 job": [100.0, 700.0],
        "4 jobs": [None, 900.0],
        "p99, 1 job": [1.0, 2.0],
        "p99, 4 jobs": [None, 4.0],
    }
    assert plot.y2 == Axis("p99 latency, ms", is_log=True)
    assert "Most, 900 IOPS, at depth 16 with 4 jobs." in plot.summary
    assert "plot-depth-write" not in plots_of(*samples)


def test_disturbed_repeat_of_a_depth_does_not_count_beside_a_clean_one():
    clean = [*fio("fio_4k_qd1", 100.0, 1e6), *fio("fio_4k_qd32", 500.0, 1e6)]
    disturbed = fio("fio_4k_qd32", 50.0, 1e6, repeat=1, flags=["disturbed"])
    left_out = fio("fio_4k_qd32", 900.0, 1e6, repeat=2, excluded_reason="wrong disk")
    (mark, _) = plots_of(*clean, *disturbed, *left_out)["plot-depth-read"].marks
    assert list(mark.values) == [100.0, 500.0]
    assert mark.lows is None


def test_percentiles_are_those_of_the_lowest_32_and_highest_depth():
    def at(depth: int, p50: float, jobs: int = 1):
        given = {"percentiles_ns": {"50": p50, "99.9": 10 * p50, "90": 0}}
        return sample(
            "disk_rand_read_iops", f"matrix_4k_qd{depth}_jobs{jobs}", 1.0, parameters=given
        )

    samples = [at(1, 1e5), at(8, 2e5), at(32, 4e5), at(64, 8e5), at(64, 9e9, jobs=4)]
    plot = plots_of(*samples)["plot-percentiles"]
    assert list(plot.x) == ["50", "99.9"]
    assert {mark.label: list(mark.values) for mark in plot.marks} == {
        "read, depth 1": pytest.approx([0.1, 1.0]),
        "read, depth 32": pytest.approx([0.4, 4.0]),
        "read, depth 64": pytest.approx([0.8, 8.0]),
    }
    assert "Highest at 99.9: read, depth 64 with 8 ms." in plot.summary


def test_disk_over_time_is_the_first_repeat_of_each_sequential_test():
    def piece(variant: str, *values, column="disk_read_bytes_per_s"):
        return SimpleNamespace(
            probe="disk_fio",
            variant=variant,
            series={"t_s": list(range(len(values))), column: list(values)},
        )

    (probe, variant), (label, column) = next(iter(SEQUENTIAL.items()))
    first, second = (piece(variant, *v, column=column) for v in ((1e6, 3e6), (9e6, 9e6)))
    first.probe = second.probe = probe
    other = piece("no such test", 5e6, 5e6)
    plot = plots_of(evidence=[first, second, other])["plot-disk-time"]
    assert [(mark.label, list(mark.values)) for mark in plot.marks] == [(label, [1.0, 3.0])]
    assert plot.y == Axis("MB/s")
    single = piece(variant, 1e6, column=column)
    single.probe = probe
    assert plots_of(evidence=[single]) == {}


def test_nothing_measured_is_no_chart():
    assert run_plots([], []) == []
    assert disk_plots({}, []) == [None] * 4
    assert network_plots({}) == [None, None]


# --- network --------------------------------------------------------------------------------------


def tcp(variant: str, bits: float, **parameters: Any):
    return sample("net_tcp_bits_per_s", variant, bits, parameters=parameters)


def test_network_bars_are_medians_with_retransmits_beside_them():
    variant = next(iter(TCP))
    samples = [
        sample("net_tcp_bits_per_s", variant, bits, repeat=n, parameters={"retransmits": lost})
        for n, (bits, lost) in enumerate([(9e9, 4), (9.5e9, 10), (8e9, None)])
    ]
    plot = plots_of(*samples)["plot-network"]
    (mark,) = plot.marks
    assert (mark.values, mark.lows, mark.highs) == ([9.0], [8.0], [9.5])
    assert plot.y == Axis("Gbit/s")
    assert plot.extra["retransmits"] == ["7"]


def test_what_udp_and_ping_say_is_in_the_last_columns_of_the_table():
    plot = plots_of(
        tcp(next(iter(TCP)), 1e9),
        sample("net_udp_jitter_ns", "standard", 15_000.0),
        sample("net_udp_loss_ratio", "reverse", 0.00123),
        sample("net_rtt_ns", "standard", 182_000.0, parameters={"loss_ratio": 0.5}),
    )["plot-network"]
    rows = {row.head: row.cells[-3:] for row in plot.rows[1:]}
    assert rows == {
        "UDP, to peer": ["15 µs", "", ""],
        "UDP, from peer": ["", "0.12%", ""],
        "Ping": ["", "50%", "182 µs"],
    }
    assert {len(row.cells) for row in plot.rows} == {len(plot.heads)}


def test_network_over_time_counts_seconds_from_the_first_on():
    plot = plots_of(tcp(next(iter(TCP)), 2e9, intervals=[1e9, None, 3e9]))["plot-network-time"]
    assert list(plot.x) == [1.0, 2.0, 3.0]
    assert list(plot.marks[0].values) == [1.0, None, 3.0]
    assert plot.y == Axis("Gbit/s")


# --- the CPU --------------------------------------------------------------------------------------


def test_lasting_load_has_its_windows_and_the_drop_to_the_end():
    given = {"windows": [1000, 800, 900], "window_s": 15, "last": 850}
    plot = plots_of(sample("cmips_sustained_ratio", "all", 0.85, parameters=given))[
        "plot-sustained"
    ]
    assert list(plot.x) == [15.0, 30.0, 45.0]
    assert plot.lines == [(1000.0, "first window"), (850.0, "at the end")]
    assert plot.note.startswith("Drop from the first window to the end: 15%.")
    assert "lowest 800" in plot.summary
    without = sample("cmips_sustained_ratio", "all", 1.0, parameters={"windows": [1000]})
    assert plots_of(without) == {}


def test_strip_shows_every_repeat_and_the_median_of_those_that_count():
    values = [(1000.0, []), (1020.0, []), (500.0, ["disturbed"])]
    samples = [
        sample("cmips_score", "all", value, repeat=n, flags=flags)
        for n, (value, flags) in enumerate(values)
    ]
    left_out = sample("cmips_score", "all", 1.0, repeat=3, excluded_reason="typo")
    lone = sample("cmips_single_score", "single", 9.0)
    no_rank = [sample("cmips_score", "half", 1.0), sample("cmips_score", "half", 2.0, repeat=1)]
    (strip,) = run_strips([*samples, left_out, lone, *no_rank], "own")
    assert strip["median"] == 1010.0
    assert [(p["x"], p["isDisturbed"]) for p in strip["points"]] == [
        (1000.0, False), (1020.0, False), (500.0, True),
    ]  # fmt: skip
    assert [p["label"] for p in strip["points"]] == ["repeat 1", "repeat 2", "repeat 3"]
    assert "3 repeats, median 1,010 CMIPS" in strip["summary"]


def test_parameters_are_those_of_the_repeat_nearest_to_the_median():
    samples = [
        sample("net_tcp_bits_per_s", "x", value, repeat=n, parameters={"n": n})
        for n, value in enumerate([1.0, 5.0, 9.0])
    ]
    assert spreads(samples)["net_tcp_bits_per_s", "x"].parameters == {"n": 1}
