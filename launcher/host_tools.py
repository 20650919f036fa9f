"""Tools that measure this machine, from the packages of its own system but without changing it:
they are unpacked in the checkout, where the probes of the local host look last."""

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from launcher.console import LauncherError, say
from launcher.paths import HOST_TOOLS, TOOLS
from launcher.state import StackState
from launcher.steps import LOGS, tool

STRESS_NG = "stress-ng"
# Kept, so that nobody is asked at every start.
DECLINED = "tools-declined"
MANAGERS = {
    "apt-get": "sudo apt-get install stress-ng",
    "dnf": "sudo dnf install stress-ng",
    "yum": "sudo yum install stress-ng",
    "zypper": "sudo zypper install stress-ng",
    "apk": "sudo apk add stress-ng",
    "pacman": "sudo pacman -S stress-ng",
}
UNPACKED = TOOLS / "host-packages"
WITHIN_S = 300


def offer_stress_ng(state: StackState, *, is_asked_for: bool) -> bool:
    """Whether stress-ng is to be unpacked: asked for, or answered so, once, at a terminal."""
    if is_there():
        return False
    if is_asked_for:
        return True
    if _is_terminal() and _can_unpack() and not state.read(DECLINED):
        if _is_agreed():
            return True
        state.write(DECLINED, STRESS_NG)
    say(
        f"stress-ng is not installed, so nothing here compares with its published figures; {cure()}"
    )
    return False


def is_there() -> bool:
    """Whether the probes see a stress-ng."""
    return shutil.which(STRESS_NG, path=f"{os.environ.get('PATH', '')}:{HOST_TOOLS}") is not None


def cure() -> str:
    """The one command that makes stress-ng available."""
    return "./rackrate demo --install-tools" if _can_unpack() else _by_system()


def _by_system() -> str:
    known = next((text for name, text in MANAGERS.items() if shutil.which(name)), None)
    return known or "install it by your system's package manager"


def _can_unpack() -> bool:
    return all(map(shutil.which, ("apt-get", "dpkg-deb")))


def _is_terminal() -> bool:
    # Some CI systems give their jobs a terminal, at which nobody sits to answer.
    return sys.stdin.isatty() and sys.stdout.isatty() and not os.environ.get("CI")


def _is_agreed() -> bool:
    answer = input(
        "stress-ng is not installed. With it this machine compares with published figures of\n"
        "cloud machines. Unpack it in this checkout? Nothing outside changes. [Y/n] "
    )
    return answer.strip().lower() in {"", "y", "yes"}


def install_stress_ng() -> None:
    """Unpack stress-ng and the libraries it lacks; says what to do where that does not work."""
    say("  stress-ng …")
    try:
        _unpack()
    except LauncherError as error:
        shutil.rmtree(UNPACKED, ignore_errors=True)
        say(f"  stress-ng is left out: {error} To install it yourself: {_by_system()}")


def _unpack() -> None:
    if not _can_unpack():
        raise LauncherError("it is unpacked by apt-get and dpkg-deb, which are not here.")
    LOGS.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(UNPACKED, ignore_errors=True)
    archives, root = UNPACKED / "archives", UNPACKED / "root"
    archives.mkdir(parents=True)
    try:
        _fetch([], archives)
    except LauncherError:
        # The system's lists are empty or too old, and only root may renew them: lists of our own.
        lists, cache = UNPACKED / "lists", UNPACKED / "cache"
        (lists / "partial").mkdir(parents=True)
        (cache / "archives/partial").mkdir(parents=True)
        own = ["-o", f"Dir::State::lists={lists}", "-o", f"Dir::Cache={cache}"]
        _apt([*own, "update"], archives)
        _fetch(own, archives)
    for archive in sorted(archives.glob("*.deb")):
        tool(STRESS_NG, ["dpkg-deb", "-x", str(archive), str(root)])
    _wrap(root)
    shutil.rmtree(archives)


def _fetch(options: list[str], archives: Path) -> None:
    """stress-ng and what it needs that is not installed; nothing is upgraded."""
    # Only root may take the locks that installing needs; a simulation and `download` take none.
    planned = _apt([*options, "-s", "--no-install-recommends", "install", STRESS_NG], archives)
    _apt([*options, "download", *new_packages(planned.splitlines())], archives)


def new_packages(lines: Iterable[str]) -> list[str]:
    """Of what apt would do the packages that it would add, as name=version."""
    added = []
    for line in lines:
        # Inst NAME [INSTALLED] (VERSION ORIGIN …): with an installed version it is an upgrade.
        words = line.split()
        if len(words) > 2 and words[0] == "Inst" and words[2].startswith("("):
            added.append(f"{words[1]}={words[2].removeprefix('(')}")
    return added


def _apt(words: list[str], directory: Path) -> str:
    # Started by root, apt would fetch as the user _apt, who may not write into this folder.
    fixed = ["apt-get", "-q", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=1"]
    return tool(STRESS_NG, ["timeout", str(WITHIN_S), *fixed, *words], {"LC_ALL": "C"}, directory)


def _wrap(root: Path) -> None:
    """A command that runs the program with its own libraries, once it has shown that it starts."""
    libraries = sorted({str(path.parent) for path in root.rglob("*.so*")})
    program = root / "usr/bin" / STRESS_NG
    script = f"#!/bin/sh\nLD_LIBRARY_PATH='{os.pathsep.join(libraries)}' exec '{program}' \"$@\"\n"
    HOST_TOOLS.mkdir(parents=True, exist_ok=True)
    command = HOST_TOOLS / STRESS_NG
    draft = UNPACKED / STRESS_NG
    draft.write_text(script)
    draft.chmod(0o755)
    tool(STRESS_NG, [str(draft), "--version"])
    draft.replace(command)
