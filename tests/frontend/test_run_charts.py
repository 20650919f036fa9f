"""Charts of runs, evidence and history: what is drawn is what the table beside it says."""

import json
import math
import re

import pytest

from backend.benchmarks.models import Run, RunState
from backend.benchmarks.pages.runs import series_plots
from backend.benchmarks.pages.runs.disk_plots import disk_plots
from backend.benchmarks.pages.runs.plots import run_plots, run_strips
from backend.benchmarks.pages.runs.spreads import spreads
from backend.benchmarks.services.summaries import summaries_refresh
from backend.catalog.services.current_prices import prices_refresh
from backend.site import plots
from backend.site.figures import figure
from backend.site.plots import Axis, Mark, Plot, PlotRow
from tests import factories
from tests.frontend import engine_rows
from tests.frontend.spacing import shown

pytestmark = pytest.mark.django_db


@pytest.fixture
def full() -> Run:
    return engine_rows.full_run(factories.host(name="rack"))


def text_of(client, path) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return shown(answer)


def documents(text: str) -> dict[str, dict]:
    """The chart data that a page carries, by the id of its canvas."""
    found = re.findall(r'<script id="plot-[^"]*" type="application/json">(.*?)</script>', text)
    return {one["id"]: one for one in map(json.loads, found)}


def table_of(text: str, plot_id: str) -> list[list[str]]:
    """Cells of the table under a chart, without those that the script does not draw."""
    part = (
        text.split(f'id="{plot_id}-details"')[1]
        .split("</table>", maxsplit=1)[0]
        .split("<tbody>")[1]
    )
    rows = re.findall(r"<tr>(.*?)</tr>", part, re.DOTALL)
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]


def test_every_chart_has_a_table_with_the_values_that_are_drawn(client, full):
    text = text_of(client, f"/runs/{full.pk}/")
    drawn = documents(text)
    assert set(drawn) == {
        *("plot-depth-read", "plot-depth-write", "plot-percentiles", "plot-disk-time"),
        *("plot-sustained", "plot-network", "plot-network-time"),
    }
    for plot_id, document in drawn.items():
        columns = []
        for mark in document["marks"]:
            columns += [c for c in (mark["values"], mark["lows"], mark["highs"]) if c is not None]
        expected = [[figure(column[n]) for column in columns] for n in range(len(columns[0]))]
        rows = table_of(text, plot_id)
        assert [row[: len(columns)] for row in rows[: len(expected)]] == expected, plot_id


def test_every_chart_has_a_role_a_label_and_a_description(client, full):
    text = text_of(client, f"/runs/{full.pk}/")
    canvases = re.findall(r"<canvas ([^>]*)>", text)
    assert len(canvases) > len(documents(text)) > 0
    for attributes in canvases:
        assert 'role="img"' in attributes
        described = re.search(r'aria-describedby="([^"]+)"', attributes)
        assert described is not None
        assert f'id="{described[1]}"' in text
        assert len(re.search(r'aria-label="([^"]*)"', attributes)[1]) > 30


def test_depth_chart_groups_the_matrix_by_jobs_with_its_latency(full):
    read = next(p for p in run_plots(full.samples.all(), []) if p.id == "plot-depth-read")
    assert read.x == ["1", "2", "4", "8", "16", "32", "64"]
    assert [(mark.label, mark.kind, mark.axis) for mark in read.marks] == [
        ("1 job", "bar", "y"),
        ("4 jobs", "bar", "y"),
        ("p99, 1 job", "dots", "y2"),
        ("p99, 4 jobs", "dots", "y2"),
    ]
    one_job = full.samples.get(metric="disk_rand_read_iops", variant="matrix_4k_qd32_jobs1")
    assert read.marks[0].values[5] == pytest.approx(one_job.value)
    assert "at depth 64 with 4 jobs" in read.summary


def test_depth_chart_takes_the_single_tests_where_there_is_no_matrix():
    run = factories.run(factories.host())
    for depth, iops in ((1, 100.0), (32, 900.0)):
        engine_rows.fio(run, f"fio_4k_qd{depth}", "read", iops, 1e6)
    engine_rows.fio(run, "fio_4k_qd32_mixed70", "read", 5.0, 1e6)
    read = disk_plots(spreads(run.samples.all()), [])[0]
    assert read is not None
    assert read.x == ["1", "32"]
    assert list(read.marks[0].values) == pytest.approx([100.0, 900.0])
    assert read.marks[0].lows == pytest.approx([97.0, 873.0])
    assert read.marks[0].highs == pytest.approx([102.0, 918.0])


def test_depth_chart_is_left_out_for_a_single_depth():
    run = factories.run(factories.host())
    engine_rows.fio(run, "fio_4k_qd32", "read", 900.0, 1e6)
    assert disk_plots(spreads(run.samples.all()), [])[0] is None


