"""Recorded demand: CSV line by line, exports of monitoring systems, gaps."""

import datetime as dt
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InvalidValue
from backend.scenarios.calc import traces
from backend.scenarios.calc.documents import scenario_from
from backend.scenarios.calc.recorded import steps_of, with_recorded_demand
from backend.scenarios.calc.simulate import simulate
from backend.scenarios.calc.steps import Steps
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.calc.trace_files import import_trace
from backend.scenarios.calc.traces import DemandTrace, Gap
from tests.pure.scenarios.documents import Document, all_of, price, startup

START = 1_767_225_600  # the first of January 2026


def pairs(trace: DemandTrace) -> list[tuple[int, float]]:
    return list(zip((trace.at_s - START).tolist(), trace.values.tolist(), strict=True))


def fault(text: str, **given: str) -> tuple[str, str]:
    with pytest.raises(InvalidValue) as error:
        import_trace(text.splitlines(keepends=True), **given)
    return error.value.field, error.value.detail


def cloudwatch(**given: Any) -> str:
    """As `aws cloudwatch get-metric-data` answers."""
    one = {
        "Id": "m1",
        "Label": "RequestCount",
        "Timestamps": ["2026-01-01T00:02:00+00:00", "2026-01-01T00:01:00Z"],
        "Values": [20.0, 10.5],
        "StatusCode": "Complete",
    }
    return json.dumps({"MetricDataResults": [one | given], "Messages": []}, indent=4)


def prometheus(*values: list[Any], **given: Any) -> str:
    """As `/api/v1/query_range` answers."""
    metric = {"__name__": "requests", "job": "web"}
    result = [{"metric": metric, "values": list(values)}]
    return json.dumps(
        {"status": "success", "data": {"resultType": "matrix", "result": result} | given}
    )


# --- CSV ----------------------------------------------------------------------------------------


def test_csv_has_iso_times_or_seconds_and_perhaps_a_header() -> None:
    text = f"\ufefftime,requests/s\n2026-01-01T01:00:00+01:00,3\n\n{START + 60}, 4.5 \n"
    found = import_trace(text.splitlines(keepends=True))
    assert (pairs(found), found.unit) == ([(0, 3), (60, 4.5)], "requests/s")
    bare = import_trace([f"\ufeff{START},3\n"])
    assert (pairs(bare), bare.unit) == ([(0, 3)], "")
    leading = import_trace(["\n", "  \n", f"{START},1\n"])
    assert pairs(leading) == [(0, 1)]


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("", "at least one point"),
        (f"{START},1\n{START},2\n", "line 2: is not later"),
        (f"{START + 1},1\n{START},2\n", "line 2: is not later"),
        (f"{START},nan\n{START + 1},1\n", "line 1: 'nan'"),
        (f"time,v\n{START},inf\n", "line 2: 'inf'"),
        (f"{START},1\n{START + 1},-1\n", "line 2: '-1'"),
        (f"{START},1\n{START + 1},1_0\n", "line 2: '1_0'"),
        (f"{START},1\n{START + 1},1e13\n", "line 2: '1e13'"),
        (f"{START},1\n{START + 1},1x\n", "line 2: '1x'"),
        (f"{START},1\n{START + 1}\n", "line 2: 1 columns"),
        (f"{START},1\n2026-01-01T00:01:00,1\n", "line 2: '2026-01-01T00:01:00'"),
        # a time that summer time skips exists in no zone, so none is guessed
        (f"{START},1\n2026-03-29T01:30:00,1\n", "line 2: '2026-03-29T01:30:00'"),
        (f"{START},1\n{START}000,1\n", "line 2:"),
        (f"{START},1\n9999999999,1\n", "line 2:"),
        (f'{START},1\n"{"x" * 200_000}",1\n', "field larger than"),
    ],
)
def test_csv_is_refused_with_its_line(text: str, detail: str) -> None:
    field, told = fault(text)
    assert field == "csv"
    assert detail in told


