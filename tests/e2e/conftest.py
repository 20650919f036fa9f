"""Fixtures of the tests that drive the whole: the browser, and services that may be killed."""

import json
import math
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings
from pytest_django.live_server_helper import LiveServer

from backend.benchmarks.models import Host, Run
from backend.benchmarks.services.runs import run_create
from backend.core import work
from backend.rankings.pages.ranking import views as ranking_views
from backend.site import state
from tests import factories
from tests.backend.conftest import roomy_throttles
from tests.database import empty
from tests.e2e.browser import browser
from tests.e2e.chaos_form import CASES, LEASE_S, NOTES, Case, table
from tests.e2e.stack import Database, Stack
from tests.fakes.sshd import FakeSshd
from workers.remote.probes import build

__all__ = ["browser", "roomy_throttles"]

# More than a run asks for before it begins, and soon full.
SMALL_DISK_BYTES = 24 * 2**20


def pytest_sessionfinish(session: pytest.Session) -> None:
    """One of several processes of pytest-xdist leaves to the first one what it has to say."""
    if hasattr(session.config, "workeroutput"):
        said = {"cases": [asdict(case) for case in CASES], "notes": NOTES}
        session.config.workeroutput["chaos"] = json.dumps(said)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    # One that crashed said nothing.
    said = json.loads(getattr(node, "workeroutput", {}).get("chaos", "{}"))
    CASES.extend(Case(**case) for case in said.get("cases", ()))
    NOTES.extend(said.get("notes", ()))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What was broken on purpose and what came of it, and what else was measured."""
    if NOTES:
        terminalreporter.section("measured")
        for line in NOTES:
            terminalreporter.write_line(line)
    if CASES:
        terminalreporter.section("chaos")
        for line in table():
            terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def _reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader for whom pages begin as the API does, but for tests of a whole stack."""
    monkeypatch.setattr(ranking_views, "page_defaults", lambda *_: state.API_DEFAULTS)


@pytest.fixture(autouse=True)
def _patient_calculations(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the calculation of the page before takes longer than people wait for it, and
    all tests ask from one address; tests/backend/test_work_limits.py is about those who are sent away."""
    monkeypatch.setattr(work, "WAIT_S", 30)
    monkeypatch.setattr(work, "MUCH_S", math.inf)


@pytest.fixture(scope="module")
def site(django_db_setup: None) -> Iterator[str]:
    """The pages, served to the browser over plain HTTP with the files as built."""
    with override_settings(
        PUBLIC_READ=True,
        SECURE_SSL_REDIRECT=False,
        SESSION_COOKIE_SECURE=False,
        CSRF_COOKIE_SECURE=False,
        STATIC_ROOT=settings.STATICFILES_DIRS[0],
        STORAGES={
            **settings.STORAGES,
            "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
        },
    ):
        server = LiveServer("127.0.0.1")
        with override_settings(PUBLIC_URL=server.url):
            yield server.url
        server.stop()


@pytest.fixture(scope="session")
def built_probes() -> None:
    """The probes of this machine, built on first need."""
    build.build(
        build.host_arch(), build_dir=Path(os.environ.get("PROBE_BUILD_DIR", build.BUILD_DIR))
    )


@pytest.fixture(scope="session")
def heeds_termination() -> Iterator[None]:
    """SIGTERM means Ctrl-C: mounts, namespaces and processes of ours are taken away first."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="session")
def database(
    tmp_path_factory: pytest.TempPathFactory,
    django_db_blocker: Any,
    built_probes: None,
    heeds_termination: None,
) -> Iterator[Database]:
    """A PostgreSQL of one's own: the one of all other tests must not be restarted."""
    made = Database(tmp_path_factory.mktemp("database"))
    try:
        with django_db_blocker.unblock(), made.redirected():
            made.create()
        yield made
    finally:
        made.remove()


@pytest.fixture(scope="module")
def make_stack(
    tmp_path_factory: pytest.TempPathFactory, database: Database, django_db_blocker: Any
) -> Iterator[Callable[..., Stack]]:
    """A broker, a worker and a beat (or what is named) with leases of so many seconds and perhaps
    other settings, and Django on their database.

    They serve the tests of a module one after the other: a worker takes seconds to start.
    """
    made: list[Stack] = []

    def make(
        lease_s: int,
        settings: Mapping[str, str] | None = None,
        *,
        names: Sequence[str] = ("broker", "worker", "beat"),
    ) -> Stack:
        directory = tmp_path_factory.mktemp("stack")
        made.append(Stack(directory, database, lease_s=lease_s, settings=settings or {}))
        made[-1].up(*names)
        return made[-1]

    with django_db_blocker.unblock(), database.redirected():
        try:
            yield make
        finally:
            for stack in made:
                stack.kill_all()
            database.start()  # a test that failed may have left it stopped
            empty()


@pytest.fixture(scope="module")
def stack(make_stack: Callable[..., Stack]) -> Stack:
    """The usual one, with short leases."""
    return make_stack(LEASE_S)


@pytest.fixture
def make_host(tmp_path: Path) -> Iterator[Callable[[str], tuple[FakeSshd, Host]]]:
    """An SSH server and the host it is to us, whose key was approved."""
    made: list[FakeSshd] = []

    def make(name: str) -> tuple[FakeSshd, Host]:
        directory = tmp_path / name
        directory.mkdir(exist_ok=True)
        made.append(FakeSshd(directory))
        sshd = made[-1]
        sshd.start()
        return sshd, trusted_host(sshd, name)

    yield make
    for sshd in made:
        sshd.stop()


def trusted_host(machine: Any, name: str | None = None) -> Host:
    """The host that a server (address, port, username, keys) is to us."""
    return factories.ssh_host(machine, name or machine.name, address=machine.address)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], bool]]:
    """Put a file system of some MiB where the named target has its files; False when refused."""
    made: list[Path] = []

    def mount(name: str) -> bool:
        directory = tmp_path / name / "target"
        directory.mkdir(parents=True)
        options = ["-t", "tmpfs", "-o", f"size={SMALL_DISK_BYTES},mode=700", "chaos"]
        done = subprocess.run(["mount", *options, str(directory)], capture_output=True)
        if done.returncode == 0:
            made.append(directory)
        return done.returncode == 0

    yield mount
    for directory in made:
        subprocess.run(["umount", "-l", str(directory)], check=True)


@pytest.fixture
def begin(queued: list[Any]) -> Callable[..., Run]:
    """A run of cmips: begin(host, repeats=…, seconds=…). Nothing but the tick takes it up."""

    def make(host: Host, *, repeats: int, seconds: float = 0.5) -> Run:
        return run_create(
            host=host,
            profile="quick",
            probes=["cmips"],
            parameters={"seconds": seconds, "repeats": repeats, "quiet_budget_s": 0},
            actor="tester",
        )

    return make
