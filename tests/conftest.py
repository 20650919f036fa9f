"""Shared fixtures: a test database of one's own, a frozen queue, no network but loopback."""

import os
import socket
from typing import Any

import hypothesis
import pytest


def pytest_configure() -> None:
    """What must be set before the first test module is read."""
    # The browser driver keeps an event loop running in the test's thread.
    os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    # Properties are about values, not about how busy this machine is: no deadline.
    hypothesis.settings.register_profile("default", deadline=None)
    hypothesis.settings.register_profile("deep", deadline=None, max_examples=2_000)
    hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Add TEST_DB_SUFFIX to the test database's name (beside the parallel suffix)."""
    suffix = os.environ.get("TEST_DB_SUFFIX")
    if suffix:
        from django.conf import settings

        test = settings.DATABASES["default"].setdefault("TEST", {})
        name = test.get("NAME") or f"test_{settings.DATABASES['default']['NAME']}"
        test["NAME"] = f"{name}_{suffix}"


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that reaches for another machine fails at once."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else ""
        if self.family != socket.AF_UNIX and not str(host).startswith(("127.", "::1", "localhost")):
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
