"""A target to log in to, hosts and runs on it, and a way to take a run to its end."""

import functools
import hashlib
import json
import os
import shutil
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db.models.functions import Now

from backend.benchmarks.models import Host, Run, Step
from backend.benchmarks.services.runs import run_create
from backend.providers.http import Patience
from backend.providers.registry import PROVIDERS
from tests import factories
from tests.fakes.price_servers import PriceServer
from tests.fakes.sshd import FakeSshd
from workers.engine.pump import Pump
from workers.pricelists import fetching
from workers.remote.driver import Target
from workers.remote.probes import build

TINY = {"seconds": 0.2, "repeats": 2, "quiet_budget_s": 0}


@pytest.fixture(scope="session", autouse=True)
def _one_tls_context() -> Iterator[None]:
    """The same certificates are read once: a client of a provider is made for every call."""
    create = ssl.create_default_context

    @functools.cache
    def trusting(_certificates: str | None, *args: Any, **options: Any) -> ssl.SSLContext:
        return create(*args, **options)

    def cached(*args: Any, **options: Any) -> ssl.SSLContext:
        return trusting(os.environ.get("SSL_CERT_FILE"), *args, **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ssl, "create_default_context", cached)
        yield


@pytest.fixture
def sshd(tmp_path: Path, built_probes: None) -> Iterator[FakeSshd]:
    server = FakeSshd(tmp_path)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def target(sshd: FakeSshd) -> Target:
    """The server as a run logs in to it."""
    return Target(
        address="127.0.0.1",
        port=sshd.port,
        username=sshd.username,
        private_key=sshd.private_key.encode(),
        host_key=sshd.host_key,
        is_private_allowed=True,
    )


@pytest.fixture
def ssh_host(sshd: FakeSshd, queued: list[Any], settings: Any) -> Host:
    """A host whose key was approved."""
    settings.SSH_ALLOW_PRIVATE = True
    return factories.ssh_host(sshd, "Target")


def tiny_run(host: Host, *, probes: list[str] | None = None, **parameters: Any) -> Run:
    """A run of a second or two."""
    return run_create(
        host=host,
        profile="quick",
        probes=probes or ["cmips"],
        parameters={**TINY, **parameters},
        actor="tester",
    )


def hurry(run: Run) -> None:
    """Let what waits for its next attempt be due now."""
    Step.objects.filter(run=run, finished_at=None, lease_until=None).update(next_due_at=Now())


def driven(run: Run, *, passes: int = 20) -> Run:
    """The run at its end, done by this process alone."""
    pump = Pump()
    for _ in range(passes):
        hurry(run)
        pump.once()
        run.refresh_from_db()
        if run.is_finished:
            return run
    errors = list(run.steps.values_list("last_error", flat=True))
    raise AssertionError(f"still {run.state}: {errors}")


@pytest.fixture
def broken_probes(tmp_path: Path, settings: Any, built_probes: None) -> Callable[[str, str], None]:
    """Put a shell script in the place of a probe: broken_probes("cmips", script).

    In the script `real` is the real program, and `count` how often it was called before.
    """

    def replace(name: str, script: str) -> None:
        arch = build.host_arch()
        source, target = settings.PROBE_BUILD_DIR / arch, tmp_path / "probes" / arch
        shutil.copytree(source, target)
        shutil.copy(target / name, target / f"{name}.real")
        counter = tmp_path / "count"
        program = (
            f"#!/bin/sh\nreal={target}/{name}.real\n"
            f"count=$(cat {counter} 2>/dev/null || echo 0)\necho $((count + 1)) >{counter}\n"
            f"{script}\n"
        )
        (target / name).write_text(program)
        manifest = json.loads((target / "manifest.json").read_text())
        manifest["binaries"][name] = {
            "sha256": hashlib.sha256(program.encode()).hexdigest(),
            "bytes": len(program),
        }
        (target / "manifest.json").write_text(json.dumps(manifest))
        settings.PROBE_BUILD_DIR = tmp_path / "probes"

    return replace


@pytest.fixture(scope="session")
def built_probes() -> None:
    """The probes of this machine, built on first need."""
    build.build(
        build.host_arch(), build_dir=Path(os.environ.get("PROBE_BUILD_DIR", build.BUILD_DIR))
    )


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Waits of the price fetchers in seconds, which are noted instead of waited for."""
    waits: list[float] = []
    monkeypatch.setattr(
        fetching,
        "Patience",
        lambda budget_s, is_needed=lambda: True: Patience(budget_s, is_needed, waits.append),
    )
    return waits


@pytest.fixture
def price_server(settings: Any, slept: list[float]) -> Iterator[PriceServer]:
    """A server that stands for every provider of prices."""
    server = PriceServer()
    with server.serving():
        settings.PRICE_ENDPOINTS = dict.fromkeys(PROVIDERS, server.url)
        yield server
