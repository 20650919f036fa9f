"""`rackrate` of rackrate-client: the same commands as beside the database, with the same statuses."""

import importlib
import io
import json
import uuid

import httpx
import pytest
from django.core.management import CommandError, call_command
from django.core.wsgi import get_wsgi_application

from backend.benchmarks.models import Run
from backend.catalog.models import PriceObservation
from backend.scenarios.calc.templates import TEMPLATES
from tests import factories
from tests.backend.campaigns import ended, measured
from tests.backend.client_package import client_package, one_connection

__all__ = ["client_package", "one_connection"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("one_connection")]
QUIET = [1000.0, 1005.0, 995.0, 1002.0, 998.0]


@pytest.fixture
def rackrate(client_package, token, capsys):
    """Status, output and what is said beside it of `rackrate` with these arguments."""
    command_line = importlib.import_module("rackrate_client.command_line")
    library = importlib.import_module("rackrate_client")
    text = token("admin")

    def called(*arguments):
        def connect(url):
            assert url == ""
            transport = httpx.WSGITransport(get_wsgi_application())
            return library.Rackrate("http://testserver", text, transport=transport)

        status = command_line.run(command_line.parser().parse_args(arguments), connect)
        return status, *capsys.readouterr()

    return called


@pytest.fixture
def host(queued):
    return factories.host(name="db1")


def finished(host, factor=1.0, state="done", **fields):
    run = factories.run(host)
    measured(run, *(value * factor for value in QUIET))
    return ended(run, state, **fields)


def beside_the_database(*arguments):
    """Status and output of `manage.py runs`."""
    out = io.StringIO()
    try:
        call_command("runs", *arguments, stdout=out)
    except CommandError as error:
        return error.returncode, out.getvalue(), f"{error}"
    return 0, out.getvalue(), ""


def test_list_says_what_the_command_beside_the_database_says(rackrate, host):
    finished(host)
    finished(factories.host(name="web1"), state="failed", failure_reason="unreachable")
    for arguments in ([], ["--limit", "1"], ["--host", "db1"], ["--state", "failed"]):
        status, out, _ = rackrate("runs", "list", "--json", *arguments)
        _, expected, _ = beside_the_database("list", "--json", *arguments)
        assert (status, json.loads(out)) == (0, json.loads(expected))
    assert "db1" in rackrate("runs", "list")[1]
    assert rackrate("runs", "list", "--host", "nosuch")[::2] == (
        1, "rackrate: no host is named 'nosuch'\n"
    )  # fmt: skip


def test_show_and_cancel_take_the_first_characters_of_a_run(rackrate, host):
    run = finished(host, state="failed")
    Run.objects.filter(pk=run.pk).update(failure_reason="unreachable", failure_detail="no route")
    status, out, _ = rackrate("runs", "show", str(run.pk)[:8])
    assert status == 0
    assert out.startswith(f"{run.pk}: failed\n  cmips_score")
    assert out.endswith("  unreachable: no route\n")
    assert json.loads(rackrate("runs", "show", str(run.pk), "--json")[1])["run"] == str(run.pk)
    assert rackrate("runs", "cancel", str(run.pk))[::2] == (
        1, f"rackrate: the run {run.pk} is failed already\n"
    )  # fmt: skip
    waiting = factories.run(host)
    assert rackrate("runs", "cancel", str(waiting.pk)) == (0, f"{waiting.pk}: cancelled\n", "")
    assert rackrate("runs", "show", "abc")[0] == 1


@pytest.mark.parametrize(
    ("factor", "gate", "status"),
    [(1.01, ["5%"], 0), (0.9, ["5%"], 1), (0.9, ["0.2"], 0), (0.952, ["5%"], 2), (0.9, [], 0)],
)
def test_compare_ends_as_the_command_beside_the_database(rackrate, host, factor, gate, status):
    runs = [str(finished(host).pk), str(finished(host, factor).pk)]
    options = ["--fail-on-regression", *gate] if gate else []
    done = rackrate("runs", "compare", *runs, *options)
    expected = beside_the_database("compare", *runs, *options)
    assert done[:2] == expected[:2]
    assert done[0] == status
    assert done[2] == (f"rackrate: {expected[2]}\n" if expected[2] else "")
    document = json.loads(rackrate("runs", "compare", *runs, *options, "--json")[1])
    assert document == json.loads(beside_the_database("compare", *runs, *options, "--json")[1])