def test_csv_of_many_rows_is_read_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(count: int) -> Iterator[str]:
        return (f"{START + n},{n % 100}\n" for n in range(count))

    tracemalloc.start()
    found = import_trace(rows(200_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.at_s.size == 200_000
    # 16 bytes a point in the end; the text alone has three megabytes, objects would have 30
    assert peak < 200_000 * 60
    monkeypatch.setattr(traces, "MOST_POINTS", 10)
    assert "point 11" in fault("".join(rows(11)))[1]


# --- CloudWatch, Prometheus ---------------------------------------------------------------------


def test_metric_data_comes_newest_first_and_is_put_in_order() -> None:
    found = import_trace(cloudwatch().splitlines(keepends=True))
    assert (pairs(found), found.unit) == ([(60, 10.5), (120, 20)], "RequestCount")


def test_statistics_come_in_any_order() -> None:
    points = [
        {"Timestamp": "2026-01-01T00:02:00Z", "Sum": 120.0, "Unit": "Count"},
        {"Timestamp": "2026-01-01T00:01:00Z", "Sum": 60.0, "Unit": "Count"},
    ]
    text = json.dumps({"Label": "RequestCount", "Datapoints": points})
    found = import_trace([text])
    assert (pairs(found), found.unit) == ([(60, 60), (120, 120)], "Count")
    both = json.dumps({"Datapoints": [point | {"Average": 1.0} for point in points]})
    assert fault(both) == ("/Datapoints", "choose one statistic of Average, Sum")
    assert pairs(import_trace([both], statistic="Average")) == [(60, 1), (120, 1)]


def test_range_query_is_seen_from_the_next_whole_second_on() -> None:
    text = prometheus([START + 0.25, "1"], [START + 0.75, "2"], [START + 60, "3.5"])
    found = import_trace([text])
    assert pairs(found) == [(1, 2), (60, 3.5)]
    assert found.unit == 'requests{job="web"}'


def test_series_is_chosen_by_its_name() -> None:
    two = json.loads(prometheus([START, "1"]))
    two["data"]["result"].append({"metric": {"__name__": "up"}, "values": [[START, "7"]]})
    text = json.dumps(two)
    field, detail = fault(text)
    assert field == "/data/result"
    assert detail == 'choose one of its 2 series: requests{job="web"}, up'
    assert pairs(import_trace([text], series="up")) == [(0, 7)]


@pytest.mark.parametrize(
    ("text", "field", "detail"),
    [
        ("{", "", "no JSON"),
        ("[1]", "", "neither"),
        ("{}", "", "neither"),
        (cloudwatch(Values=[1]), "/MetricDataResults/0", "as many"),
        (cloudwatch(Values=[1, -1]), "/MetricDataResults/0/Values/1", "'-1' is not a number"),
        (cloudwatch(Timestamps=["2026-01-01T00:00:00Z", "x"]), "/MetricDataResults/0/Values/1", "time"),
        (cloudwatch(Timestamps=["2026-01-01T00:00:00Z", "2026-01-01T00:00:00"]),
         "/MetricDataResults/0/Values/1", "time"),
        (cloudwatch(Timestamps=["2026-01-01T00:00:00Z"] * 2), "/MetricDataResults/0/Values/1", "same"),
        (cloudwatch(Timestamps=[], Values=[]), "", "at least one point"),
        ('{"MetricDataResults": 5}', "/MetricDataResults", "0 series: none"),
        ('{"Datapoints": []}', "/Datapoints", "one statistic of none"),
        (prometheus([START, "NaN"]), "/data/result/0/values/0", "'NaN' is not a number"),
        (prometheus([-1, "1"]), "/data/result/0/values/0", "not a time"),
        (prometheus([None]), "/data/result/0/values/0", "not a time"),
        (prometheus(resultType="vector"), "/data/resultType", "query_range"),
        (prometheus(result=[{"metric": 1, "values": 5}]), "", "at least one point"),
        ('{"status":"error","error":"bad query","data":{}}', "/status", "bad query"),
    ],
)  # fmt: skip
def test_export_is_refused_with_its_position(text: str, field: str, detail: str) -> None:
    place, told = fault(text)
    assert place == field
    assert detail in told


# --- gaps, and what steps see -------------------------------------------------------------------


def document(rows: list[tuple[int, float]]) -> Document:
    csv = "".join(f"{START + at},{value}\n" for at, value in rows)
    asked = {"unit": "requests/s", "kind": "trace", "csv": csv}
    hour = {"start": "2026-01-01T00:00:00+00:00", "days": 1, "step_s": 60}
    return startup(all_of("o", price("1")), demand=asked, horizon=hour)


def test_gaps_are_listed_and_filled_with_the_value_before() -> None:
    rows = [(0, 1.0), (60, 2.0), (120, 3.0), (300, 4.0), (360, 5.0), (7560, 6.0)]
    trace = import_trace(f"{START + at},{value}\n" for at, value in rows)
    assert trace.interval_s == 60
    assert trace.gaps() == [
        Gap(START + 120, START + 300, 2), Gap(START + 360, START + 7560, 119),
    ]  # fmt: skip
    (note,) = [one for one in simulate(document(rows))["assumptions"] if "gaps" in one["name"]]
    assert note["value"] == "2"
    assert "7200 s from 2026-01-01T00:06:00+00:00" in note["source"]
    assert scenario_from(document(rows)).demand.values[:7].tolist() == [1, 2, 3, 3, 3, 4, 5]


def test_trace_without_gaps_says_nothing_of_them() -> None:
    told = simulate(document([(0, 1.0), (60, 2.0), (130, 1.0)]))["assumptions"]
    assert not [one for one in told if "gaps" in one["name"]]
    one = import_trace([f"{START},1\n"])
    assert (one.interval_s, one.gaps()) == (None, [])


@given(
    st.lists(st.integers(1, 400), min_size=1, max_size=40),
    st.lists(st.integers(0, 3), min_size=40, max_size=40),
    st.integers(-2000, 2000),
)
def test_steps_see_the_same_in_fewer_points(
    distances: list[int], values: list[int], first: int
) -> None:
    at, rows = START + first, []
    for distance, value in zip(distances, values, strict=False):
        rows.append(f"{at},{value}\n")
        at += distance
    trace, steps = import_trace(rows), Steps(START, 60, 50)
    seen = trace.seen(steps)
    assert seen.at_steps(steps).tolist() == trace.at_steps(steps).tolist()
    assert seen.at_s.size <= min(steps.count, trace.at_s.size + 1)
    points = seen.points()
    told = [int(dt.datetime.fromisoformat(time).timestamp()) for time, _ in points]
    assert told == seen.at_s.tolist()


# --- tables of Grafana, doubts of a source --------------------------------------------------------

HOUR = 3600
WIDE = "Time,a,b\n" + "".join(
    f"{START + n * HOUR}000,{n + 1},{'' if n == 1 else 9}\n" for n in range(3)
)
ROWS = "Metric;Time;Value\n" + "".join(
    f"{name};{START + n * HOUR};{value},5\n" for name in "ab" for n, value in enumerate([1, 2])
)


def test_table_of_series_is_read_by_the_name_of_one() -> None:
    found = import_trace(WIDE.splitlines(keepends=True), series="a")
    assert (pairs(found), found.unit) == ([(0, 1), (HOUR, 2), (2 * HOUR, 3)], "a")
    rows = import_trace(ROWS.splitlines(keepends=True), series="b")
    assert (pairs(rows), rows.unit) == ([(0, 1.5), (HOUR, 2.5)], "b")


@pytest.mark.parametrize("text", [WIDE, ROWS])
def test_table_of_several_series_asks_which(text: str) -> None:
    assert fault(text)[1] == "choose one of its 2 series: a, b"
    assert "choose one" in fault(text, series="c")[1]


def test_empty_value_of_a_point_is_a_gap_that_is_remarked_on() -> None:
    found = import_trace(ROWS.replace("1,5", "null").splitlines(keepends=True), series="b")
    assert pairs(found) == [(HOUR, 2.5)]
    assert found.remarks == (
        "b: no value at 2026-01-01T00:00:00+00:00 (line 4); the value before holds",
    )


def test_many_gaps_are_counted_and_the_first_ones_named() -> None:
    text = f"{START},1\n" + "".join(f"{START + n * HOUR},\n" for n in range(1, 8))
    found = import_trace(text.splitlines(keepends=True))
    assert pairs(found) == [(0, 1)]
    assert [remark.partition(":")[0] for remark in found.remarks] == ["the series"] * 6
    assert "(line 2)" in found.remarks[0]
    assert "(line 6)" in found.remarks[4]
    assert found.remarks[5] == "the series: and 2 more values are missing"


def test_point_of_a_series_without_its_three_columns_is_refused() -> None:
    text = f"Series;Time;Value\na;{START};1\na;{START + 60}\n"
    assert fault(text) == ("csv", "line 3: 2 columns instead of 3")


def test_recordings_are_equal_by_their_points_unit_and_remarks() -> None:
    text = f"time,requests\n{START},1\n{START + 60},2\n"
    one, same, other = (
        import_trace(each.splitlines(keepends=True))
        for each in (text, text, text.replace("requests", "jobs"))
    )
    assert one == same
    assert one != other
    assert one != import_trace([f"{START},1\n"])
    assert one != text


def test_empty_cell_is_a_gap_that_is_remarked_on() -> None:
    found = import_trace(WIDE.splitlines(keepends=True), series="b")
    assert pairs(found) == [(0, 9), (2 * HOUR, 9)]
    assert found.remarks == (
        "b: no value at 2026-01-01T01:00:00+00:00 (line 3); the value before holds",
    )


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("1,721.5", "thousands separator"),
        ("1.721,5", "thousands separator"),
        ("1,721", "thousands separator"),
        ("1.72 K req/s", "rounded and has a unit"),
        ("95 %", "rounded and has a unit"),
    ],
)
def test_cell_that_may_mean_two_numbers_is_refused(cell: str, told: str) -> None:
    detail = fault(f"Time;web\n{START};{cell}\n")[1]
    assert detail.startswith("line 2: ")
    assert told in detail


