"""Preparation before anything runs: packages, assets, compiler, probes, test browser."""

import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from launcher import browser, node
from launcher.console import LauncherError
from launcher.environment import plain_environment, production_environment
from launcher.paths import LOCKS, MANAGE, NATIVE, PYTHON, ROOT, TOOLS, VENV, digest
from launcher.steps import SetupStep, run_steps, tool

NEEDED_BYTES = 2_500_000_000
OWN_UV = TOOLS / "uv/bin/uv"
ZIG = TOOLS / "zig"
PROVIDERS = ROOT / "backend/providers"  # their records make a style sheet
STATIC = ROOT / ".state/static"  # where the settings collect the pages unless set otherwise


def uv() -> str:
    """The installer: uv from PATH, else our own."""
    return shutil.which("uv") or str(OWN_UV)


def check_machine() -> None:
    """LauncherError when this machine cannot run the stack at all."""
    if sys.platform != "linux":
        raise LauncherError(
            f"./rackrate needs Linux, this is {sys.platform}; see docker-compose.yml instead."
        )
    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        libc = ""
    version = tuple(int(part) for part in libc.removeprefix("glibc ").split(".") if part.isdigit())
    # The oldest that the wheels of the lock files run on.
    if version < (2, 28):
        raise LauncherError(
            f"glibc 2.28 or newer is needed, this system has {libc or 'another C library'}."
        )


def check_space() -> None:
    """LauncherError when the disk is too full for a first set-up."""
    free = shutil.disk_usage(ROOT).free
    if free < NEEDED_BYTES:
        raise LauncherError(
            f"{ROOT} has {free / 1e9:.1f} GB of free space, {NEEDED_BYTES / 1e9:.1f} GB are needed."
        )


# --- the steps ----------------------------------------------------------------------------------
def _install_uv() -> None:
    if shutil.which("uv"):
        return
    pip = [sys.executable, "-m", "pip"]
    if subprocess.run([*pip, "--version"], capture_output=True, check=False).returncode:
        # Debian's Python may have no pip, but then often has venv, which carries one.
        helper = TOOLS / "pip"
        made = subprocess.run(
            [sys.executable, "-m", "venv", str(helper)], capture_output=True, check=False
        )
        if made.returncode:
            raise LauncherError(
                f"Neither pip nor venv works with {sys.executable}; install python3-pip (or put uv on PATH)."
            )
        pip = [str(helper / "bin/python"), "-m", "pip"]
    shutil.rmtree(TOOLS / "uv", ignore_errors=True)
    tool(
        "installer",
        [
            *pip,
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-cache-dir",
            "--retries",
            "2",
            "--target",
            str(TOOLS / "uv"),
            "--require-hashes",
            "-r",
            str(LOCKS / "uv.txt"),
        ],
    )


def _index_settings() -> dict[str, str]:
    """uv does not read pip's configuration; what it says of mirrors and certificates counts all the same."""
    environment = plain_environment()
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    known = {}
    for line in listing.splitlines():
        name, _, value = line.partition("=")
        known[name.rpartition(".")[2]] = value.strip("'\"")
    settings = {
        "UV_DEFAULT_INDEX": known.get("index-url"),
        "UV_INDEX": known.get("extra-index-url"),
        "SSL_CERT_FILE": known.get("cert"),
        # Mirrors may be slow at their first answer; uv ends after 30 s on its own.
        "UV_HTTP_TIMEOUT": known.get("default-timeout") or known.get("timeout") or "120",
    }
    return {key: value for key, value in settings.items() if value and key not in environment}


def _sync_packages(lock: Path) -> None:
    index = _index_settings()
    if not _venv_is_ours():
        shutil.rmtree(VENV, ignore_errors=True)
        tool("packages", [uv(), "venv", "--quiet", "--python", sys.executable, str(VENV)])
    sync = [uv(), "pip", "sync", "--quiet", "--python", str(PYTHON), "--require-hashes", str(lock)]
    tool("packages", sync, index)
    (VENV / "rackrate.json").write_text(
        json.dumps({"root": str(ROOT), "locks": [digest([lock]), digest([LOCKS / "runtime.txt"])]})
    )


def _venv_is_ours() -> bool:
    """True if .venv was made here: programs in a copied one start the original's Python."""
    try:
        about = json.loads((VENV / "rackrate.json").read_text())
    except (OSError, ValueError):
        return False
    return bool(about["root"] == str(ROOT) and os.access(PYTHON, os.X_OK))


def _packages_mark(lock: Path) -> str:
    """The lock's digest; also when a larger set that contains this one is installed."""
    mark = digest([lock])
    if not _venv_is_ours():
        return "absent"
    return mark if mark in json.loads((VENV / "rackrate.json").read_text())["locks"] else "outdated"


