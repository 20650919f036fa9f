"""Strangers who ask for as much as they may, all at once, do not keep others from the pages."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from django.conf import settings
from django.db import connection

from launcher.loopback import free_port
from tests.e2e.stack import Processes, eventually
from tests.pure.scenarios.documents import all_of, price, startup

pytestmark = pytest.mark.django_db(transaction=True)
YEAR = {"start": "2026-01-01T00:00:00+00:00", "days": 365, "step_s": 60}
REQUESTS = 8


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """One process of the web server with its eight threads, on the test's own database."""
    known = connection.settings_dict
    login = f"{known['USER']}:{known['PASSWORD']}@{known['HOST']}:{known['PORT']}"
    static = tmp_path / "static"
    environment = {
        **os.environ,
        "DATABASE_URL": f"postgresql://{login}/{known['NAME']}",
        "REDIS_URL": settings.REDIS_URL,
        "STATIC_ROOT": str(static),
        "HTTPS_ONLY": "0",
        "PUBLIC_READ": "1",
        "ALLOWED_HOSTS": "127.0.0.1",
    }
    manage = [sys.executable, "manage.py", "collectstatic", "--no-input", "--verbosity", "0"]
    subprocess.run(manage, env=environment, check=True, timeout=300)
    port = free_port()
    server = [
        *(sys.executable, "-m", "granian", "--interface", "wsgi", "--port", str(port)),
        *("--workers", "1", "--blocking-threads", "8", "backend.config.wsgi:application"),
    ]
    processes = Processes(tmp_path)
    processes.start("web", server, env=environment)
    url = f"http://127.0.0.1:{port}"
    try:
        eventually(lambda: answers(url), "the web server")
        yield url
    finally:
        processes.kill_all()


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def from_address(address: str) -> httpx.Client:
    transport = httpx.HTTPTransport(local_address=address)
    return httpx.Client(transport=transport, timeout=300)


def test_pages_answer_while_strangers_calculate_as_much_as_they_may(web: str) -> None:
    document = startup(
        *(all_of(f"{n}", price("0.4")) for n in range(3)),
        horizon=YEAR,
        policy={"kind": "hpa", "warmup_s": 300},
        uncertainty={"draws": 1000, "demand_growth_cv": "0.3"},
    )  # 3 × 525,600 × 19 steps are just below 30,000,000

    def ask(number: int) -> httpx.Response:
        asked = document | {"name": f"stranger {number}"}
        with from_address(f"127.0.0.{number + 3}") as client:
            return client.post(f"{web}/api/v1/scenarios/simulate", json=asked)

    assert httpx.get(web, timeout=60).status_code == 200
    with ThreadPoolExecutor(REQUESTS) as strangers:
        asked = [strangers.submit(ask, number) for number in range(REQUESTS)]
        with from_address("127.0.0.2") as reader:
            page = reader.get(web)
        are_over = all(one.done() for one in asked)
        responses = [one.result() for one in asked]
    assert page.status_code == 200
    assert not are_over
    refused = [one for one in responses if one.status_code == 503]
    # One calculates and one waits for it; whoever comes after them may find the room empty again.
    assert len(refused) >= REQUESTS // 4
    assert {one.headers["Retry-After"] for one in refused} == {"5"}
    assert {one.headers["Content-Type"] for one in refused} == {"application/problem+json"}
    assert {one.status_code for one in responses} - {503} <= {200, 422}
    assert len(refused) < REQUESTS