@pytest.mark.parametrize(
    "text",
    [
        # Grafana for a spreadsheet, collectd's csv plugin, `sadf -d` and `sadf -dU`, InfluxDB.
        'sep=,\n"Time","web"\n2026-01-01T00:00:00Z,5\n2026-01-01T00:10:00Z,6\n',
        "epoch,value\n1767225599.512,5\n1767226200.000,6\n",
        "# hostname;interval;timestamp;%user\nh;600;2026-01-01 00:00:00 UTC;5\nh;600;2026-01-01 00:10:00 UTC;6\n",
        "# hostname;interval;timestamp;%user\nh;600;1767225600;5\nh;600;1767226200;6\n",
        "time\tweb\n1767225600\t5\n1767226200\t6\n",
        "time,web\n1767225600000000000,5\n1767226200000000000,6\n",
        "time,web\n1767225600000000,5\n1767226200000000,6\n",
    ],
)
def test_recordings_of_other_tools_are_the_same_points(text: str) -> None:
    series = "%user" if "%user" in text else ""
    assert pairs(import_trace(text.splitlines(keepends=True), series=series)) == [
        (0, 5.0),
        (600, 6.0),
    ]


def test_report_of_sar_says_what_to_give() -> None:
    text = "Linux 6.1.0-26 (web1) \t11/01/2026 \t_x86_64_\t(4 CPU)\n\n12:00:01 AM CPU %user\n"
    assert "sadf -dU -- -u" in fault(text)[1]


