"""Firewall rules of Google Cloud that let one machine in to another one, for the network tests.

A rule carries no labels, so its description says whose it is. It names the machine that it opens by the
tag of its launch, and is ended and listed like any other part of that.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from backend.foundation.errors import DriverError, Reason
from backend.providers.gcp.documents import (
    EXPIRES,
    EXPIRES_FORMAT,
    TOKEN,
    WORKSPACE,
    call_error,
    demand_success,
)
from backend.providers.machines import (
    INSTALLATION,
    PEER_PORTS,
    Access,
    ProviderResource,
    ProviderResourceState,
    ResourceKind,
    time_of_label,
    unsupported_error,
)

if TYPE_CHECKING:
    from google.cloud import compute_v1

Ask = Callable[..., Any]
ID_PREFIX = "firewalls/"
REGION = "region"
MARKS = (WORKSPACE, TOKEN, INSTALLATION, EXPIRES)


class Firewalls:
    """Firewall rules of the account's network; lets the library's errors through."""

    def __init__(self, ask: Ask, access: Access) -> None:
        self._ask, self._access = ask, access

    def let_in(self, machine: "compute_v1.Instance", region: str, address: str) -> str:
        """Make the machine's rule, unless it is there."""
        from google.api_core.exceptions import Conflict

        network = self._network(region)
        marks = {key: machine.labels[key] for key in MARKS if key in machine.labels}
        ports = ["{}-{}".format(*PEER_PORTS)]
        rule = {
            "name": machine.name,
            "network": network,
            "description": json.dumps({**marks, REGION: region}),
            "direction": "INGRESS",
            "source_ranges": [f"{address}/32"],
            "target_tags": [machine.name],
            "allowed": [
                {"I_p_protocol": "tcp", "ports": ports},
                {"I_p_protocol": "udp", "ports": ports},
                {"I_p_protocol": "icmp"},
            ],
        }
        try:
            made = self._ask("Firewalls", "insert_unary", firewall_resource=rule)
            if made.status.name != "DONE":
                made = self._ask("GlobalOperations", "wait", operation=made.name)
            demand_success(made)
            if made.status.name != "DONE":
                raise DriverError(
                    Reason.TIMEOUT, "the firewall rule is not there yet", retryable=True
                )
        except Conflict:  # an earlier call made it
            pass
        return f"the firewall rule {machine.name} lets {address} in, for the network tests"

    def _network(self, region: str) -> str:
        """The whole path of the network that the machine is in."""
        named = self._access.in_region("network", region) or "default"
        if "subnetworks/" in named:
            name = named.rpartition("/")[2]
            subnetwork = self._ask("Subnetworks", "get", region=region, subnetwork=name)
            return str(subnetwork.network)
        if named.startswith("projects/"):
            # Its rules belong to the project that shares it, in which nothing is ours.
            raise unsupported_error(
                f"the network {named} is shared: no rule can be made for a pair in it"
            )
        return named if "/" in named else f"global/networks/{named}"

    def listed(self, tag: str, token: str, region: str) -> list[ProviderResource]:
        """Rules of our launches, or of one."""
        from google.api_core.exceptions import Forbidden

        try:
            rules: Iterable[Any] = list(self._ask("Firewalls", "list"))
        except Forbidden as error:
            # Too many calls may be 403 as well. Whoever may list none has made none either.
            if call_error(error).reason != Reason.AUTH:
                raise
            return []
        shown = [(_marks(rule), rule) for rule in rules]
        return [
            _thing(rule, marks)
            for marks, rule in shown
            if marks.get(WORKSPACE) == tag
            and token in {"", marks.get(TOKEN)}
            and region in {"", marks.get(REGION)}
        ]

    def described(self, resource: ProviderResource) -> ProviderResource:
        from google.api_core.exceptions import NotFound

        try:
            rule = self._ask("Firewalls", "get", firewall=_name(resource))
        except NotFound:
            return replace(resource, state=ProviderResourceState.ABSENT)
        return _thing(rule, _marks(rule))

    def remove(self, resource: ProviderResource) -> None:
        from google.api_core.exceptions import NotFound

        try:
            demand_success(self._ask("Firewalls", "delete_unary", firewall=_name(resource)))
        except NotFound:
            return


def _name(resource: ProviderResource) -> str:
    if not resource.id.startswith(ID_PREFIX):
        raise unsupported_error(f"{resource.id!r} is no id of a firewall rule")
    return resource.id.removeprefix(ID_PREFIX)


def _marks(rule: Any) -> Mapping[str, str]:
    """Marks in the description of a rule; {} for one of somebody else's."""
    try:
        marks = json.loads(rule.description)
    except ValueError:
        return {}
    return marks if isinstance(marks, dict) else {}


def _thing(rule: Any, marks: Mapping[str, str]) -> ProviderResource:
    return ProviderResource(
        id=f"{ID_PREFIX}{rule.name}",
        state=ProviderResourceState.RUNNING,
        kind=ResourceKind.FIREWALL,
        token=marks.get(TOKEN, ""),
        installation=marks.get(INSTALLATION, ""),
        region=marks.get(REGION, ""),
        expires_at=time_of_label(marks.get(EXPIRES, ""), EXPIRES_FORMAT),
    )
