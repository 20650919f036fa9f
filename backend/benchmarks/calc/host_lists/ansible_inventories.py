"""Ansible inventories, INI and YAML:
https://docs.ansible.com/ansible/latest/inventory_guide/intro_inventory.html, read on 2026-11-23."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import yaml

from backend.benchmarks.calc.host_lists.listed_hosts import MAX_HOSTS, HostReading
from backend.benchmarks.calc.host_lists.ssh_jumps import NoJump, jump_of_arguments

_RANGE = re.compile(r"\[(\w+):(\w+)(?::(\d{1,6}))?\]")
# A host with its port; an address of IPv6 stands in brackets then.
_WITH_PORT = re.compile(
    r"(?:\[([0-9a-fA-F:.]*:[0-9a-fA-F:.]*)\]|((?:[^:\[\]]|\[[^\]]*\])+)):(\d{1,5})"
)
_SECTION = re.compile(r"\[([^\]:]+)(?::(children|vars))?\]\s*(?:#.*)?")
# user@name:port of a jump, of which the name says which host it is.
_JUMP = re.compile(r"(?:ssh://)?(?:[^\s@,]+@)?\[?([^\s,@\]]+?)\]?(?::\d+)?")
# How the first line that says something begins in YAML (and JSON, which is YAML): a group, never an INI host.
_YAML = re.compile(r"---|\{|[\"']?[\w.-]+[\"']?\s*:(?:\s|$)")
# A file of a few lines may nest so deep that reading it never ends; no inventory comes near.
_MOST_LEVELS = 50
_WRITES_OUT = "`ansible-inventory --list --yaml` writes the hosts out"
# The variables that say how a host is logged in to: for ansible-core the old name counts more
# (MAGIC_VARIABLE_MAPPING lists both).
_LOGIN = {
    "address": ("ansible_ssh_host", "ansible_host"),
    "port": ("ansible_ssh_port", "ansible_port"),
    "username": ("ansible_ssh_user", "ansible_user"),
}
# In the order in which ssh gets them, so that the first jump of all counts.
_ARGUMENTS = ("ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args")
_CONNECTION = "ansible_connection"
_BY_SSH = ("ssh", "smart", "paramiko", "paramiko_ssh")
_PRIORITY = "ansible_group_priority"
_LOGIN_VARIABLES = frozenset(
    [*(name for names in _LOGIN.values() for name in names), *_ARGUMENTS, _CONNECTION]
)


@dataclass
class _Group:
    parents: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)


@dataclass
class _Inventory:
    """Content of either form."""

    reading: HostReading
    groups: dict[str, _Group] = field(default_factory=lambda: {"all": _Group()})
    hosts: dict[str, tuple[int, set[str], dict[str, str]]] = field(default_factory=dict)
    """The line that first names each, its own groups and variables."""

    def group(self, name: str) -> _Group:
        return self.groups.setdefault(name, _Group())

    def add(self, line: int, pattern: str, group: str, values: Mapping[str, str]) -> None:
        """The hosts of a pattern, which another line may have named before."""
        try:
            # One more than allowed shows that there are too many, however many two ranges make.
            names = list(islice(_expand_range(pattern), MAX_HOSTS + 1))
        except ValueError:
            self.reading.refuse(line, f"{pattern!r} is no range such as [01:20] or [a:f]")
            return
        for name in names:
            _, groups, before = self.hosts.setdefault(name, (line, set(), {}))
            groups.add(group)
            before |= values

    def list_hosts(self) -> None:
        for name, (line, own, values) in self.hosts.items():
            order = _ancestors(own, self.groups)
            merged: dict[str, str] = {}
            for group in order:
                merged |= self.group(group).values
            merged |= values
            login = {
                field: next((merged[name] for name in names if name in merged), "")
                for field, names in _LOGIN.items()
            }
            try:
                _refuse_templates(merged)
                login["bastion"] = _bastion(merged)
            except ValueError as error:
                self.reading.refuse(line, f"{name}: {error}")
                continue
            # Groups are the tags, except those that each host is in.
            tags = " ".join(group for group in order if group not in {"all", "ungrouped"})
            self.reading.add(line, {"name": name, "tags": tags, **login})


def _refuse_templates(variables: Mapping[str, str]) -> None:
    """ValueError for a variable of the login that only Ansible could fill in."""
    for name in sorted(_LOGIN_VARIABLES & variables.keys()):
        if "{{" in variables[name]:
            raise ValueError(
                f"{name} is the template {variables[name][:80]!r}, which only Ansible fills in: write "
                "its value"
            )


def _bastion(variables: Mapping[str, str]) -> str:
    """The host that a host is reached through, "" for none; ValueError for a way that is none of ssh's."""
    connection = variables.get(_CONNECTION, "ssh")
    if connection.removeprefix("ansible.builtin.") not in _BY_SSH:
        raise ValueError(
            f"{_CONNECTION} is {connection[:40]!r}, and only hosts that ssh reaches are read: leave it out"
        )
    arguments = (variables.get(name, "") for name in _ARGUMENTS)
    try:
        jump = next(filter(None, map(jump_of_arguments, arguments)), "")
    except NoJump as error:
        raise ValueError(
            f"the ProxyCommand {str(error)[:200]!r} is not run here: name the bastion by -J"
        ) from error
    match = _JUMP.fullmatch(jump)
    if jump and match is None:
        raise ValueError(
            f"{jump[:80]!r} is not one bastion: name the last one, and its own in its own variables"
        )
    return match[1] if match else ""


