"""`manage.py campaign run|cancel|status`, without a worker and without a broker."""

import io
import json
import signal

import pytest
from django.core.management import CommandError, call_command

from backend.benchmarks.models import Campaign, Run
from backend.benchmarks.services.campaigns import campaign_start
from tests import factories
from tests.backend.campaigns import campaign, ended, measured
from tests.keys import NEW, OLD, set_keys_of_web
from tests.workers.conftest import TINY
from workers.engine import in_process
from workers.management.commands import campaign as command

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("queued")]


def called(*arguments):
    out, err = io.StringIO(), io.StringIO()
    call_command("campaign", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch):
    monkeypatch.setattr(command, "LOOK_S", 0.1)


def small(ssh_host, **given) -> Campaign:
    return campaign(
        ssh_host, **{"name": "Small", "probes": ["inventory"], "parameters": TINY, **given}
    )


def test_run_waits_for_a_campaign_to_end_and_prints_its_state(ssh_host):
    made = small(ssh_host, repeats=2)
    out, err = called("run", "Small")
    made.refresh_from_db()
    assert (made.state, made.round) == ("done", 1)
    lines = out.splitlines()
    assert lines[0] == "Small, profile quick: done, round 1"
    assert lines[1] == f"  [{'#' * 30}] 100%  2 runs: 2 done"
    assert "  cost so far: unknown (no price is known for Target; all else is 0 USD)" in lines
    assert "          inventory" in lines
    assert "  Target  done" in lines
    assert lines[-1].endswith(f"/campaigns/{made.pk}/")
    assert err.splitlines()[0] == "  0%  2 runs: 2 waiting"
    assert err.splitlines()[-1] == "100%  2 runs: 2 done"


def test_status_names_what_failed_and_why():
    made = campaign(factories.host(name="db1"))
    campaign_start(campaign=made, actor="tester")
    ended(Run.objects.get(), "failed", failure_reason="unreachable", failure_detail="no route")
    out, _ = called("status", str(made.pk))
    assert "  db1: failed, unreachable: no route" in out.splitlines()


def test_run_is_refused_while_a_round_runs():
    campaign(name="Nightly")
    campaign_start(campaign=Campaign.objects.get(), actor="tester")
    with pytest.raises(CommandError, match="round 1 of Nightly is still running"):
        called("run", "Nightly")


def test_run_says_how_many_did_not_end_well(monkeypatch):
    made = campaign(name="Nightly")

    class Failing:
        """Stands in by failing what waits."""

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def look(self):
            for run in Run.objects.filter(state="queued"):
                ended(run, "failed", failure_reason="timeout")

    monkeypatch.setattr(in_process, "StandIn", Failing)
    with pytest.raises(CommandError, match="2 of 2 runs did not end as done"):
        called("run", str(made.pk))


def test_runs_wait_for_a_worker_where_the_command_opens_no_credentials(settings):
    campaign(name="Nightly")
    set_keys_of_web(settings, OLD, NEW)
    for arguments in (["campaign", "run", "Nightly"], ["pump", "--once"]):
        with pytest.raises(CommandError, match="opens no credentials: it has no CREDENTIAL_KEY"):
            call_command(*arguments, stdout=io.StringIO(), stderr=io.StringIO())
    assert set(Run.objects.values_list("state", flat=True)) == {"queued"}


def test_run_is_cancelled_by_ctrl_c(monkeypatch):
    made = campaign(name="Nightly")
    pressed: list[bool] = []

    def look(self):
        if not pressed:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(in_process.StandIn, "look", look)
    with pytest.raises(CommandError, match="2 of 2 runs"):
        called("run", "Nightly")
    made.refresh_from_db()
    assert made.state == "cancelled"


def test_run_draws_a_bar_on_a_terminal(monkeypatch):
    campaign(name="Nightly")

    def look(self):
        for run in Run.objects.filter(state="queued")[:1]:
            ended(run)

    monkeypatch.setattr(in_process.StandIn, "look", look)
    err = Terminal()
    call_command("campaign", "run", "Nightly", stdout=io.StringIO(), stderr=err)
    frames = err.getvalue().split("\r")
    assert frames[1].startswith(f"[{'.' * 30}]   0%  2 runs: 2 waiting")
    assert "about 1 min left" in frames[1]
    assert frames[2].startswith(f"[{'#' * 15}{'.' * 15}]  50%  2 runs: 1 done, 1 waiting")
    assert frames[-1].startswith(f"[{'#' * 30}] 100%  2 runs: 2 done")
    assert frames[-1].endswith("\n")


def test_cancel_ends_the_round():
    made = campaign(name="Nightly")
    campaign_start(campaign=made, actor="tester")
    out, _ = called("cancel", "Nightly")
    assert out.splitlines()[0] == "Nightly, profile quick: cancelled, round 1"
    assert "2 runs: 2 cancelled" in out


def test_status_shows_matrix_and_costs_as_json_too():
    host = factories.host(name="db1")
    factories.price(host.offer, "3.6")
    made = campaign(
        host, factories.host(name="much-longer"), name="Nightly", probes=["cmips", "fio"]
    )
    out, _ = called("status", "Nightly")
    assert "no runs yet" in out
    campaign_start(campaign=made, actor="tester")
    run = Run.objects.get(host=host)
    measured(run, 1.0)
    measured(run, probe="fio", exit_code=7)
    ended(run, seconds=50)
    out, _ = called("status", str(made.pk))
    lines = out.splitlines()
    assert "               inventory      cmips    fio" in lines
    assert "  db1          not_available  done     not_available" in lines
    assert "  much-longer  waiting        waiting  waiting" in lines
    document = json.loads(called("status", "Nightly", "--json")[0])
    assert document["progress"] == 0.5
    assert document["remaining_s"] == 75
    assert document["cost_estimate"]["amount"] is None
    assert "much-longer" in document["cost_estimate"]["note"]
    assert document["cost_so_far"]["amount"].startswith("0.05")
    assert [r["state"] for r in document["runs"]] == ["done", "queued"]
    assert {"target": "db1", "probe": "cmips", "state": "done"} in document["matrix"]


def test_campaign_must_exist():
    with pytest.raises(CommandError, match="no campaign has the name or identifier 'x'"):
        called("status", "x")
