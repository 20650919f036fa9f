"""The built probes, a run directory like the pipeline makes it, and the shells of this machine."""

import contextlib
import os
import shutil
import stat
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from workers.remote.probes import build

SHELLS = {"dash": ["dash"], "bash": ["bash"], "busybox": ["busybox", "sh"]}


@pytest.fixture(scope="session")
def compiler() -> Path:
    """The pinned compiler; its tests are skipped where it was not unpacked."""
    try:
        return build.compiler_path()
    except build.BuildError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def bundle(compiler: Path) -> build.Bundle:
    """The probes for this machine, built when they are not."""
    return build.build(build.host_arch(), zig=compiler)


@pytest.fixture(scope="session")
def probe(bundle: build.Bundle) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs one probe by name and returns what it did; twenty seconds at most."""

    def run(
        name: str, *arguments: object, preexec_fn: Callable[[], object] | None = None
    ) -> subprocess.CompletedProcess[str]:
        command = [str(bundle.binaries[name].path), *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=20, preexec_fn=preexec_fn
        )

    return run


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> list[str]:
    """Each shell that the runner must work with, where it exists."""
    command = SHELLS[request.param]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed on this machine")
    return command


ON_DISK = "on_disk dd fio fio_matrix small_files"


class RunDirectory:
    """A run directory on this machine: the scripts, the probes and a plan."""

    def __init__(self, path: Path, bundle: build.Bundle) -> None:
        self.path = path
        (path / "bin").mkdir(mode=0o700)
        for name, script in bundle.scripts.items():
            shutil.copy(script.path, path / name)
        for name, binary in bundle.binaries.items():
            shutil.copy(binary.path, path / "bin" / name)

    def plan(self, *lines: str) -> None:
        (self.path / "plan.sh").write_text("\n".join(("quiet_budget 0", ON_DISK, *lines)) + "\n")

    def start(
        self,
        shell: list[str],
        script: str = "runner.sh",
        *arguments: object,
        path: str = "",
        user: int | None = None,
        before: Sequence[str] = (),
        preexec_fn: Callable[[], object] | None = None,
    ) -> subprocess.Popen[str]:
        """Starts one of the scripts, the runner if none is named, with another PATH or user.

        `before` are the words of a program that starts it, such as one that mounts.
        """
        return subprocess.Popen(
            [*before, *shell, str(self.path / script), *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={
                **os.environ,
                "RUNNER_SHELL": " ".join(shell),
                "PATH": path or os.environ["PATH"],
            },
            start_new_session=True,
            preexec_fn=preexec_fn,  # noqa: PLW1509
            user=user,
            extra_groups=None if user is None else [],
        )

    def run(self, shell: list[str], *words: object, code: int = 0, path: str = "") -> str:
        """What a script prints, the runner if none is named; it has to end with the code."""
        script, *arguments = words or ("runner.sh",)
        output, _ = (running := self.start(shell, str(script), *arguments, path=path)).communicate(
            timeout=60
        )
        assert running.returncode == code, output
        return output

    def wait_until_step_runs(self) -> None:
        """Returns as soon as a step of the plan has written to the pipe named `started`."""
        with (self.path / "started").open() as pipe:
            pipe.readline()

    def status(self) -> str:
        return (self.path / "status.json").read_text()

    def result(self, name: str) -> str:
        return (self.path / "results" / name).read_text()

    def finished(self) -> list[str]:
        """The names of the results that there are, in order."""
        return sorted(file.stem for file in (self.path / "results").glob("*.json"))


def _make_run_directory(bundle: build.Bundle) -> RunDirectory:
    path = Path(tempfile.mkdtemp(prefix="rackrate-")).rename(
        Path(tempfile.gettempdir()) / f"rackrate-{uuid.uuid4()}"
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    os.mkfifo(path / "started")
    return RunDirectory(path, bundle)


@pytest.fixture
def run_directory(bundle: build.Bundle) -> Iterator[RunDirectory]:
    directory = _make_run_directory(bundle)
    yield directory
    _assert_left(directory.path)
    shutil.rmtree(directory.path)


@pytest.fixture
def peer_directory(bundle: build.Bundle) -> Iterator[RunDirectory]:
    """A second one, of the host at the other end of the network."""
    directory = _make_run_directory(bundle)
    yield directory
    _assert_left(directory.path)
    shutil.rmtree(directory.path)


def _assert_left(directory: Path) -> None:
    """Nobody works there; one that was told to end may need a moment on a busy machine."""
    for _ in range(100):
        if not processes_in(directory):
            return
        time.sleep(0.05)
    assert processes_in(directory) == []


def processes_in(directory: Path) -> list[int]:
    """The processes that work in a directory: how the teardown finds what a run has left."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            if link.readlink() == directory:
                found.append(int(link.parent.name))
    return found


@pytest.fixture
def target() -> Iterator[Path]:
    """A directory on a disk, with a blank and a colon in its name; nothing may be left in it."""
    path = Path(tempfile.mkdtemp(prefix="target : ", dir="/var/tmp"))
    if shutil.disk_usage(path).free < 4 << 30:
        path.rmdir()
        pytest.skip("less than 4 GiB free in /var/tmp")
    yield path
    assert list(path.iterdir()) == []
    path.rmdir()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m,mode=777", "tmpfs", str(tmp_path)]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"this machine does not let us mount: {done.stderr.strip()}")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


class Programs:
    """What stands on a PATH; the fakes of one test come before the programs of this machine."""

    def __init__(self, fakes: Path, real: Path) -> None:
        self.directory = fakes
        self.path = f"{fakes}:{real}"

    def put(self, name: str, text: str) -> Path:
        fake = self.directory / name
        fake.write_text(text)
        fake.chmod(0o755)
        return fake


@pytest.fixture(scope="session")
def other_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This machine's programs without package managers and tools to measure."""
    directory = tmp_path_factory.mktemp("programs")
    left_out = {"fio", "iperf3", "sudo", "apt-get", "dpkg", "dpkg-query", "rpm", "dnf", "yum"}
    left_out |= {"zypper", "apk", "pacman"}
    for place in os.environ["PATH"].split(":"):
        for program in Path(place).glob("*"):
            if program.name not in left_out and not os.path.lexists(directory / program.name):
                (directory / program.name).symlink_to(program)
    return directory


@pytest.fixture
def programs(other_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs(tmp_path_factory.mktemp("fakes"), other_programs)


@pytest.fixture(scope="session")
def busybox_programs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH with nothing but busybox, and fio and iperf3 where they are installed."""
    needs("busybox")
    directory = tmp_path_factory.mktemp("busybox")
    subprocess.run(["busybox", "--install", "-s", str(directory)], check=True)
    for tool in ("busybox", "fio", "iperf3"):
        if (program := shutil.which(tool)) and not os.path.lexists(directory / tool):
            (directory / tool).symlink_to(program)
    return str(directory)


def needs(*tools: str) -> None:
    """Skips the test where one of the tools is not installed."""
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed on this machine")
