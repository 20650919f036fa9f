"""Ansible inventories: https://docs.ansible.com/ansible/latest/inventory_guide/intro_inventory.html, read on
2026-11-23."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from backend.domain.parsing.listed_hosts import MAX_HOSTS, HostReading

_RANGE = re.compile(r"\[(\w+):(\w+)\]")
_SECTION = re.compile(r"\[([^\]:]+)(?::(children|vars))?\]\s*(?:#.*)?")
_JUMP = re.compile(r"(?:-J\s*|ProxyJump[= ])(?:[^\s@'\"]+@)?([^\s,'\":]+)")


@dataclass
class _Group:
    parents: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)


def read_ansible(text: str, reading: HostReading) -> None:
    groups: dict[str, _Group] = {"all": _Group()}
    hosts: dict[str, tuple[int, set[str], dict[str, str]]] = {}
    section, part = "ungrouped", None
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        if stripped.startswith("["):
            if (match := _SECTION.fullmatch(stripped)) is None:
                reading.refuse(number, "not a section such as [web], [web:vars] or [web:children]")
                continue
            section, part = match[1], match[2]
            groups.setdefault(section, _Group())
        elif part == "children":
            groups.setdefault(stripped.split()[0], _Group()).parents.add(section)
        elif part == "vars":
            name, _, value = stripped.partition("=")
            groups[section].values[name.strip()] = value.strip().strip("'\"")
        else:
            _ansible_line(number, stripped, section, hosts, reading)
    for name, (number, own, values) in hosts.items():
        order = _ancestors(own, groups)
        merged: dict[str, str] = {}
        for group in order:
            merged |= groups[group].values if group in groups else {}
        merged |= values
        jump = _JUMP.search(merged.get("ansible_ssh_common_args", ""))
        reading.add(
            number,
            name=name,
            address=merged.get("ansible_host", merged.get("ansible_ssh_host", name)),
            port=merged.get("ansible_port", merged.get("ansible_ssh_port", "")),
            username=merged.get("ansible_user", merged.get("ansible_ssh_user", "")),
            tags=" ".join(one for one in order if one not in {"all", "ungrouped"}),
            bastion=jump[1] if jump else "",
        )


def _ansible_line(
    number: int,
    line: str,
    section: str,
    hosts: dict[str, tuple[int, set[str], dict[str, str]]],
    reading: HostReading,
) -> None:
    try:
        pattern, *words = shlex.split(line, comments=True)
    except ValueError as error:
        reading.refuse(number, f"the quotes do not match: {error}")
        return
    wrong = [word for word in words if "=" not in word]
    if wrong or pattern.endswith(":"):
        detail = f"{(wrong or [pattern])[0]!r} is not name=value; YAML inventories are not read"
        reading.refuse(number, detail)
        return
    try:
        names = list(_expanded(pattern))
    except ValueError:
        reading.refuse(number, f"{pattern!r} is no range such as [01:20] or [a:f]")
        return
    values = dict(word.split("=", 1) for word in words)
    for name in names:
        _, known, before = hosts.setdefault(name, (number, set(), {}))
        known.add(section)
        before |= values


def _expanded(pattern: str) -> Iterator[str]:
    """web[01:03] → web01, web02, web03; ValueError for a range without a meaning."""
    match = _RANGE.search(pattern)
    if match is None:
        yield pattern
        return
    first, last = match[1], match[2]
    if first.isdecimal() and last.isdecimal():
        steps = [f"{n:0{len(first)}d}" for n in range(int(first), min(int(last), 10**6) + 1)]
    elif len(first) == len(last) == 1 and first.isalpha() and last.isalpha():
        steps = [chr(n) for n in range(ord(first), ord(last) + 1)]
    else:
        raise ValueError(pattern)
    if not 0 < len(steps) <= MAX_HOSTS:
        raise ValueError(pattern)
    for step in steps:
        yield from _expanded(pattern[: match.start()] + step + pattern[match.end() :])


def _ancestors(own: set[str], groups: Mapping[str, _Group]) -> list[str]:
    """The groups of a host, those above first, so that the nearest one wins."""
    order: list[str] = []

    def climb(name: str, below: frozenset[str]) -> None:
        if name in order or name in below:
            return
        for parent in sorted(groups[name].parents if name in groups else ()):
            climb(parent, below | {name})
        order.append(name)

    for name in ("all", *sorted(own)):
        climb(name, frozenset())
    return order