class _Packages(SetupStep):
    """Done when the environment's own note says so: the note dies with the environment."""

    def is_done(self) -> bool:
        return self.mark() not in {"absent", "outdated"}


def install_wheel(name: str, target: Path, lock: Path) -> None:
    """Install a hashed lock into a folder of its own, outside the environment."""
    shutil.rmtree(target, ignore_errors=True)
    tool(
        name,
        [
            uv(),
            "pip",
            "install",
            "--quiet",
            "--python",
            sys.executable,
            "--target",
            str(target),
            "--require-hashes",
            "-r",
            str(lock),
        ],
        _index_settings(),
    )


def _collect_static() -> None:
    tool(
        "static files",
        [str(PYTHON), str(MANAGE), "collectstatic", "--no-input", "--clear", "-v", "0"],
        production_environment(),
    )


def set_up(
    *,
    for_development: bool = False,
    only_packages: bool = False,
    with_browser: bool = False,
) -> None:
    """Make everything ready; quick when it is. One set-up of a checkout at a time."""
    check_machine()
    TOOLS.mkdir(exist_ok=True)
    STATIC.parent.mkdir(mode=0o700, exist_ok=True)
    with (TOOLS / "setup.lock").open("w") as lock_file:
        # Two terminals may start at once, and both would write the same folders.
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        steps = _package_steps(for_development)
        if not only_packages:
            steps += [*_probe_steps(), *_page_steps(for_development)]
        if with_browser and browser.from_path() is None:
            steps.append(_browser_step())
        if not all(step.is_done() for step in steps):
            # Only a first set-up fetches much.
            if not (VENV.is_dir() and ZIG.is_dir()):
                check_space()
            run_steps(steps)


def _package_steps(for_development: bool) -> list[SetupStep]:
    lock = LOCKS / ("dev.txt" if for_development else "runtime.txt")
    return [
        SetupStep("installer", _install_uv, lambda: digest([LOCKS / "uv.txt"]), (Path(uv()),)),
        _Packages(
            "packages",
            lambda: _sync_packages(lock),
            lambda: _packages_mark(lock),
            after=("installer",),
        ),
    ]


def _probe_steps() -> list[SetupStep]:
    own = platform.machine()
    sources = [path for path in NATIVE.iterdir() if path.is_file()]
    inputs = [*sorted(sources), NATIVE.parent / "build.py", LOCKS / "build.txt"]
    return [
        SetupStep(
            "compiler",
            lambda: install_wheel("compiler", ZIG, LOCKS / "build.txt"),
            lambda: digest([LOCKS / "build.txt"]),
            (ZIG / "ziglang/zig",),
            ("installer",),
        ),
        SetupStep(
            f"probes {own}",
            partial(_build_probes, own),
            lambda: digest(inputs),
            (NATIVE / "build" / own / "manifest.json",),
            ("compiler",),
        ),
    ]


def _build_probes(architecture: str) -> None:
    build = [sys.executable, "-m", "workers.remote.probes.build", "--arch", architecture]
    tool(f"probes {architecture}", build)


def _page_steps(for_development: bool) -> list[SetupStep]:
    lock, packages = ROOT / "package-lock.json", ROOT / "node_modules"
    sources = [ROOT / "frontend/src", ROOT / "frontend/build.mjs", lock]
    steps = [
        SetupStep(
            "web packages",
            lambda: node.npm_ci("web packages", ROOT, for_development=for_development),
            lambda: digest([lock]),
            (packages / ("@biomejs/biome" if for_development else "esbuild"),),
            ("node",),
        ),
        SetupStep(
            "pages",
            lambda: node.run("pages", ["frontend/build.mjs"]),
            lambda: digest(sources),
            (ROOT / "frontend/static", ROOT / "frontend/locale"),
            ("web packages",),
        ),
        SetupStep(
            "static files",
            _collect_static,
            lambda: digest(
                [*sources, *sorted(PROVIDERS.glob("*/__init__.py")), LOCKS / "runtime.txt"]
            ),
            (STATIC / "staticfiles.json",),
            ("packages", "pages"),
        ),
    ]
    return steps if node.from_path() else [_node_step(), *steps]


def _node_step() -> SetupStep:
    return SetupStep(
        "node",
        lambda: install_wheel("node", node.OWN, LOCKS / "node.txt"),
        lambda: digest([LOCKS / "node.txt"]),
        (node.OWN_NODE,),
        ("installer",),
    )


def _browser_step() -> SetupStep:
    return SetupStep(
        "browser",
        browser.install,
        lambda: digest([LOCKS / "browser/package-lock.json"]),
        (browser.WRAPPER,),
        ("packages", "node"),
    )