def test_percentile_of_cloudwatch_is_a_statistic_like_others() -> None:
    point = {"Timestamp": "2026-01-01T00:00:00Z", "ExtendedStatistics": {"p99": 12.5}}
    text = json.dumps({"Datapoints": [point]})
    assert pairs(import_trace(text.splitlines(keepends=True))) == [(0, 12.5)]


def test_error_of_prometheus_is_named() -> None:
    text = '{"status": "error", "errorType": "bad_data", "error": "parse error"}'
    assert fault(text) == ("/status", "parse error")


def test_time_without_a_zone_says_what_to_export() -> None:
    assert "has no time zone" in fault("Time,web\n2026-11-02 00:00:00,1\n")[1]


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=9))
def test_all_layouts_of_the_same_points_are_the_same_trace(values: list[int]) -> None:
    times = [START + n * HOUR for n in range(len(values))]
    points = list(zip(times, values, strict=True))
    texts = [
        "time,web\n" + "".join(f"{at},{value}\n" for at, value in points),
        "time;web\n" + "".join(f"{at}000;{value}\n" for at, value in points),
        "time,web,other\n" + "".join(f"{at},{value},1\n" for at, value in points),
        "Series,Time,Value\n" + "".join(f"web,{at},{value}\n" for at, value in points),
    ]
    found = [import_trace(text.splitlines(keepends=True), series="web") for text in texts]
    assert all(pairs(one) == pairs(found[0]) and one.unit == "web" for one in found)