def test_compare_is_unclear_where_a_run_is_missing_or_broke_off(rackrate, host):
    gate = ("--fail-on-regression", "5%")
    run = finished(host)
    for other in (str(uuid.uuid4()), "abcd", str(finished(host, state="cancelled").pk)):
        assert rackrate("runs", "compare", str(run.pk), other, *gate)[0] == 2
    assert rackrate("runs", "compare", str(run.pk), str(run.pk), "--metric", "mips", *gate)[0] == 2


def test_arguments_that_are_wrong_end_with_2(rackrate):
    for arguments in (
        ("runs", "compare", "aaaa", "bbbb", "--fail-on-regression", "0%"),
        ("benchmark", "db1", "--label", "kernel"),
        ("rankings", "vcpu"),
        ("frobnicate",),
    ):
        with pytest.raises(SystemExit) as ended_with:
            rackrate(*arguments)
        assert ended_with.value.code == 2


def test_benchmark_follows_the_run_to_its_end(rackrate, host, monkeypatch):
    connection = importlib.import_module("rackrate_client.connection")
    worker = iter(["failed"])

    def meanwhile(_seconds):
        run = Run.objects.get()
        measured(run, *QUIET)
        ended(run, next(worker), failure_reason="unreachable")

    monkeypatch.setattr(connection.time, "sleep", meanwhile)
    arguments = ("--set", "seconds=0.5", "--probe", "cmips", "--label", "commit=abc")
    status, out, err = rackrate("benchmark", "db1", *arguments, "--json")
    run = Run.objects.get()
    assert (status, err) == (1, "  0%  waiting for the host\n")
    assert json.loads(out)["run"] == str(run.pk)
    assert (run.labels, run.profile, run.parameters["seconds"]) == ({"commit": "abc"}, "quick", 0.5)


def test_benchmark_that_is_interrupted_ends_its_run(rackrate, host, monkeypatch):
    connection = importlib.import_module("rackrate_client.connection")

    def interrupted(_seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(connection.time, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rackrate("benchmark", str(host.pk), "--quiet")
    assert Run.objects.get().state == "cancelled"


def test_quotes_are_imported_and_refused_lines_named(rackrate, tmp_path, db):
    path = tmp_path / "quotes.csv"
    path.write_text("provider,model,monthly_net,currency\nacme,R1,49,EUR\nacme,R2,much,EUR\n")
    stated = ("--quoted-on", "2026-11-01")
    status, out, _ = rackrate("import", "quotes", str(path), *stated, "--dry-run")
    assert (status, PriceObservation.objects.count()) == (1, 0)
    assert out.startswith("would store of 2 lines: 1 new offers; prices: 1 new,")
    assert "refused: line 3: monthly_net" in out
    assert rackrate("import", "quotes", str(path), *stated)[0] == 1
    assert PriceObservation.objects.count() == 1
    assert rackrate("import", "quotes", str(tmp_path / "none.csv"))[0] == 1


def test_rankings_answers_and_simulations_are_printed(rackrate, demo, tmp_path):
    status, out, err = rackrate("rankings", "vcpu__gte=4")
    assert (status, out.splitlines()[0].split()[:2]) == (0, ["rank", "offer_id"])
    assert err == ""
    assert "nosuch" in rackrate("rankings", "provider=nosuch")[2]
    assert rackrate("rankings", "vcpus=4") == (1, "", "rackrate: vcpus is no filter here\n")
    rows = json.loads(rackrate("rankings", "vcpu__gte=4", "--json")[1])
    assert len(rows) == len(out.splitlines()) - 1 > 0
    assert rackrate("answer", "vcpu=2")[1].strip()
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps(TEMPLATES["content"].document))
    options = TEMPLATES["content"].document["options"]
    assert len(rackrate("simulate", str(path))[1].splitlines()) == len(options)
    path.write_text("{")
    assert rackrate("simulate", str(path))[0] == 1


def test_refusal_of_the_server_is_one_line(rackrate, demo):
    status, out, err = rackrate("rankings", "kind=foo")
    assert (status, out) == (1, "")
    assert err.splitlines()[-1].startswith("rackrate: the request is not valid; kind: ")