def test_percentiles_are_the_median_over_repeats_on_a_logarithmic_axis():
    run = factories.run(factories.host())
    for repeat, p99 in enumerate((1e6, 3e6, 2e6)):
        factories.sample(
            run.offer,
            100.0,
            metric="disk_rand_read_iops",
            variant="fio_4k_qd1",
            run=run,
            repeat=repeat,
            parameters={"percentiles_ns": {"50": 5e5, "99": p99}},
        )
    (chart,) = [p for p in run_plots(run.samples.all(), []) if p.id == "plot-percentiles"]
    assert chart.y == Axis("ms", is_log=True)
    assert list(chart.x) == ["50", "99"]
    assert list(chart.marks[0].values) == pytest.approx([0.5, 2.0])


def test_excluded_samples_are_not_drawn(full):
    full.samples.filter(metric="net_tcp_bits_per_s").update(excluded_reason="wrong cable")
    assert not any(p.id.startswith("plot-network") for p in run_plots(full.samples.all(), []))


def test_network_table_holds_retransmits_jitter_loss_and_round_trip(client, full):
    rows = table_of(text_of(client, f"/runs/{full.pk}/"), "plot-network")
    assert rows[0][:4] == ["9.41", "9.316", "9.448", "17"]
    assert rows[4][-3:] == ["14.75 µs", "0.01%", ""]
    assert rows[6][-3:] == ["", "0%", "182 µs"]


def test_sustained_chart_shows_the_windows_and_the_drop(full):
    (chart,) = [p for p in run_plots(full.samples.all(), []) if p.id == "plot-sustained"]
    assert list(chart.x)[:2] == [15.0, 30.0]
    assert len(chart.x) == 40
    assert [label for _, label in chart.lines] == ["first window", "at the end"]
    assert "10.1%" in chart.note


def test_run_without_data_for_charts_has_none(client):
    run = factories.run(factories.host(), state=RunState.DONE)
    text = text_of(client, f"/runs/{run.pk}/")
    assert not documents(text)
    assert "<canvas" not in text
    assert "Nothing was measured." in text


def test_strips_show_the_ranking_variants_that_were_repeated(full):
    strips = run_strips(full.samples.all(), "own")
    assert {s["id"] for s in strips} >= {"strip-cmips_score-all", "strip-cmips_single_score-single"}
    assert not any("matrix" in s["id"] for s in strips)
    score = next(s for s in strips if s["id"] == "strip-cmips_score-all")
    assert [p["x"] for p in score["points"]] == [41480.0, 41390.0, 41510.0, 41450.0, 41470.0]


def test_figures_gather_the_repeats_and_lead_to_each_raw_output(client, full):
    text = text_of(client, f"/runs/{full.pk}/")
    figures_part = text.split('id="matrix"')[0]
    assert 'title="41470 CMIPS">41,470<' in figures_part
    for n in range(5):
        assert f'href="/runs/{full.pk}/evidence/{n}/" aria-label="raw output {n}"' in figures_part
    assert "matrix_4k" not in figures_part
    assert "56 figures of the fio matrix" in text
    assert f'href="/api/v1/runs/{full.pk}/archive"' in text


def test_run_and_offer_page_state_the_scaling_efficiency(client, full):
    prices_refresh()
    summaries_refresh()
    for page in (f"/runs/{full.pk}/", f"/offers/{full.offer.slug}/"):
        # 41,470 of 64 × 1,012
        assert "Multi-thread scaling: 64% of linear (the score of all 64 threads" in text_of(
            client, page
        )


def test_scaling_efficiency_is_missing_without_a_single_score(client, full):
    full.samples.filter(metric="cmips_single_score").delete()
    assert "Multi-thread scaling" not in text_of(client, f"/runs/{full.pk}/")


@pytest.mark.parametrize("parameters", [{}, {"threads": 1}])
def test_scaling_efficiency_needs_the_number_of_threads(client, full, parameters):
    full.samples.filter(metric="cmips_score").update(parameters=parameters)
    assert "Multi-thread scaling" not in text_of(client, f"/runs/{full.pk}/")


def test_what_the_host_does_not_allow_is_a_quiet_note(client, full):
    text = text_of(client, f"/runs/{full.pk}/")
    assert "Not available on this host: fio" in text
    assert "<li>fio: not available: fio 2.1 is too old, 3.0 or newer is needed</li>" in text
    assert "not available here" in text
    assert '<p class="notice warn">One DIMM in a socket' in text


# --- evidence -------------------------------------------------------------------------------------


def test_evidence_page_draws_what_was_observed(client, full):
    piece = full.evidence.filter(series__isnull=False).first()
    text = text_of(client, f"/runs/{full.pk}/evidence/{piece.n}/")
    drawn = documents(text)
    cpu = drawn["plot-cpu"]
    assert [mark["label"] for mark in cpu["marks"]] == [
        "CPU busy",
        "steal",
        "waiting for disks",
        "clock",
    ]
    assert cpu["marks"][0]["values"][0] == pytest.approx(95)
    assert cpu["y2"]["label"] == "MHz"
    rows = table_of(text, "plot-cpu")
    assert len(rows) == 40
    assert rows[0] == [figure(mark["values"][0]) for mark in cpu["marks"]]
    assert drawn["plot-throughput"]["marks"][-1]["values"][0] is None


