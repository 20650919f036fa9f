"""`manage.py runs list|show|cancel|compare`."""

import io
import json
import uuid

import pytest
from django.core.management import CommandError, call_command

from backend.benchmarks.models import Run
from backend.measure.metrics import METRICS
from tests import factories
from tests.backend.campaigns import ended, measured

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("queued")]

DISK = METRICS["disk_write_bytes_per_s"].ranking_variants[0]
QUIET = [1000.0, 1005.0, 995.0, 1002.0, 998.0]


def called(*arguments):
    out = io.StringIO()
    call_command("runs", *arguments, stdout=out)
    return out.getvalue()


def compared(*arguments):
    """What is printed, the exit code, and what it is called."""
    out = io.StringIO()
    try:
        call_command("runs", "compare", *arguments, stdout=out)
    except CommandError as error:
        return out.getvalue(), error.returncode, str(error)
    return out.getvalue(), 0, ""


@pytest.fixture
def host():
    return factories.host(name="db1")


def finished(host, factor=1.0, state="done", **environment) -> Run:
    run = factories.run(host)
    measured(run, *(value * factor for value in QUIET))
    Run.objects.filter(pk=run.pk).update(environment=environment)
    return ended(run, state)


def test_list_has_the_newest_first_and_takes_filters(host):
    first = finished(host)
    second = finished(factories.host(name="web1"), state="failed", failure_reason="x")
    lines = called("list").splitlines()
    assert [line.split()[0] for line in lines] == [str(second.pk), str(first.pk)]
    assert called("list", "--limit", "1").split()[0] == str(second.pk)
    (row,) = json.loads(called("list", "--host", "db1", "--json"))
    assert (row["id"], row["state"], row["failure"]) == (str(first.pk), "done", None)
    assert json.loads(called("list", "--state", "cancelled", "--json")) == []


def test_show_names_results_and_failure_of_a_run(host):
    run = finished(host, state="failed")
    Run.objects.filter(pk=run.pk).update(failure_reason="unreachable", failure_detail="no route")
    out = called("show", str(run.pk)[:8])
    assert out.startswith(f"{run.pk}: failed\n")
    assert "cmips_score" in out
    assert out.endswith("  unreachable: no route\n")
    assert json.loads(called("show", str(run.pk), "--json"))["results"][0]["median"] == 1000


def test_cancel_ends_a_waiting_run_and_refuses_a_finished_one(host):
    run = factories.run(host)
    assert called("cancel", str(run.pk)) == f"{run.pk}: cancelled\n"
    with pytest.raises(CommandError, match="is cancelled already"):
        called("cancel", str(run.pk))


def test_compare_ends_with_0_where_nothing_got_worse(host):
    one, other = finished(host), finished(host, 1.01)
    out, code, _ = compared(str(one.pk), str(other.pk), "--fail-on-regression", "5%")
    assert code == 0
    assert "+1%  fine" in out
    assert out.splitlines()[-1] == "outcome: fine"


def test_compare_ends_with_1_where_a_metric_got_worse(host):
    one, other = finished(host, kernel="6.1"), finished(host, 0.9, kernel="6.18")
    arguments = (str(one.pk), str(other.pk), "--json", "--fail-on-regression", "5%")
    out, code, error = compared(*arguments)
    assert (code, error) == (1, "worse: cmips_score")
    document = json.loads(out)
    assert document["outcome"] == "worse"
    assert document["differences"] == ["kernel: 6.1 → 6.18"]
    assert document["metrics"][0]["change_ratio"] == pytest.approx(-0.1)
    # a larger loss is asked about, and that one is ruled out
    assert compared(*arguments[:-1], "0.2")[1] == 0
    # nobody asked for a gate
    assert compared(*arguments[:-2])[1] == 0


def test_compare_ends_with_2_where_it_is_unclear(host):
    one, broken_off = finished(host), finished(host, 0.5, "cancelled")
    gate = ("--fail-on-regression", "5%")
    _, code, error = compared(str(one.pk), str(broken_off.pk), *gate)
    assert (code, error) == (2, f"unclear: {broken_off.pk} is cancelled")
    other = finished(factories.host(name="web1"), 0.97)  # machines differ by more than this
    out, code, error = compared(str(one.pk), str(other.pk), *gate)
    assert (code, error) == (2, "unclear: cmips_score")
    assert "differs: host: db1 → web1" in out.splitlines()
    same = (str(one.pk), str(finished(host).pk), *gate)
    metrics = ("--metric", "cmips_score", "--metric", "net_rtt_ns")
    assert compared(*same, *metrics)[1:] == (2, "unclear: net_rtt_ns")
    _, code, error = compared(str(one.pk), str(uuid.uuid4()), *gate)
    assert code == 2
    assert "no run has an identifier that begins with" in error


def test_compare_is_unclear_where_a_metric_was_disturbed(host):
    one, other = finished(host), finished(host)
    for run in (one, other):
        measured(run, *QUIET, metric="disk_write_bytes_per_s", variant=DISK, flags=["disturbed"])
    out, code, error = compared(str(one.pk), str(other.pk), "--fail-on-regression", "5%")
    assert (code, error) == (2, "unclear: disk_write_bytes_per_s")
    assert "disk_write_bytes_per_s: disturbed or not measured in both" in out.splitlines()
    assert compared(
        str(one.pk), str(other.pk), "--fail-on-regression", "5%", "--metric", "cmips_score"
    )[1] == 0  # fmt: skip
    empty = [str(ended(factories.run(host)).pk) for _ in range(2)]
    assert compared(*empty, "--fail-on-regression", "5%")[1:] == (
        2, "unclear: no metric was measured in both"
    )  # fmt: skip


@pytest.mark.parametrize("share", ["0%", "100%", "five", "-5%"])
def test_share_of_the_gate_is_above_0_and_below_100_percent(share):
    with pytest.raises(CommandError, match=r"is no share above 0 %|expected one argument"):
        called("compare", "aaaa", "bbbb", "--fail-on-regression", share)


@pytest.mark.parametrize("name", ["", "abc", "%", "not-a-run"])
def test_run_is_named_by_four_characters_or_more(name):
    with pytest.raises(CommandError, match="no run has an identifier that begins"):
        called("show", name)
