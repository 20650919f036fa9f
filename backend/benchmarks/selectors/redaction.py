"""Where hosts are and who logs in there: kept from strangers, and out of archives.

Known addresses go from every text, with the user before them and the port after. Messages lose
every other address, too, the names of the users and unusual ports.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from ipaddress import ip_address
from typing import Any, Protocol

from django.utils.functional import cached_property

from backend.accounts.models import Workspace
from backend.benchmarks.models import Evidence, Host, Run
from backend.measure.probes import NETWORK

HIDDEN = "…"
# Shorter words stand in every text: hiding them would blank figures and versions.
MIN_HIDDEN = 3
# Names that say nothing of a host, and that stand in many other words.
PUBLIC_USERS = frozenset({"", "root"})
# Well-known ports say nothing of a host, and their numbers stand in many counts.
MOST_PUBLIC_PORT = 1023
PEER_PARAMETERS = ("peer", "peer_address")
# Probes and imported tools that print addresses of their own finding.
NETWORK_PROBES = frozenset({NETWORK, "iperf3", "yabs"})
_USER = r"(?:[\w.-]+@)?"
_PORT = r"\]?(?:', \d+| port \d+|:\d+)?"
_ADDRESS = re.compile(rf"{_USER}\[?(?<![\w.:])([0-9a-fA-F.:]*[.:][0-9a-fA-F.:]*[0-9a-fA-F]){_PORT}")


@dataclass(frozen=True)
class Redaction:
    """Things to hide; `is_on` is False for callers who may see all."""

    addresses: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    is_on: bool = True

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        # The longest first: one address may begin with another.
        words = sorted(filter(None, self.addresses), key=len, reverse=True)
        joined = "|".join(re.escape(word) for word in words if len(word) >= MIN_HIDDEN)
        return re.compile(rf"{_USER}\[?(?:{joined}){_PORT}") if joined else None

    @cached_property
    def _logins(self) -> re.Pattern[str] | None:
        ports = {str(port) for port in self.ports if port > MOST_PUBLIC_PORT}
        words = sorted((set(self.users) - PUBLIC_USERS) | ports)
        joined = "|".join(map(re.escape, words))
        return re.compile(rf"\b(?:{joined})\b") if joined else None

    def output(self, text: str) -> str:
        """A text without the addresses that are known."""
        return self._pattern.sub(HIDDEN, text) if self.is_on and self._pattern else text

    def message(self, text: str) -> str:
        """A text without any address, and without what one needs to log in."""
        if not self.is_on:
            return text
        text = _ADDRESS.sub(_hide, self.output(text))
        return self._logins.sub(HIDDEN, text) if self._logins else text

    def evidence(self, item: Evidence, text: str) -> str:
        """Output of a command; of networks without any address."""
        return self.message(text) if item.probe in NETWORK_PROBES else self.output(text)

    def parameters(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters of a run or a campaign, without those that name a peer."""
        names = () if not self.is_on else PEER_PARAMETERS
        return {name: value for name, value in parameters.items() if name not in names}

    def value(self, value: Any) -> Any:
        """A value of JSON in which every text is an output."""
        match value:
            case str():
                return self.output(value)
            case dict():
                return {key: self.value(inner) for key, inner in value.items()}
            case list():
                return [self.value(inner) for inner in value]
            case _:
                return value


NOTHING_HIDDEN = Redaction(is_on=False)


def _hide(match: re.Match[str]) -> str:
    try:
        ip_address(match[1])
    except ValueError:
        # A time, a version, or an address with a port behind a colon.
        host, _, port = match[1].rpartition(":")
        return HIDDEN if port.isdecimal() and _is_address(host) else match[0]
    return HIDDEN


def _is_address(word: str) -> bool:
    try:
        ip_address(word)
    except ValueError:
        return False
    return True


class Caller(Protocol):
    """A person, the holder of a token, or a stranger."""

    @property
    def is_authenticated(self) -> bool: ...


def hosts_redaction(hosts: Iterable[Host]) -> Redaction:
    """Hides where the hosts are, and their bastions, which errors name too."""
    known = [machine for host in hosts for machine in host.route]
    return Redaction(
        addresses=tuple(host.address for host in known),
        users=tuple(host.username for host in known),
        ports=tuple(host.port for host in known),
    )


def run_redaction(run: Run) -> Redaction:
    """Hides where the host of a run and its peer are."""
    known = hosts_redaction(host for host in (run.host, run.peer) if host is not None)
    stated = (run.parameters.get("peer_address"), run.live.get("peer_address"))
    return replace(known, addresses=(*known.addresses, *(str(value) for value in stated if value)))


def redaction_for(caller: Caller, of: Host | Run | Workspace) -> Redaction:
    """Redaction of a host, a run or all hosts for a caller; nothing is hidden from who is known."""
    if caller.is_authenticated:
        return NOTHING_HIDDEN
    if isinstance(of, Workspace):
        return hosts_redaction(Host.objects.filter(workspace=of).select_related("bastion"))
    return run_redaction(of) if isinstance(of, Run) else hosts_redaction([of])
