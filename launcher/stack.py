"""Database, broker, worker, beat and web of one state, as one thing that starts and stops."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from launcher.console import LauncherError, say
from launcher.environment import application_environment, choice, process_environments
from launcher.loopback import LOOPBACK, answers, free_port
from launcher.paths import BIN, MANAGE, PYTHON, ROOT, digest
from launcher.postgres import Postgres
from launcher.processes import cpu_s, die_with_launcher
from launcher.state import StackState
from launcher.supervisor import APPLICATION_TIER, Program, Supervisor, ignore_interrupts
from launcher.valkey import Valkey

READY_WITHIN_S = 60.0
# Longer than the tick's period, so that each look sees what comes regularly.
REST_S = 6.0
REST_WITHIN_S = 60.0
# Of all CPUs. Repeats with more than 0.05 of them for others are disturbed.
REST_RATIO = 0.02
FIRST_ACCOUNT = "admin"
QUEUES = "engine,poll,reap,price,notify,simulate"
Process = subprocess.Popen[bytes]


class Stack:
    """The services of one state; the caller holds the state's lock and always calls `stop`."""

    def __init__(
        self, state: StackState, *, is_throw_away: bool = False, is_isolated: bool = False
    ) -> None:
        """An isolated stack takes no database or broker from the environment: what is written
        for a bench or a picture must never reach a database that people rely on."""
        self.state = state
        self.is_isolated = is_isolated
        self.is_throw_away = is_throw_away
        self.supervisor = Supervisor(state)
        known = state.secrets()
        is_durable = not is_throw_away
        self.postgres = Postgres(state, known["DATABASE_PASSWORD"], is_durable=is_durable)
        self.valkey = Valkey(state, known["BROKER_PASSWORD"], is_durable=is_durable)
        self.postgres_port = 0
        self.addresses: dict[str, str] = {}
        self.environment: dict[str, str] = {}

    # --- services -------------------------------------------------------------------------------
    def start_services(self) -> None:
        """Left-overs out, then the embedded database and broker, each unless the person named one."""
        stopped = self.state.stop_left_overs()
        if self.postgres.stop_left_over():
            stopped.append("postgres")
        if stopped:
            say(f"stopped what an earlier launcher left: {', '.join(stopped)}")
        if self.is_isolated or choice("DATABASE_URL") is None:
            self.postgres.prepare()
            self.postgres_port = port = self._start_service(self.postgres)
            self.postgres.create_database(port)
            self.addresses["DATABASE_URL"] = self.postgres.url(port)
        if self.is_isolated or choice("REDIS_URL") is None:
            port = self._start_service(self.valkey)
            self.addresses["REDIS_URL"] = self.valkey.url(port)
        self.environment = application_environment(self.state, self.addresses)
        # Again, behind what the person set: an isolated stack takes no database of theirs.
        self.environment.update(self.addresses)

    def _start_service(self, service: Postgres | Valkey) -> int:
        """Start on a free port; another one when somebody took it in between. The port."""
        name = "service"
        # A free port may be taken between asking for it and listening on it.
        for _attempt in range(3):
            port = free_port()
            program = service.program(port)
            name = program.name
            self.supervisor.start(program)
            deadline = time.monotonic() + READY_WITHIN_S
            while self.supervisor.is_running(name) and time.monotonic() < deadline:
                if service.is_ready(port):
                    return port
                time.sleep(0.05)
            if self.supervisor.is_running(name):
                break
            # It has ended by itself: somebody took the port.
            self.supervisor.forget(name)
        last = (self.state.log(name).read_text(errors="replace").splitlines() or ["no output"])[-1]
        raise LauncherError(f"{name} does not start ({last.strip()}); see {self.state.log(name)}.")

    # --- data -----------------------------------------------------------------------------------
    def migrate(self) -> None:
        """Migrate the database to this version; skipped when this state's own one is there already."""
        self._once("migrated", [ROOT / "backend", ROOT / "workers"], "migrate", "--no-input")

    def load_fixtures(self) -> None:
        """The published tables of the first screen, on first start and when they changed."""
        self._once("loaded", [ROOT / "fixtures"], "demo", "load")

    def _once(self, stamp: str, sources: list[Path], *command: str) -> None:
        files = [
            file
            for source in sources
            for file in sorted(source.rglob("*"))
            if file.is_file() and (source.name == "fixtures" or "migrations" in file.parts)
        ]
        mark = digest(files)
        is_own = "DATABASE_URL" in self.addresses
        # Of a database that somebody else runs we do not know what happened to it since.
        if is_own and self.state.read(stamp) == mark:
            return
        started = time.monotonic()
        self.manage_quietly(stamp, *command)
        if is_own:
            self.state.write(stamp, mark)
        say(f"  {stamp:<20} {time.monotonic() - started:5.1f} s")

    def manage_quietly(self, log_name: str, *command: str) -> None:
        """Run a manage.py command with its output in a log; LauncherError with its last line."""
        log = self.state.log(log_name)
        with log.open("wb") as output:
            status = self.run([str(PYTHON), str(MANAGE), *command], stdout=output)
        if status:
            # The last line that is not indented: what follows it is only detail.
            lines = [
                line
                for line in log.read_text(errors="replace").splitlines()
                if line.strip() == line != ""
            ]
            raise LauncherError(
                f"manage.py {command[0]} failed: {(lines or ['no output'])[-1]} (see {log})"
            )

    def create_first_account(self) -> None:
        """An admin while there is nobody, and how to sign in; straight to the terminal, never
        into a log. A database that the person named is left alone."""
        if "DATABASE_URL" not in self.addresses:
            return
        command = ["user", "create", FIRST_ACCOUNT, "--role", "admin", "--if-nobody"]
        if self.run([str(PYTHON), str(MANAGE), *command]) == 0:
            say(f"another link to sign in: ./rackrate user link {FIRST_ACCOUNT}")

    # --- application ----------------------------------------------------------------------------
    def start_application(self, port: int) -> str:
        """Web, worker and beat; returns the address once the web answers."""
        url = f"http://{LOOPBACK}:{port}"
        self.environment.setdefault("PUBLIC_URL", url)
        # The web processes count how long requests take; what earlier ones counted is over.
        times = self.state.directory / "request-times"
        shutil.rmtree(times, ignore_errors=True)
        self.environment.setdefault("PROMETHEUS_MULTIPROC_DIR", str(times))
        self.environment.setdefault("SHARED_TABLES_DIR", str(self.state.directory / "tables"))
        environments = process_environments(self.environment, self._web_keys())
        for name, argv in self._application(port).items():
            self.supervisor.start(Program(name, argv, environments[name], APPLICATION_TIER))
        deadline = time.monotonic() + READY_WITHIN_S
        self.supervisor.run_until(lambda: answers(url) or time.monotonic() > deadline, 0.1)
        if not answers(url):
            raise LauncherError(f"The web server does not answer; see {self.state.log('web')}.")
        self.publish(url)
        return url

    def _web_keys(self) -> Path:
        """The directory with the keys of the web process, which are written."""
        keys = self.state.directory / "web-keys"
        write = [str(PYTHON), "-m", "backend.config.web_keys", str(keys)]
        if self.wait(self.start(write, PYTHONPATH=str(ROOT))) != [0]:
            raise LauncherError("The keys of the web process could not be written.")
        return keys

    def _application(self, port: int) -> dict[str, list[str]]:
        """The commands of web, worker and beat by name."""
        celery = [str(BIN / "celery"), "-A"]
        # The CPUs that this process may use, which in a container are fewer than the machine has.
        web_workers = min(4, len(os.sched_getaffinity(0)))
        return {
            "web": [
                str(BIN / "granian"),
                "--interface",
                "wsgi",
                "--host",
                LOOPBACK,
                "--port",
                str(port),
                "--workers",
                str(web_workers),
                "--blocking-threads",
                "8",
                "--no-ws",
                "--respawn-failed-workers",
                "backend.config.wsgi:application",
            ],
            "worker": [
                *celery,
                "backend.config.celery",
                "worker",
                "-Q",
                QUEUES,
                # A poller, a price list and a look at the providers may each hold one for minutes.
                "--concurrency",
                "4",
                "--loglevel",
                "INFO",
                "--hostname",
                f"rackrate-{os.getpid()}@%h",
                # Workers of one machine need not know of each other, and the broker is spared.
                "--without-gossip",
                "--without-mingle",
            ],
            "beat": [
                *celery,
                "backend.config.beat",
                "beat",
                "--schedule",
                str(self.state.directory / "beat-schedule"),
                # None: one that a killed beat leaves would keep the next one from starting.
                "--pidfile=",
                "--loglevel",
                "INFO",
            ],
        }

    def settle(self) -> None:
        """Wait until the services rest: they share the CPUs with what is measured next, and each
        has much to do when it starts and after data were loaded."""
        say("  waiting until the services rest …")
        started = time.monotonic()
        if self.postgres_port:
            self.postgres.tidy(self.postgres_port)
        while (busy := self._busy_ratio(REST_S)) > REST_RATIO:
            if time.monotonic() > started + REST_WITHIN_S:
                say(f"  they still use {busy:.0%} of the CPUs, which may disturb repeats")
                return
        say(f"  {'at rest':<20} {time.monotonic() - started:5.1f} s")

    def _busy_ratio(self, during_s: float) -> float:
        """Share of all CPUs that this launcher and its children take."""
        before_s, started = cpu_s(os.getpid()), time.monotonic()
        self.supervisor.run_until(lambda: time.monotonic() > started + during_s)
        spent_s = cpu_s(os.getpid()) - before_s
        return spent_s / (time.monotonic() - started) / len(os.sched_getaffinity(0))

    def publish(self, url: str = "") -> None:
        """Let `./rackrate manage` of another terminal find this stack."""
        self.state.publish({**self.addresses, **({"PUBLIC_URL": url} if url else {})})

    # --- jobs -----------------------------------------------------------------------------------
    def run(
        self, argv: list[str], stdout: object = None, log_name: str = "", grace_s: float = 5
    ) -> int:
        """Run a program in the stack's environment to its end, supervising meanwhile. Its status.

        With the name of a log, the terminal gets no log lines of it but warnings.
        """
        more = {"LOG_FILE": str(self.state.log(log_name))} if log_name else {}
        return self.wait(self.start(argv, stdout, **more), grace_s=grace_s)[0]

    def start(self, argv: list[str], stdout: object = None, **more: str) -> Process:
        """Start a program in the stack's environment and more; `wait` for it comes next."""
        process: Process = subprocess.Popen(
            argv,
            env={**self.environment, "RACKRATE_STATE_DIR": str(self.state.directory), **more},
            stdout=stdout,  # type: ignore[call-overload]
            stderr=subprocess.STDOUT if stdout is not None else None,
            preexec_fn=die_with_launcher(signal.SIGTERM),  # noqa: PLW1509 - main thread only
        )
        return process

    def wait(self, *processes: Process, grace_s: float = 5) -> list[int]:
        """Supervise until all of them have ended. Their statuses."""

        def have_ended() -> bool:
            return all(process.poll() is not None for process in processes)

        try:
            self.supervisor.run_until(have_ended, 0.2)
        except BaseException:
            # Ctrl-C reached them too (same terminal); give them the time to tidy up.
            for process in processes:
                process.terminate()
            for process in processes:
                try:
                    process.wait(grace_s)
                except subprocess.TimeoutExpired:
                    process.kill()
            raise
        statuses = [process.returncode for process in processes]
        # As a shell says it of a program that a signal ended.
        return [status if status >= 0 else 128 - status for status in statuses]

    def stop(self) -> None:
        """Stop everything, in reverse order, whatever the person presses meanwhile."""
        ignore_interrupts()
        self.state.publish({})
        self.supervisor.stop()
        if self.is_throw_away:
            self.postgres.remove_public()
