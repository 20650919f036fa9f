"""Shared fixtures: a test database of one's own, a frozen queue, no network but loopback."""

import gc
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from backend.config.frames import with_large_stack

IS_DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
DATABASE_FIXTURES = {"db", "transactional_db", "live_server", "django_db_setup"}
BUILD_FIXTURES = {"built_probes", "compiler", "built"}
# Where the whole suite looks for its serial part, so that it need not read all the others.
SERIAL_FOLDERS = ("e2e", "launcher")
LONG_MARKERS = ("browser", "hypothesis")
# Servers that stand for providers: they need nothing, but are no part of the fast tests.
SLOW_FIXTURES = {"aws", "gce", "cloud", "price_server"}
# Loopback, and the network of tests.e2e.namespaces, which no other machine has.
OURS = ("127.", "::1", "localhost", "198.18.")
# Objects made since the last look for garbage; with Python's 700 a quarter of the time goes to it.
GARBAGE_MANY = 50_000


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fast",
        action="store_true",
        help="only tests that need no service, browser, build or server",
    )
    parser.addoption(
        "--write-needs", type=Path, help="write to this file, as JSON, what the chosen tests need"
    )


def pytest_configure() -> None:
    """What must be set before the first test module is read."""
    gc.set_threshold(GARBAGE_MANY)
    # The browser driver keeps an event loop running in the test's thread.
    os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    # Properties are about values, not about how busy this machine is: no deadline.
    hypothesis.settings.register_profile("default", deadline=None)
    hypothesis.settings.register_profile("deep", deadline=None, max_examples=2_000)
    hypothesis.settings.load_profile("deep" if IS_DEEP else "default")


def needs(item: pytest.Item) -> set[str]:
    """What has to be there before the test: services (database and broker), browser, build."""
    from django.test import TransactionTestCase

    fixtures = set(getattr(item, "fixturenames", ()))
    cls = getattr(item, "cls", None) or object
    found = set()
    if (
        fixtures & DATABASE_FIXTURES
        or item.get_closest_marker("django_db")
        or item.get_closest_marker("services")
        or issubclass(cls, TransactionTestCase)
    ):
        found.add("services")
    if "browser" in fixtures:
        found.add("browser")
    if found or fixtures & BUILD_FIXTURES or item.get_closest_marker("native"):
        found.add("build")
    return found


def is_fast(item: pytest.Item) -> bool:
    """Whether the test needs nothing to be set up and no server."""
    is_slow = SLOW_FIXTURES & set(getattr(item, "fixturenames", ()))
    return not (needs(item) or is_slow or item.get_closest_marker("serial"))


@pytest.hookimpl(wrapper=True, tryfirst=True)  # around pytest-randomly: to have the last word
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    """Leave out the long forms unless they are asked for, and with --fast all that needs setting up."""

    yield
    for item in items:
        folder = item.path.relative_to(config.rootpath).parts[1]
        if item.get_closest_marker("serial") and folder not in SERIAL_FOLDERS:
            raise pytest.UsageError(f"{item.nodeid} is serial: move it to {SERIAL_FOLDERS}")

    def is_chosen(item: pytest.Item) -> bool:
        if item.get_closest_marker("deep") and not IS_DEEP:
            return False
        return not config.option.fast or is_fast(item)

    chosen = [item for item in items if is_chosen(item)]
    left_out = [item for item in items if not is_chosen(item)]
    config.hook.pytest_deselected(items=left_out)
    # Whatever takes a minute begins early, so that no process is left alone with it at the end.
    items[:] = sorted(chosen, key=lambda item: not any(map(item.get_closest_marker, LONG_MARKERS)))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """As pytest does it; fixtures and tests are called from deep down."""
    runner = item.config.pluginmanager.get_plugin("runner")
    return bool(with_large_stack(runner.pytest_runtest_protocol)(item=item, nextitem=nextitem))


def pytest_collection_finish(session: pytest.Session) -> None:
    if path := session.config.option.write_needs:
        path.write_text(json.dumps(sorted(set().union(*map(needs, session.items)))))
    gc.collect()
    gc.freeze()  # modules and tests stay to the end: nobody looks through them again


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The test database; what tests of real transactions leave in it is deleted quickly, and at
    first what its migrations noted: rows are kept and copied into empty tables only."""
    from django.test import TransactionTestCase

    from tests import database

    with django_db_blocker.unblock():
        database.empty()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(TransactionTestCase, "_fixture_teardown", lambda _: database.empty())
        yield


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that reaches for another machine fails at once."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else ""
        if self.family != socket.AF_UNIX and not str(host).startswith(OURS):
            raise AssertionError(f"a test tried to reach {address}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """Messages that would have gone to the broker, recorded instead of sent."""
    from backend.config.celery import app

    sent: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(
        app, "send_task", lambda name, kwargs=None, **_: sent.append((name, kwargs or {}))
    )
    return sent
