"""Machines that serve one installation: each a network namespace with web and workers of its own.

They share a PostgreSQL and a broker, which they reach over the bridge of their network.
"""

import signal
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
from django.conf import settings

from tests.e2e.namespaces import Network
from tests.e2e.stack import (
    APPLICATION,
    BEAT,
    ENGINE_QUEUES,
    WEB,
    Processes,
    Stack,
    worker_argv,
)

# The name by which people know the installation, as behind a proxy that spreads requests.
SITE = "rackrate.test"
WEB_PORT = 8000
CSRF = "c" * 32
WORKERS = ("worker 1", "worker 2")
QUEUES = f"{ENGINE_QUEUES},simulate"
RELAY = [sys.executable, "-m", "tests.e2e.relay"]


class Machine(Processes):
    """Web, two workers and perhaps a beat in a namespace."""

    def __init__(
        self, name: str, directory: Path, network: Network, stack: Stack, *, has_beat: bool
    ) -> None:
        super().__init__(directory)
        self.name, self._there = name, network.namespace()
        temporary = directory / "tmp"
        temporary.mkdir()
        database, broker = (
            url.replace("127.0.0.1", network.address)
            for url in (stack.database.url, stack.broker_url)
        )
        self._stack = stack
        self._own = {
            # By the name the notes in the database know whose work it was.
            "DATABASE_URL": f"{database}?application_name={name}",
            "REDIS_URL": broker,
            "WORKER_ID": name,
            "TMPDIR": str(temporary),
            "SHARED_TABLES_DIR": str(directory / "tables"),
        }
        address = ["--host", self._there.address, "--port", str(WEB_PORT)]
        self._programs = {"web": [*WEB, *address, APPLICATION]}
        for worker in WORKERS:
            argv = worker_argv(f"{worker[-1]}@{name}", QUEUES)
            self._programs[worker] = [*argv, "--loglevel", "INFO"]  # says when it is ready
        if has_beat:
            self._programs["beat"] = [*BEAT, str(directory / "beat")]
        self._starts: Counter[str] = Counter()

    def up(self) -> None:
        """Start what does not run; `is_ready` says when it serves."""
        for name, argv in self._programs.items():
            if not self.is_running(name):
                self.start(
                    name, self._there.inside(argv), env=self._stack.environment_of(name) | self._own
                )
                self._starts[name] += 1

    def is_ready(self) -> bool:
        """Whether its web answers and both workers take messages."""
        are_ready = all(
            self.log(worker).count(f"@{self.name} ready.") == self._starts[worker]
            for worker in WORKERS
        )
        return are_ready and self.status_of("/healthz") == 200

    def freeze(self) -> None:
        """Everything on it stands still."""
        self._there.send(signal.SIGSTOP)

    def thaw(self) -> None:
        self._there.send(signal.SIGCONT)

    def lose_power(self) -> None:
        """Everything on it is killed at once."""
        self._there.send(signal.SIGKILL)
        self.kill_all()

    def ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        """The answer to a request under the name of the site."""
        headers = {"Host": SITE, "Accept-Encoding": "identity", **given.pop("headers", {})}
        url = f"http://{self._there.address}:{WEB_PORT}{path}"
        return httpx.request(method, url, headers=headers, timeout=30, **given)

    def submit(self, path: str, session: Mapping[str, str], **fields: str) -> httpx.Response:
        """The answer to a form that a browser sends with the cookies of a session."""
        cookies = {**session, settings.CSRF_COOKIE_NAME: CSRF}
        return self.ask("POST", path, cookies=cookies, data={"csrfmiddlewaretoken": CSRF, **fields})

    def status_of(self, path: str) -> int:
        """Of the answer to a GET; 0 while there is none."""
        try:
            return self.ask("GET", path).status_code
        except httpx.TransportError:
            return 0
