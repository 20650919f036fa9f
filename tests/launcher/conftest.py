"""A clean environment for the launcher under test: nothing of the stack that runs these tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from launcher.state import StackState

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = (
    "DATABASE_URL", "REDIS_URL", "SECRET_KEY", "CREDENTIAL_KEY", "TOKEN_PEPPER", "PUBLIC_URL", "ALLOWED_HOSTS",
    "HTTPS_ONLY", "PUBLIC_READ", "DJANGO_SETTINGS_MODULE", "PYTHONPATH", "RACKRATE_STATE_DIR", "RACKRATE_URL",
    "COVERAGE_FILE", "TMPDIR",
)  # fmt: skip


def clean_environment(state: Path, **more: str) -> dict[str, str]:
    """The environment of a person at a terminal, with a state folder of the test's own."""
    kept = {key: value for key, value in os.environ.items() if key not in SETTINGS}
    return {**kept, "RACKRATE_STATE_DIR": str(state), **more}


def rackrate(
    state: Path, *arguments: str, timeout: float = 60, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run ./rackrate to its end."""
    return subprocess.run(
        [str(ROOT / "rackrate"), *arguments],
        env=clean_environment(state, **more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def sleeper(**options) -> subprocess.Popen[bytes]:
    """A process that would run for ten minutes, in a session of its own."""
    program = [sys.executable, "-c", "import time; time.sleep(600)"]
    return subprocess.Popen(program, start_new_session=True, **options)


@pytest.fixture
def state(tmp_path):
    """A fresh state."""
    return StackState(tmp_path / "state")
