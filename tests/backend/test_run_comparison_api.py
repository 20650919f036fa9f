"""GET /runs/<id>/comparison: what a gate needs, by the rule of the command."""

import io
import json
import uuid

import pytest
from django.core.management import call_command

from backend.accounts.models import Workspace
from backend.benchmarks.models import Run
from tests import factories
from tests.backend.campaigns import ended, measured
from tests.backend.conftest import API, fields

pytestmark = pytest.mark.django_db
QUIET = [1000.0, 1005.0, 995.0, 1002.0, 998.0]


@pytest.fixture
def reader(caller):
    return caller("read")


@pytest.fixture
def host():
    return factories.host(name="db1")


def finished(host, factor=1.0, state="done", **environment):
    run = factories.run(host)
    measured(run, *(value * factor for value in QUIET))
    Run.objects.filter(pk=run.pk).update(environment=environment)
    return ended(run, state)


def compared(reader, before, after, **query):
    return reader.get(f"{API}/runs/{after.pk}/comparison", {"before": before.pk, **query})


def test_comparison_is_the_document_that_the_command_prints(reader, host, queued):
    before, after = finished(host, kernel="6.1"), finished(host, 0.9, kernel="6.18")
    answer = compared(reader, before, after).json()
    assert (answer["outcome"], answer["exit_code"], answer["why"]) == ("worse", 1, "cmips_score")
    assert answer["differences"] == ["kernel: 6.1 → 6.18"]
    assert answer["metrics"][0]["change_ratio"] == pytest.approx(-0.1)
    printed = io.StringIO()
    call_command("runs", "compare", str(before.pk), str(after.pk), "--json", stdout=printed)
    assert json.loads(printed.getvalue()) == answer


def test_comparison_takes_another_loss_and_the_metrics_to_compare(reader, host, queued):
    before, after = finished(host), finished(host, 0.9)
    assert compared(reader, before, after, least_loss_ratio="0.2").json()["exit_code"] == 0
    chosen = compared(reader, before, after, metric=["net_rtt_ns", "cmips_score"]).json()
    assert (chosen["exit_code"], chosen["left_out"]) == (1, ["net_rtt_ns"])
    missing = compared(reader, before, after, metric="net_rtt_ns").json()
    assert (missing["exit_code"], missing["why"]) == (2, "net_rtt_ns")


def test_comparison_with_a_run_that_broke_off_is_unclear(reader, host, queued):
    before, after = finished(host), finished(host, 0.5, "cancelled")
    answer = compared(reader, before, after).json()
    assert (answer["exit_code"], answer["why"]) == (2, f"{after.pk} is cancelled")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({}, "before"),
        ({"before": "x"}, "before"),
        ({"before": str(uuid.uuid4()), "least_loss_ratio": "1"}, "least_loss_ratio"),
        ({"before": str(uuid.uuid4()), "metric": ["cmips_score", "mips"]}, "metric"),
    ],
)
def test_comparison_names_the_parameter_that_is_wrong(reader, host, queued, query, field):
    answer = reader.get(f"{API}/runs/{finished(host).pk}/comparison", query)
    assert answer.status_code == 400
    assert fields(answer) == [field]


def test_comparison_of_runs_that_are_not_there_is_404(reader, host, queued):
    run = finished(host)
    other = factories.run(
        factories.host(workspace=Workspace.objects.create(slug="other", name="Other"))
    )
    for unknown in (uuid.uuid4(), other.pk):
        answer = reader.get(f"{API}/runs/{run.pk}/comparison", {"before": unknown})
        assert answer.status_code == 404
        answer = reader.get(f"{API}/runs/{unknown}/comparison", {"before": run.pk})
        assert answer.status_code == 404


def test_strangers_do_not_see_where_peers_are(client, reader, host, queued, settings):
    settings.PUBLIC_READ = True
    before, after = finished(host), finished(host)
    Run.objects.filter(pk=after.pk).update(parameters={"peer_address": "192.0.2.77"})
    assert "192.0.2.77" in str(compared(reader, before, after).json()["differences"])
    shown = compared(client, before, after)
    assert shown.status_code == 200
    assert "192.0.2.77" not in shown.content.decode()
    assert "parameters" in shown.json()["differences"][0]


def test_unknown_parameter_of_a_comparison_is_named(reader, host, queued):
    before, after = finished(host), finished(host)
    assert "metrics" in compared(reader, before, after, metrics="x")["X-Warning"]
    assert "X-Warning" not in compared(reader, before, after).headers


def test_run_has_the_machine_as_it_was_then(reader, host, queued):
    run = finished(host, kernel="6.18.2", microcode="0xb4", cpu_model="EPYC 9654")
    environment = reader.get(f"{API}/runs/{run.pk}").json()["environment"]
    assert environment == {"kernel": "6.18.2", "microcode": "0xb4", "cpu_model": "EPYC 9654"}