def read_ansible(text: str, reading: HostReading) -> None:
    """The hosts of an inventory, each with its variables and those of its groups."""
    inventory = _Inventory(reading)
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and line[0] not in "#;"), "")
    (_read_yaml if _YAML.match(first) else _read_ini)(text, inventory)
    inventory.list_hosts()


# --- INI ------------------------------------------------------------------------------------------


def _read_ini(text: str, inventory: _Inventory) -> None:
    section, part = "ungrouped", None
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        if stripped.startswith("[") and not _WITH_PORT.match(stripped):
            if (match := _SECTION.fullmatch(stripped)) is None:
                detail = "not a section such as [web], [web:vars] or [web:children]"
                inventory.reading.refuse(number, detail)
                continue
            section, part = match[1], match[2]
            inventory.group(section)
        elif part == "children":
            inventory.group(stripped.split()[0]).parents.add(section)
        elif part == "vars":
            name, _, value = stripped.partition("=")
            inventory.group(section).values[name.strip()] = _unquote(value.strip())
        else:
            _ini_host(number, stripped, section, inventory)


def _unquote(text: str) -> str:
    """Without quotes around the whole, as Ansible reads them; those within are of the value."""
    is_quoted = len(text) > 1 and text[0] in "'\"" and text[0] == text[-1]
    return text[1:-1] if is_quoted and text[0] not in text[1:-1] else text


def _ini_host(number: int, line: str, section: str, inventory: _Inventory) -> None:
    try:
        pattern, *words = shlex.split(line, comments=True)
    except ValueError as error:
        inventory.reading.refuse(number, f"the quotes do not match: {error}")
        return
    if wrong := [word for word in words if "=" not in word]:
        inventory.reading.refuse(number, f"{wrong[0]!r} is not name=value")
        return
    values = dict(word.split("=", 1) for word in words)
    if match := _WITH_PORT.fullmatch(pattern):
        pattern, values = match[1] or match[2], {"ansible_port": match[3], **values}
    inventory.add(number, pattern, section, values)


# --- YAML -----------------------------------------------------------------------------------------


def _read_yaml(text: str, inventory: _Inventory) -> None:
    try:
        endless = _endless(text)
        root = None if endless else yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "a character that YAML does not allow"
        inventory.reading.refuse(mark.line + 1 if mark else 1, f"YAML: {problem}")
        return
    if endless:
        inventory.reading.refuse(*endless)
    entries = _entries(root, "the inventory", inventory.reading)
    if any(key.value == "_meta" for key, _ in entries):
        detail = f"this is what `ansible-inventory --list` prints as JSON; {_WRITES_OUT}"
        inventory.reading.refuse(1, detail)
        return
    for key, value in entries:
        if key.value == "plugin":
            detail = f"the hosts of a plugin are not asked for; {_WRITES_OUT}"
            inventory.reading.refuse(_line(key), detail)
        else:
            _yaml_group(key.value, value, inventory)