def test_answer_of_cloudwatch_that_is_not_whole_says_so() -> None:
    stated = json.loads(cloudwatch(StatusCode="PartialData"))
    stated["NextToken"] = "more"
    stated["Messages"] = [{"Code": "MaxMetricsExceeded", "Value": "too many"}]
    failed = {"Id": "m2", "Label": "CPU", "Timestamps": [], "Values": [], "StatusCode": "Forbidden"}
    stated["MetricDataResults"].append(failed)
    found = import_trace([json.dumps(stated)], series="m1")
    for told in ("PartialData", "NextToken", "MaxMetricsExceeded", "m2 CPU, is Forbidden"):
        assert any(told in remark for remark in found.remarks)
    with pytest.raises(InvalidValue, match="Forbidden for CPU"):
        import_trace([json.dumps(stated)], series="CPU")


@pytest.mark.parametrize(
    ("given", "told"),
    [({"warnings": ["a store timed out"]}, "a store timed out"), ({"isPartial": True}, "partial")],
)
def test_remarks_of_prometheus_stay_with_the_trace(given: dict[str, Any], told: str) -> None:
    stated = json.loads(prometheus([START, "1"], [START + 60, "2"])) | given
    assert told in import_trace([json.dumps(stated)]).remarks[0]


def test_remarks_of_a_recording_stand_among_the_assumptions_of_its_result() -> None:
    found = import_trace([cloudwatch(StatusCode="PartialData")])
    document = with_recorded_demand(
        found, steps_of(found), TEMPLATES["startup"].document, name="partial"
    )
    told = [one["value"] for one in simulate(document)["assumptions"]]
    assert any("PartialData" in value for value in told)


def test_even_recording_has_no_gaps_although_equal_points_are_left_out() -> None:
    """Points that repeat the one before are thinned, which looked like gaps."""
    lines = [f"{START + n * 60},{7 if n < 500 else 9}\n" for n in range(1440)]
    found = import_trace(lines)
    document = with_recorded_demand(
        found, steps_of(found), TEMPLATES["startup"].document, name="even"
    )
    assert len(document["demand"]["points"]) == 2
    assert not [a for a in simulate(document)["assumptions"] if "gap" in a["name"]]
