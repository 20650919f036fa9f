"""The built probes, a run directory like the pipeline makes it, and the shells of this machine."""

import os
import shutil
import stat
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workers.probes import build

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


class RunDirectory:
    """A run directory on this machine: the runner, the probes and a plan."""

    def __init__(self, path: Path, bundle: build.Bundle) -> None:
        self.path = path
        (path / "bin").mkdir(mode=0o700)
        shutil.copy(bundle.runner.path, path / "runner.sh")
        for name, binary in bundle.binaries.items():
            shutil.copy(binary.path, path / "bin" / name)

    def plan(self, *lines: str) -> None:
        (self.path / "plan.sh").write_text("\n".join(("quiet_budget 0", *lines)) + "\n")

    def start(self, shell: list[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*shell, str(self.path / "runner.sh")],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "RUNNER_SHELL": " ".join(shell)},
            start_new_session=True,
        )

    def wait_until_step_runs(self) -> None:
        """Returns as soon as a step of the plan has written to the pipe named `started`."""
        with (self.path / "started").open() as pipe:
            pipe.readline()

    def status(self) -> str:
        return (self.path / "status.json").read_text()

    def result(self, name: str) -> str:
        return (self.path / "results" / name).read_text()


@pytest.fixture
def run_directory(bundle: build.Bundle) -> Iterator[RunDirectory]:
    path = Path(tempfile.mkdtemp(prefix="rackrate-")).rename(
        Path(tempfile.gettempdir()) / f"rackrate-{uuid.uuid4()}"
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    os.mkfifo(path / "started")
    yield RunDirectory(path, bundle)
    shutil.rmtree(path)
