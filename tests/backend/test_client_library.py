"""rackrate-client as a library, against the server: rankings, runs, imports, simulations, answers."""

import importlib
import io
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import openpyxl
import pytest
from django.core.wsgi import get_wsgi_application

from backend.benchmarks.models import Run
from backend.catalog.models import PriceObservation
from backend.scenarios.calc.templates import TEMPLATES
from tests import factories
from tests.backend.campaigns import ended, measured
from tests.backend.client_package import client_package, one_connection
from tests.backend.conftest import API

__all__ = ["client_package", "one_connection"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("one_connection")]
QUOTES = "provider,model,monthly_net,currency,quoted_on\nacme,R1,49,EUR,2026-01-01\n"
QUIET = [1000.0, 1005.0, 995.0, 1002.0, 998.0]


class Wire(httpx.WSGITransport):
    """The server within this process; what is in `faults` happens to the next requests, after the
    server has done them."""

    def __init__(self) -> None:
        super().__init__(get_wsgi_application())
        self.faults: list[Any] = []
        self.seen: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        answer = super().handle_request(request)
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, Exception):
            raise fault
        return fault or answer


@pytest.fixture
def wire():
    return Wire()


@pytest.fixture
def connect(client_package, token, wire):
    """A connection with a token of the scope, or a stranger's."""
    library = importlib.import_module("rackrate_client")

    def made(scope="admin"):
        given = token(scope) if scope else ""
        return library.Rackrate("http://testserver", given, transport=wire)

    return made


@pytest.fixture
def refused(client_package):
    return importlib.import_module("rackrate_client").Refused


def test_rankings_are_all_pages_with_amounts_exact(connect, client, demo, settings, wire):
    settings.PUBLIC_READ = True
    table = connect(None).rankings()
    stated = client.get(f"{API}/rankings.csv").content.decode("utf-8-sig").splitlines()
    assert len(table) == len(stated) - 1
    first = client.get(f"{API}/rankings").json()
    assert table.data_version == first["data_version"]
    assert table.basis["currency"] == first["basis"]["currency"]
    records = table.records()
    assert list(records[0]) == stated[0].split(",")
    assert records[0]["price"] == Decimal(first["results"][0]["price"])
    assert [row["offer_id"] for row in records[:50]] == [
        row["offer_id"] for row in first["results"]
    ]


def test_rankings_take_the_filters_of_the_api_and_hand_warnings_on(connect, demo):
    server = connect()
    table = server.rankings(vcpu__gte="8", provider="nosuch")
    assert len(table) == 0
    assert any("nosuch" in text for text in table.warnings)
    assert {row.vcpu >= 8 for row in server.rankings(vcpu_gte="8")} == {True}
    for name in ("vcpus", "client", "client_"):
        with pytest.raises(ValueError, match=f"{name} is no filter"):
            server.rankings(**{name: "8"})


def test_rankings_become_a_data_frame_with_numbers_and_times(connect, demo):
    server = connect()
    table = server.rankings()
    frame = table.to_frame()
    assert len(frame) == len(table)
    assert frame["price"].dtype == "float64"
    assert str(frame["measured_at"].dtype).startswith("datetime64[")
    assert float(table.records()[0]["price"]) == frame["price"][0]
    assert isinstance(table.to_frame(exact=True)["price"][0], Decimal)
    nothing = server.rankings(vcpu__gte="4000").to_frame()
    assert len(nothing) == 0
    assert "value_per_cost" in nothing.columns


def test_data_frames_name_what_is_missing_without_pandas(connect, demo, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"rackrate-client\[pandas\]"):
        connect().rankings().to_frame()


def test_list_is_read_again_when_data_change_between_its_pages(connect, wire, monkeypatch):
    host = factories.host()
    for _ in range(3):
        factories.run(host)
    connection = importlib.import_module("rackrate_client.connection")
    monkeypatch.setattr(connection, "MOST_PER_PAGE", 2)
    handle, added = wire.handle_request, []

    def meanwhile(request):
        if "page=2" in str(request.url) and not added:
            added.append(factories.run(host))
        return handle(request)

    monkeypatch.setattr(wire, "handle_request", meanwhile)
    table = connect().runs()
    assert len({run.id for run in table}) == len(table) == 4


def test_run_is_started_followed_and_cancelled(connect, queued):
    host = factories.host(name="db1")
    server = connect("run")
    started = server.run_start(host=str(host.pk), profile="quick", labels={"commit": "abc"})
    assert str(Run.objects.get().pk) == str(started.id)
    run = server.run(started.id)
    assert (run.state, run.labels) == ("queued", "commit=abc")
    assert server.run_cancel(started.id).state == "cancelled"
    assert server.run_wait(started.id).state == "cancelled"
    assert [row.id for row in server.newest_runs(1, state="cancelled")] == [str(started.id)]
    assert len(server.runs(host=str(host.pk), since="2020-01-01T00:00:00+00:00")) == 1
    assert len(server.runs(profile="full")) == 0


