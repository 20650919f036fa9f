"""The machine in between that arguments and commands of ssh name."""

import shlex
from pathlib import PurePath

# Options of ssh that change neither the machine that it reaches nor how it logs in.
_HARMLESS = ("-q", "-T", "-x", "-a", "-n")


class NoJump(ValueError):
    """A ProxyCommand that does more than to jump; its text is the command."""


def words_of(text: str) -> list[str]:
    """The words of a command line; none where its quotes do not match."""
    try:
        return shlex.split(text)
    except ValueError:
        return []


def jump_of_command(command: str) -> str:
    """`ssh -W %h:%p [-p PORT] [-l USER] HOST` as [USER@]HOST[:PORT], as ProxyJump has it; NoJump."""
    words = words_of(command.strip().removeprefix("exec "))
    values: dict[str, str] = {}
    hosts = []
    rest = iter(words[1:])
    for word in rest:
        if word[:2] in {"-W", "-p", "-l"}:
            values[word[1]] = word[2:] or next(rest, "")
        elif word not in _HARMLESS:
            hosts.append(word)
    is_ssh = bool(words) and PurePath(words[0]).name == "ssh"
    is_here = values.get("W") in {"%h:%p", "[%h]:%p"}
    if not (is_ssh and is_here and len(hosts) == 1) or hosts[0].startswith("-"):
        raise NoJump(command)
    user, at, host = hosts[0].removeprefix("ssh://").rpartition("@")
    user = user if at else values.get("l", "")
    # A port of the place itself counts more, and only a URI has one.
    port = values.get("p", "") if ":" not in host else ""
    return (f"{user}@" if user else "") + host + (f":{port}" if port else "")


def jump_of_arguments(arguments: str) -> str:
    """The jump that arguments of ssh ask for, "" for none; NoJump for another ProxyCommand."""
    rest = iter(words_of(arguments))
    for word in rest:
        if word.startswith("-J"):
            return word[2:] or next(rest, "")
        if word.startswith("-o"):
            option = word[2:].lstrip() or next(rest, "")
            name, _, value = option.replace("=", " ", 1).strip().partition(" ")
            value = value.strip().strip("\"'")
            if value.lower() != "none" and name.lower() == "proxyjump":
                return value
            if value.lower() != "none" and name.lower() == "proxycommand":
                return jump_of_command(value)
    return ""