def _endless(text: str) -> tuple[int, str] | None:
    """The line of an alias or of levels without end, and what it is: a few of either could stand for
    millions of lines. None where there are none."""
    level = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        level += isinstance(event, yaml.CollectionStartEvent)
        level -= isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent):
            return _line(event), f"aliases (*name) are not read; {_WRITES_OUT}"
        if level > _MOST_LEVELS:
            return _line(event), f"more than {_MOST_LEVELS} levels"
    return None


def _yaml_group(name: str, node: yaml.Node, inventory: _Inventory) -> None:
    group = inventory.group(name)
    reading = inventory.reading
    for key, value in _entries(node, f"the group {name}", reading):
        match key.value:
            case "vars":
                group.values |= _yaml_values(value, f"vars of {name}", reading)
            case "hosts":
                for host, given in _entries(value, f"hosts of {name}", reading):
                    values = _yaml_values(given, host.value, reading)
                    inventory.add(_line(host), host.value, name, values)
            case "children":
                for child, inner in _entries(value, f"children of {name}", reading):
                    inventory.group(child.value).parents.add(name)
                    _yaml_group(child.value, inner, inventory)
            case other:
                detail = f"{other!r} in the group {name} is none of hosts, vars and children"
                reading.refuse(_line(key), detail)


def _yaml_values(node: yaml.Node, what: str, reading: HostReading) -> dict[str, str]:
    values = {}
    for key, value in _entries(node, what, reading):
        if _is_null(value):
            continue
        # Also what Ansible alone can read, such as `!vault`.
        if isinstance(value, yaml.ScalarNode) and value.tag.startswith("tag:yaml.org,2002:"):
            values[key.value] = value.value
        elif key.value in _LOGIN_VARIABLES:
            reading.refuse(_line(key), f"{key.value} is not plain text")
    return values


def _entries(
    node: yaml.Node | None, what: str, reading: HostReading
) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
    """The names of a mapping with what stands behind each; none of what is left open."""
    if node is None or _is_null(node):
        return []
    if not isinstance(node, yaml.MappingNode):
        reading.refuse(_line(node), f"{what}: names with a colon each are needed")
        return []
    entries: dict[str, tuple[yaml.ScalarNode, yaml.Node]] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            reading.refuse(_line(key), f"{what}: a name is needed before the colon")
        elif key.value in entries:
            # Ansible would forget the first one with all that is below it.
            first = _line(entries[key.value][0])
            reading.refuse(_line(key), f"{what}: line {first} names {key.value}, too")
        else:
            entries[key.value] = (key, value)
    return list(entries.values())


def _is_null(node: yaml.Node) -> bool:
    return bool(node.tag == "tag:yaml.org,2002:null")


def _line(what: yaml.Node | yaml.Event) -> int:
    mark: Any = what.start_mark
    return int(mark.line) + 1


# --- both -----------------------------------------------------------------------------------------


def _expand_range(pattern: str) -> Iterator[str]:
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
    every = int(match[3] or 1)
    if not 0 < len(steps) <= MAX_HOSTS or not every:
        raise ValueError(pattern)
    for step in steps[::every]:
        yield from _expand_range(pattern[: match.start()] + step + pattern[match.end() :])


def _ancestors(own: set[str], groups: Mapping[str, _Group]) -> list[str]:
    """The groups of a host in ansible-core's order, of which the last one wins: by depth, by
    ansible_group_priority, by name."""
    depths = {"all": 0}

    def climb(name: str, below: frozenset[str]) -> int:
        if name not in depths:
            parents = groups[name].parents - below if name in groups else set()
            depths[name] = 1 + max((climb(up, below | {name}) for up in sorted(parents)), default=0)
        return depths[name]

    def rank(name: str) -> tuple[int, int, str]:
        priority = groups[name].values.get(_PRIORITY, "") if name in groups else ""
        return depths[name], int(priority) if priority.isdecimal() else 1, name

    for name in own:
        climb(name, frozenset())
    return sorted(depths, key=rank)