def test_run_that_got_no_answer_is_begun_once(connect, wire, queued, monkeypatch):
    sending = importlib.import_module("rackrate_client.sending")
    monkeypatch.setattr(sending, "FIRST_WAIT_S", 0.0)
    host = factories.host()
    wire.faults = [httpx.ReadTimeout("the network is away"), httpx.ReadError("and again")]
    started = connect("run").run_start(host=str(host.pk), profile="quick")
    assert [str(run.pk) for run in Run.objects.all()] == [str(started.id)]
    assert len({request.headers["Idempotency-Key"] for request in wire.seen}) == 1
    assert len(wire.seen) == 3


def test_request_that_came_too_fast_waits_as_the_server_says(connect, wire, client_package):
    waits: list[float] = []
    sending = importlib.import_module("rackrate_client.sending")
    wire.faults = [httpx.Response(429, headers={"Retry-After": "7"})]
    careful = sending.Careful(wire, sleep=waits.append)
    answer = careful.handle_request(httpx.Request("GET", f"http://testserver{API}/problems"))
    assert (answer.status_code, waits) == (200, [7.0])


def test_comparison_of_runs_ends_as_the_gate_does(connect, queued):
    host = factories.host()
    before, after = (factories.run(host) for _ in range(2))
    for run, factor in ((before, 1.0), (after, 0.9)):
        measured(run, *(value * factor for value in QUIET))
        ended(run)
    server = connect("read")
    compared = server.run_compare(before.pk, after.pk, metrics=["cmips_score"])
    assert (compared.exit_code, compared.why) == (1, "cmips_score")
    assert server.run_compare(before.pk, after.pk, least_loss_ratio=0.2).exit_code == 0
    result = server.run(after.pk).results[0]
    assert (result.metric, result.median, result.repeats) == ("cmips_score", 900, 5)


def test_tables_are_imported_as_files_and_looked_at_before(connect, tmp_path, db):
    path = tmp_path / "quotes.csv"
    path.write_text(QUOTES.replace(",", ";").replace("49", "49,50"))
    server = connect("write")
    dry = server.table_import("quotes", path, dry_run=True, locale="de")
    assert (dry.is_dry, dry.prices_new, PriceObservation.objects.count()) == (True, 1, 0)
    done = server.table_import("quotes", path, locale="de")
    assert (done.is_dry, done.prices_new) == (False, 1)
    assert PriceObservation.objects.get().amount == Decimal("49.5")
    western = QUOTES.replace("R1", "Größe").encode("cp1252")
    assert server.table_import("quotes", western).prices_new == 1
    book = openpyxl.Workbook()
    for line in QUOTES.replace("R1", "R2").splitlines():
        book.active.append(line.split(","))
    content = io.BytesIO()
    book.save(content)
    assert server.table_import("quotes", content.getvalue()).prices_new == 1


def test_scenario_is_simulated_and_a_need_answered(connect, demo):
    server = connect("read")
    result = server.simulate(TEMPLATES["content"].document)
    names = [option["name"] for option in TEMPLATES["content"].document["options"]]
    assert [option.name for option in result.options] == names
    found = server.answer(vcpu="2")
    assert found.best.vcpu >= 2
    assert found.best.offer_id.split("-")[0] in found.sentence.lower() or found.sentence


def test_refusal_has_status_code_and_every_fault(connect, refused, queued):
    with pytest.raises(refused, match="not valid; /probes/0: ") as raised:
        connect("run").run_start(host=str(factories.host().pk), profile="quick", probes=["x" * 99])
    assert (raised.value.status, raised.value.code) == (400, "invalid")


def test_refusal_of_a_proxy_is_none_of_ours(connect, refused, wire):
    wire.faults = [httpx.Response(502, content=b"<html>")]
    with pytest.raises(refused, match="the server answers 502"):
        connect("read").hosts()


def test_strangers_are_refused_where_they_may_not_read(connect, refused, settings):
    settings.PUBLIC_READ = False
    with pytest.raises(refused) as raised:
        connect(None).hosts()
    assert (raised.value.status, raised.value.code) == (401, "not_authenticated")


def test_connection_needs_an_address(client_package, monkeypatch):
    monkeypatch.delenv("RACKRATE_URL", raising=False)
    library = importlib.import_module("rackrate_client")
    with pytest.raises(ValueError, match="RACKRATE_URL"):
        library.Rackrate()


def test_client_is_typed(client_package: Path, tmp_path: Path) -> None:
    modules = ("command_line", "connection", "sending", "tables")
    names = [word for module in modules for word in ("-p", f"rackrate_client.{module}")]
    done = subprocess.run(
        [
            sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent",
            "--cache-dir", str(tmp_path), *names,
        ],
        cwd=tmp_path, env={"MYPYPATH": str(client_package), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert (client_package / "rackrate_client/py.typed").exists()