@pytest.mark.parametrize("series", [None, {}, {"t_s": [1.0], "cpu_ratio": [0.5]}])
def test_evidence_without_a_series_has_no_chart(series):
    assert series_plots.series_plots(series) == []
    assert series_plots.live_strips(series) == []


def test_long_series_are_averaged_and_gaps_stay(full):
    seconds = 3600
    seen = {
        "t_s": [float(n) for n in range(seconds)],
        "cpu_ratio": [None if n < 30 else 0.5 for n in range(seconds)],
    }
    (cpu,) = series_plots.series_plots(seen)
    assert len(cpu.x) == plots.MOST_POINTS
    assert cpu.marks[0].values[0] is None
    assert cpu.marks[0].values[-1] == pytest.approx(50)


# --- the run that goes on -------------------------------------------------------------------------


def test_live_run_shows_strips_cost_and_time_left(client):
    host = factories.host()
    factories.price(host.offer, "36", unit="hour")  # a cent a second
    run = engine_rows.going_run(host)
    text = text_of(client, f"/runs/{run.pk}/progress/")
    assert re.search(r"34 s elapsed · about 46 s left · cost so far \$0\.34\b", text)
    assert text.count('class="trace tone-') == 7
    assert 'aria-label="CPU: CPU busy ' in text
    assert "disk write <strong>1.347 GB/s</strong>" in text
    assert "2,499 MHz" in text
    assert len(table_of(text.replace("live-data", "plot-x-details"), "plot-x")) == 60
    assert "1073741824 bytes" in text
    assert "<canvas" not in text


def test_live_path_leaves_a_gap_for_what_is_unknown():
    drawn = series_plots.path([0.0, 1.0, 2.0, 3.0], [1.0, None, 0.5, 0.0], 1.0)
    assert drawn == "M0.0 1.0 M400.0 32.0 L600.0 63.0"


def test_cancelled_run_says_that_its_samples_are_partial(client):
    run = engine_rows.going_run(factories.host())
    Run.objects.filter(pk=run.pk).update(state=RunState.CANCELLED)
    text = text_of(client, f"/runs/{run.pk}/")
    assert "The 2 figures measured before that are kept" in text
    assert '<span class="mark warn">partial</span>' in text
    assert "hx-trigger" not in text


# --- history --------------------------------------------------------------------------------------


def test_history_marks_the_run_that_left_its_band(client):
    host = factories.host(name="rack")
    runs = engine_rows.earlier_runs(host)
    text = text_of(client, f"/hosts/{host.pk}/")
    chart = documents(text)["plot-history"]
    line, outside = chart["marks"]
    assert line["values"][0] == pytest.approx(41_412)
    assert line["lows"][:5] == [None] * 5
    assert line["lows"][5] < line["values"][5] < line["highs"][5]
    assert [n for n, value in enumerate(outside["values"]) if value is not None] == [8]
    rows = table_of(text, "plot-history")
    assert rows[8][0] == figure(line["values"][8])
    assert rows[8][1:3] == [figure(line["lows"][8]), figure(line["highs"][8])]
    assert f'<a href="/runs/{runs[8].pk}/">2026-10-31 12:00</a>' in text
    assert math.isclose(chart["x"]["values"][1] - chart["x"]["values"][0], 86_400_000)


def test_history_of_an_offer_is_chosen_by_the_address(client, django_assert_max_num_queries):
    host = factories.host(name="rack")
    for run in engine_rows.earlier_runs(host, count=3):
        engine_rows.figures(run, "cmips_single_score", "single", "CMIPS", [1000.0])
    prices_refresh()
    summaries_refresh()
    with django_assert_max_num_queries(15):
        text = text_of(client, f"/offers/{host.offer.slug}/?history=cmips_single_score")
    assert (
        documents(text)["plot-history"]["title"] == "CPU, one thread (CMIPS-compatible) over time"
    )
    assert 'href="?history=cmips_score#history"' in text


def test_history_needs_two_runs(client):
    host = factories.host()
    engine_rows.earlier_runs(host, count=1)
    assert "plot-history" not in text_of(client, f"/hosts/{host.pk}/")


# --- the form of the data -------------------------------------------------------------------------


def test_plot_table_adds_columns_and_rows_that_are_not_drawn():
    plot = Plot(
        id="p",
        title="t",
        x_label="x",
        x_kind="category",
        x=["a", "b"],
        y=Axis("MB/s"),
        marks=[Mark("disk", [1.0, None], kind="bar", lows=[0.5, None], highs=[2.0, None])],
        summary="",
        extra={"note": ["one", ""]},
        more_rows=[PlotRow("c", None, ["", "", "", "two"])],
    )
    assert plot.heads == ["disk, MB/s", "disk, lowest", "disk, highest", "note"]
    assert [(row.head, list(row.cells)) for row in plot.rows] == [
        ("a", ["1", "0.5", "2", "one"]),
        ("b", ["", "", "", ""]),
        ("c", ["", "", "", "two"]),
    ]
    assert plot.document["marks"][0]["tone"] == 0
