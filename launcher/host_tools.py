"""Tools that measure this machine, from the packages of its own system but without changing it:
they are unpacked in the checkout, where the probes of the local host look last."""

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from launcher.console import LauncherError, say
from launcher.paths import HOST_TOOLS, TOOLS
from launcher.state import StackState
from launcher.steps import LOGS, tool


@dataclass(frozen=True)
class HostTool:
    """A tool of others and where its commands come from."""

    name: str
    commands: tuple[str, ...]
    unpacked: str
    """Debian's package with the commands, which is unpacked and not installed."""
    reason: str
    """Why it is missed, for people."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Package in a system's package manager, where that has another name."""


STRESS_NG = HostTool(
    "stress-ng",
    ("stress-ng",),
    "stress-ng",
    "nothing here compares with its published figures",
)
REDIS = HostTool(
    "Redis",
    ("redis-server", "redis-cli", "redis-benchmark"),
    "redis-server",
    "this machine has no general performance to compare",
    # redis-server would start a service; the tools have the same program.
    {"apt-get": "redis-tools", "pacman": "valkey", "": "redis"},
)
ALL = (STRESS_NG, REDIS)
# Kept, so that nobody is asked at every start.
DECLINED = "tools-declined"
MANAGERS = {
    "apt-get": "sudo apt-get install",
    "dnf": "sudo dnf install",
    "yum": "sudo yum install",
    "zypper": "sudo zypper install",
    "apk": "sudo apk add",
    "pacman": "sudo pacman -S",
}
UNPACKED = TOOLS / "host-packages"
WITHIN_S = 300
# Root is not asked, and a machine without a network is not to wait minutes for that.
NO_LONG_WAITS = ("Acquire::http::Timeout=10", "Acquire::https::Timeout=10")


def offer_tools(state: StackState, *, is_asked_for: bool) -> list[HostTool]:
    """The missing tools that are to be unpacked: asked for, agreed to once at a terminal, or without
    a question by root, who may do more."""
    missing = [each for each in ALL if not is_there(each)]
    if not missing or is_asked_for:
        return missing
    if _can_unpack() and not state.read(DECLINED):
        if _is_root():
            return missing
        if _is_terminal():
            if _is_agreed(missing):
                return missing
            state.write(DECLINED, " ".join(each.name for each in missing))
    for each in missing:
        say(f"{each.name} is not installed, so {each.reason}; {cure(each)}")
    return []


def is_there(host_tool: HostTool) -> bool:
    """True if the probes see its commands."""
    path = f"{os.environ.get('PATH', '')}:{HOST_TOOLS}"
    return all(shutil.which(command, path=path) for command in host_tool.commands)


def cure(missing: HostTool) -> str:
    """The one command that makes a tool available."""
    return "./rackrate demo --install-tools" if _can_unpack() else _by_system(missing)


def _by_system(missing: HostTool) -> str:
    default = missing.packages.get("", missing.unpacked)
    commands = (
        f"{command} {missing.packages.get(name, default)}"
        for name, command in MANAGERS.items()
        if shutil.which(name)
    )
    return next(commands, "install it by your system's package manager")


def _can_unpack() -> bool:
    return all(map(shutil.which, ("apt-get", "dpkg-deb")))


def _is_root() -> bool:
    return os.geteuid() == 0


def _is_terminal() -> bool:
    # Some CI systems give their jobs a terminal, at which nobody sits to answer.
    return sys.stdin.isatty() and sys.stdout.isatty() and not os.environ.get("CI")


def _is_agreed(missing: Sequence[HostTool]) -> bool:
    names = " and ".join(each.name for each in missing)
    answer = input(
        f"Not installed: {names}. With {'it' if len(missing) == 1 else 'them'} this machine compares"
        " with published figures of\ncloud machines. Unpack in this checkout? Nothing outside changes."
        " [Y/n] "
    )
    return answer.strip().lower() in {"", "y", "yes"}


def install_tool(missing: HostTool) -> None:
    """Unpack a tool and the libraries it lacks; says what to do where that does not work."""
    say(f"  {missing.name} …")
    directory = UNPACKED / missing.unpacked
    try:
        _unpack(missing, directory)
    except LauncherError as error:
        shutil.rmtree(directory, ignore_errors=True)
        say(f"  {missing.name} is left out: {error} To install it yourself: {_by_system(missing)}")


def _unpack(missing: HostTool, directory: Path) -> None:
    if not _can_unpack():
        raise LauncherError("it is unpacked by apt-get and dpkg-deb, which are not here.")
    LOGS.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(directory, ignore_errors=True)
    archives, root = directory / "archives", directory / "root"
    archives.mkdir(parents=True)
    try:
        _fetch(missing, [], archives)
    except LauncherError:
        # The system's lists are empty or too old, and only root may renew them: lists of our own.
        lists, cache = directory / "lists", directory / "cache"
        (lists / "partial").mkdir(parents=True)
        (cache / "archives/partial").mkdir(parents=True)
        own = ["-o", f"Dir::State::lists={lists}", "-o", f"Dir::Cache={cache}"]
        _apt(missing, [*own, "update"], archives)
        _fetch(missing, own, archives)
    for archive in sorted(archives.glob("*.deb")):
        tool(missing.name, ["dpkg-deb", "-x", str(archive), str(root)])
    _wrap(missing, root)
    shutil.rmtree(archives)


def _fetch(missing: HostTool, options: list[str], archives: Path) -> None:
    """The tool and what it needs that is not installed; nothing is upgraded."""
    # Only root may take the locks that installing needs; a simulation and `download` take none.
    simulated = [*options, "-s", "--no-install-recommends", "install", missing.unpacked]
    planned = _apt(missing, simulated, archives)
    _apt(missing, [*options, "download", *new_packages(planned.splitlines())], archives)


def new_packages(lines: Iterable[str]) -> list[str]:
    """Packages that apt would add, as name=version."""
    added = []
    for line in lines:
        # Inst NAME [INSTALLED] (VERSION ORIGIN …): with an installed version it is an upgrade.
        words = line.split()
        if len(words) > 2 and words[0] == "Inst" and words[2].startswith("("):
            added.append(f"{words[1]}={words[2].removeprefix('(')}")
    return added


def _apt(missing: HostTool, words: list[str], directory: Path) -> str:
    # Started by root, apt would fetch as the user _apt, who may not write into this folder.
    options = ("APT::Sandbox::User=root", "Acquire::Retries=1", *NO_LONG_WAITS)
    fixed = ["apt-get", "-q", *(word for option in options for word in ("-o", option))]
    command = ["timeout", str(WITHIN_S), *fixed, *words]
    return tool(missing.name, command, {"LC_ALL": "C"}, directory)


def _wrap(missing: HostTool, root: Path) -> None:
    """Commands that run the programs with their own libraries, once these have shown that they start."""
    libraries = os.pathsep.join(sorted({str(path.parent) for path in root.rglob("*.so*")}))
    HOST_TOOLS.mkdir(parents=True, exist_ok=True)
    drafts = []
    for command in missing.commands:
        draft = root / command
        program = f"exec '{root / 'usr/bin' / command}' \"$@\""
        draft.write_text(f"#!/bin/sh\nLD_LIBRARY_PATH='{libraries}' {program}\n")
        draft.chmod(0o755)
        tool(missing.name, [str(draft), "--version"])
        drafts.append(draft)
    for draft in drafts:
        draft.replace(HOST_TOOLS / draft.name)
