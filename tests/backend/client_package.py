"""rackrate-client as people get it: the wheel that the project's own command makes, installed."""

import fcntl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from launcher import client
from launcher.setup import uv


@pytest.fixture(scope="session")
def client_package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder that it is installed in, made once for all processes of the suite."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if base.name.startswith("popen-") else base
    target = shared / "client"
    with (shared / "client.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            wheel = client.wheel(shared / "wheel")
            install = [uv(), "pip", "install", "--quiet", "--no-deps", "--python", sys.executable]
            making = shared / "client-made"
            subprocess.run([*install, "--target", str(making), str(wheel)], check=True)
            making.rename(target)
    sys.path.insert(0, str(target))
    yield target
    sys.path.remove(str(target))


@pytest.fixture
def one_connection(db: None) -> Iterator[None]:
    """Requests within this process leave the test's connection open."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)
