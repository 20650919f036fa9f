"""Probes that benches run as on a target."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from launcher.paths import HOST_TOOLS
from workers.remote.probes import build

PATH = f"{os.environ['PATH']}:{HOST_TOOLS}"


@contextmanager
def probe_directory() -> Iterator[Path]:
    """A directory with the scripts of all probes and their observer."""
    bundle = build.binaries(build.host_arch())
    with tempfile.TemporaryDirectory(prefix="rackrate-bench-") as name:
        folder = Path(name)
        (folder / "bin").mkdir()
        for title, script in bundle.scripts.items():
            shutil.copy(script.path, folder / title)
        shutil.copy(bundle.binaries["observe"].path, folder / "bin/observe")
        yield folder


def probe_output(folder: Path, script: str, *words: object) -> str:
    """What one repeat prints on a target."""
    done = subprocess.run(
        ["sh", str(folder / script), *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=300,
        env={"PATH": PATH, "RUNNER_SHELL": "sh"},
    )
    if done.returncode:
        raise SystemExit(f"{script} ended with {done.returncode}: {done.stdout[-300:]}")
    return done.stdout
