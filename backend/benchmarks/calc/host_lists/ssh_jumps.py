"""The machine in between that arguments and commands of ssh name."""

import shlex
from collections.abc import Iterator
from pathlib import PurePath

# Options of ssh that change neither the machine that it reaches nor how it logs in.
_HARMLESS = ("-q", "-T", "-x", "-a", "-n")


# Letters of options that decide which machine is reached, by their names in ssh_config.
_LETTERS = {"-J": "proxyjump", "-F": "-F", "-p": "port", "-l": "user"}
# What an inventory says instead of an option that sends ssh elsewhere.
_DECIDING = {
    "-F": "the variables of the host",
    "hostname": "ansible_host",
    "port": "ansible_port",
    "user": "ansible_user",
}


class Unfollowed(ValueError):
    """Arguments that change which machine ssh reaches, and what would say the same."""

    def __init__(self, option: str, instead: str) -> None:
        super().__init__(
            f"{option[:200]!r} among the arguments of ssh is not followed: write {instead}"
        )


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
    """The jump that arguments of ssh ask for, "" for none; NoJump for another ProxyCommand, Unfollowed
    for an argument that sends ssh elsewhere."""
    options = list(_options(arguments))
    for name, value in options:
        if name in _DECIDING:
            raise Unfollowed(f"{name} {value}".strip(), _DECIDING[name])
    for name, value in options:
        if value.lower() != "none" and name == "proxyjump":
            return value
        if value.lower() != "none" and name == "proxycommand":
            return jump_of_command(value)
    return ""


def _options(arguments: str) -> Iterator[tuple[str, str]]:
    """Names as ssh_config has them, in lower case, and their values."""
    words = words_of(arguments)
    if arguments.strip() and not words:
        raise Unfollowed(arguments, "quotes that match")
    rest = iter(words)
    for word in rest:
        if word[:2] in _LETTERS:
            yield _LETTERS[word[:2]], word[2:] or next(rest, "")
        elif word.startswith("-o"):
            option = word[2:].lstrip() or next(rest, "")
            name, _, value = option.replace("=", " ", 1).strip().partition(" ")
            yield name.lower(), value.strip().strip("\"'")
