"""Where things are in this checkout."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from launcher.console import LauncherError

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
BIN = VENV / "bin"
PYTHON = BIN / "python"
TOOLS = ROOT / ".tools"
# Commands that measure this machine, where its own system has none.
HOST_TOOLS = TOOLS / "host"
LOCKS = ROOT / "requirements"
MANAGE = ROOT / "manage.py"
NATIVE = ROOT / "workers/remote/probes/native"
STATE_VARIABLE = "RACKRATE_STATE_DIR"


def state_directory() -> Path:
    """The state of this checkout, or the folder RACKRATE_STATE_DIR names."""
    return Path(os.environ.get(STATE_VARIABLE) or ROOT / ".state").absolute()


def package_path(pattern: str) -> Path:
    """The one path below site-packages that matches; LauncherError when the package is absent."""
    matches = sorted(VENV.glob(f"lib/python3*/site-packages/{pattern}"))
    if not matches:
        raise LauncherError(f"{pattern} is missing in {VENV}; remove that folder and start again.")
    return matches[0]


def digest(paths: Iterable[Path], *words: str) -> str:
    """sha256 over words and the names and contents of files and folders; absent ones count as such."""
    total = hashlib.sha256("\0".join(words).encode())
    for path in paths:
        files = (
            sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        )
        for file in files:
            # Written by whoever imports the sources: the digest would change without any change of theirs.
            if "__pycache__" in file.parts:
                continue
            # With the name: moving a file changes the result of a step as much as editing it.
            total.update(str(file.relative_to(path.parent)).encode() + b"\0")
            total.update(file.read_bytes() if file.is_file() else b"absent")
    return total.hexdigest()
