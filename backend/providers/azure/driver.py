"""Machines of Azure, through Microsoft's libraries for its Resource Manager.

- Each launch has a resource group of its own, whose name follows from the token. Network, firewall,
  address, disk and machine are in it, so deleting the group ends them all, and a group that Azure no
  longer knows is the proof. All of it carries our tags from the call that makes it.
- A machine is only made where there is none (`If-None-Match: *`), so a launch that is repeated finds
  the first one. Making one takes longer than a call may: launch raises TIMEOUT, "the launch goes
  on", until the machine has been given its place. One that got none is removed before the next zone.
- A machine that has switched itself off still costs its full price: engine and reaper end it.
- Its host key is made here, as for Hetzner: the private half goes to the machine in its custom
  data, which the API does not tell, and the fingerprint is a tag of the machine.
- Zones, which Azure numbers within a region, are `westeurope-1` here.

The libraries take seconds to load, so only methods import them. Their calls block: each method of
the driver is one visit to a thread. Nothing waits in the library: it would poll in a thread of its own.
"""

import asyncio
import datetime as dt
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

import asyncssh

from backend.foundation.errors import DriverError, Reason
from backend.providers.azure.documents import (
    ATTEMPT,
    FIREWALL,
    MACHINE,
    NETWORK,
    STATES,
    TOKEN,
    USERNAME,
    WORKSPACE,
    MachineOrder,
    SizeFeatures,
    console_key,
    failure,
    group_of,
    group_resource,
    moment,
    peer_rules,
    power_state,
    provisioning_state,
    tag_value,
)
from backend.providers.azure.library import Clients, translate_error
from backend.providers.azure.preflight import preflight_lines
from backend.providers.azure.refusals import error_of_code
from backend.providers.cloud_config import HOST_KEY_TYPE, user_data
from backend.providers.host_keys import HostKey
from backend.providers.machines import (
    Access,
    Inventory,
    LaunchSpec,
    MachineListing,
    Preflight,
    ProviderResource,
    ProviderResourceState,
    ResourceKind,
    unsupported_error,
)

P = ParamSpec("P")
T = TypeVar("T")
# Of the engine's 30; a launch that takes longer is asked about again.
LAUNCH_S = 18.0
LOOK_S = 1.0
# Azure's readers lag behind what it has written.
SHOWN_WITHIN = dt.timedelta(minutes=1)
# Kinds whose machines are ended without waiting for their shutdown.
FORCED = "Microsoft.Compute/virtualMachines"


class AzureDriver:
    """A subscription. Settings: subscription, tenant_id, client_id, subnet, address, regions,
    zones, image, username, tags, ssh_port, endpoint_url. Secret: client_secret, unless the worker's
    own identity is used."""

    def __init__(self, access: Access) -> None:
        self._subscription = _Subscription(access)

    async def whoami(self) -> str:
        return await _visit(self._subscription.identity)

    async def offers(self) -> Sequence[MachineListing]:
        return await _visit(self._subscription.offers)

    async def zones(self, machine_type: str, region: str) -> Sequence[str]:
        return await _visit(self._subscription.zones, machine_type, region)

    async def preflight(self, region: str, tag: str) -> Sequence[Preflight]:
        return await _visit(self._subscription.preflight_lines, region)

    async def rehearse(self, spec: LaunchSpec) -> None:
        """Azure knows no launch that is only tried."""

    async def launch(self, spec: LaunchSpec, token: str) -> ProviderResource:
        try:
            return await _visit(self._subscription.launch_machine, spec, token)
        except DriverError as error:
            # A call that was not answered may have made the machine: the engine must ask again.
            if error.reason != Reason.UNREACHABLE:
                raise
            raise DriverError(Reason.TIMEOUT, error.detail, retryable=True) from None

    async def describe(self, resource: ProviderResource) -> ProviderResource:
        return await _visit(self._subscription.described, resource)

    async def terminate(self, resource: ProviderResource) -> None:
        await _visit(self._subscription.terminate, resource)

    async def inventory(self, tag: str, *, token: str = "", region: str = "") -> Inventory:
        """In all regions of the subscription, also those that the account names no longer."""
        return await _visit(self._subscription.inventory, tag, token, region)

    async def let_in(self, resource: ProviderResource, address: str) -> str:
        return await _visit(self._subscription.let_in, resource, address)

    async def console_fingerprint(self, resource: ProviderResource) -> HostKey | None:
        """From the tag that was written when the machine was made."""
        return await _visit(self._subscription.console_fingerprint, resource)


DRIVER = AzureDriver


class _Subscription(Clients):
    """Calls in one subscription. Every method blocks and lets the library's errors through."""

    # --- who, what, where ---------------------------------------------------------------------

    def identity(self) -> str:
        # Azure has no question who we are: what the subscription shows us proves that the login is
        # let in.
        next(iter(self.groups.resource_groups.list(top=1)), None)
        who = self._settings.get("client_id") or "the worker's identity"
        return f"{who} in subscription {self.id}"

    def offers(self) -> list[MachineListing]:
        return [
            MachineListing(size["name"], region)
            for region in self._settings.get("regions", ())
            for size in self.sizes(region)
            if not _is_withheld(size)
        ]

    def sizes(self, region: str) -> Iterator[dict[str, Any]]:
        """Every size of machine in the region, with its zones and what this subscription may not."""
        for sku in self.compute.resource_skus.list(filter=f"location eq '{tag_value(region)}'"):
            if sku["resourceType"] == "virtualMachines":
                yield sku.as_dict()

    def zones(self, machine_type: str, region: str) -> list[str]:
        for size in self.sizes(region):
            if size["name"] == machine_type and not _is_withheld(size):
                return [f"{region}-{number}" for number in _zones(size)]
            if size["name"] == machine_type:
                detail = f"{machine_type} is not available to the subscription in {region}"
                raise unsupported_error(f"{detail}: ask Azure's support for access to it")
        raise unsupported_error(f"{region} does not sell {machine_type}")

    def _features(self, spec: LaunchSpec) -> SizeFeatures:
        """Defaults where the size is not listed any more: the launch itself is refused then."""
        named = (size for size in self.sizes(spec.region) if size["name"] == spec.machine_type)
        return SizeFeatures.of(next(named, {}))

    def preflight_lines(self, region: str) -> list[Preflight]:
        return preflight_lines(self, self._access, region)

    # --- machines -----------------------------------------------------------------------------

    def launch_machine(self, spec: LaunchSpec, token: str) -> ProviderResource:
        until = time.monotonic() + LAUNCH_S
        order = MachineOrder(spec, token, self._access)
        machine = self._machine(order.group)
        if machine is None:
            self._prepare(order, until)
            machine = self._make(order)
        while machine is not None and not power_state(machine):
            state = provisioning_state(machine)
            if state in {"Failed", "Canceled"}:
                raise self._gave_up(order, machine)
            if state == "Deleting":
                raise _goes_on("the machine of an earlier attempt is being removed")
            if state == "Succeeded":
                break
            _pause(until)
            machine = self._machine(order.group)
        if machine is None:
            raise _goes_on("the machine is not shown yet")
        asked = ProviderResource(
            order.group, ProviderResourceState.PENDING, token=token, region=spec.region
        )
        return self._show(asked, machine)

    def _prepare(self, order: MachineOrder, until: float) -> None:
        """The group with what a machine needs in it; doing it again changes nothing."""
        self.groups.resource_groups.create_or_update(order.group, order.group_body)
        firewalls, networks = (
            self.network.network_security_groups,
            self.network.virtual_networks,
        )
        firewalls.begin_create_or_update(order.group, FIREWALL, order.firewall_body, polling=False)
        is_own = not self._access.in_region("subnet", order.spec.region)
        if is_own:
            networks.begin_create_or_update(order.group, NETWORK, order.network_body, polling=False)
        _settle(lambda: firewalls.get(order.group, FIREWALL), until)
        if is_own:
            _settle(lambda: networks.get(order.group, NETWORK), until)

    def _make(self, order: MachineOrder) -> dict[str, Any] | None:
        from azure.core import MatchConditions

        key = asyncssh.generate_private_key(HOST_KEY_TYPE)
        private = key.export_private_key("openssh").decode()
        public = key.export_public_key("openssh").decode().strip()
        body = order.machine_body(
            self._features(order.spec),
            self.id,
            user_data(order.spec.lifetime_s, private, public),
            key.get_fingerprint("sha256"),
        )
        self.compute.virtual_machines.begin_create_or_update(
            order.group,
            MACHINE,
            body,
            # The one that is there is never changed: it has a host key of its own.
            match_condition=MatchConditions.IfMissing,
            etag="*",
            polling=False,
        )
        return self._machine(order.group)

    def _gave_up(self, order: MachineOrder, machine: dict[str, Any]) -> DriverError:
        """Why there is no machine; what is left of it is on its way out."""
        self.compute.virtual_machines.begin_delete(
            order.group, MACHINE, force_deletion=True, polling=False
        )
        if (machine.get("tags") or {}).get(ATTEMPT) != order.attempt:
            return _goes_on("the machine of an earlier attempt is being removed")
        code, message = failure(machine)
        error = error_of_code(code, 0, message)
        # It never ran, and no other one can have been made beside it.
        return DriverError(error.reason, error.detail, retryable=error.retryable, proves_none=True)

    def described(self, resource: ProviderResource) -> ProviderResource:
        group = self._or_none(self.groups.resource_groups.get, group_of(resource))
        if group is None:
            return replace(resource, state=ProviderResourceState.ABSENT)
        known = group_resource(group)
        if resource.kind == ResourceKind.RESOURCE_GROUP:
            return replace(known, kind=resource.kind)
        if known.state == ProviderResourceState.ENDING:
            return known
        if (machine := self._machine(resource.id)) is None:
            return _without_machine(known, resource.launched_at)
        return self._show(known, machine)

    def _show(self, known: ProviderResource, machine: dict[str, Any]) -> ProviderResource:
        """The machine of a group, as it is now."""
        state, why = (
            STATES.get(power_state(machine), ProviderResourceState.ENDING),
            power_state(machine),
        )
        if provisioning_state(machine) in {"Failed", "Canceled"}:
            state, why = ProviderResourceState.ENDING, ": ".join(failure(machine))
        elif provisioning_state(machine) == "Deleting":
            state, why = ProviderResourceState.ENDING, "the machine is being deleted"
        is_running = state == ProviderResourceState.RUNNING
        public, private = self._addresses(known.id) if is_running else ("", "")
        zone = next(iter(machine.get("zones") or ()), "")
        return replace(
            known,
            state=state,
            zone=f"{machine['location']}-{zone}" if zone else "",
            address=private if self._access.is_private else public,
            # A network of its own joins it to no other machine.
            private_address=private if self._access.in_region("subnet", known.region) else "",
            port=self._access.ssh_port,
            username=self._settings.get("username") or USERNAME,
            launched_at=moment(machine["properties"].get("timeCreated")),
            detail=why if state == ProviderResourceState.ENDING else "",
        )

    def _addresses(self, group: str) -> tuple[str, str]:
        """Public and private one; "" for what is not there yet."""
        public = (
            address.get("properties") or {}
            for address in self.network.public_ip_addresses.list(group)
        )
        private = (
            of_ip.get("properties") or {}
            for interface in self.network.network_interfaces.list(group)
            for of_ip in (interface.get("properties") or {}).get("ipConfigurations") or ()
        )
        return (
            next((str(address["ipAddress"]) for address in public if address.get("ipAddress")), ""),
            next(
                (
                    str(interface["privateIPAddress"])
                    for interface in private
                    if interface.get("privateIPAddress")
                ),
                "",
            ),
        )

    def _machine(self, group: str) -> dict[str, Any] | None:
        machine = self._or_none(
            self.compute.virtual_machines.get, group, MACHINE, expand="instanceView"
        )
        return machine.as_dict() if machine is not None else None

    def terminate(self, resource: ProviderResource) -> None:
        self._or_none(
            self.groups.resource_groups.begin_delete,
            group_of(resource),
            force_deletion_types=FORCED,
            polling=False,
        )

    def inventory(self, tag: str, token: str, region: str) -> Inventory:
        ours = f"tagName eq '{WORKSPACE}' and tagValue eq '{tag_value(tag)}'"
        groups = [group_resource(group) for group in self.groups.resource_groups.list(filter=ours)]
        # Azure filters by one tag at most, so the rest is left out here.
        listed = [
            resource
            for resource in groups
            if region in {"", resource.region} and token in {"", resource.token}
        ]
        if not listed:
            return Inventory()
        # One that never got its place costs nothing.
        launched = {
            (machine.get("tags") or {}).get(TOKEN): moment(machine["properties"].get("timeCreated"))
            for machine in self.compute.virtual_machines.list_all()
            if provisioning_state(machine) not in {"Failed", "Canceled"}
        }
        return Inventory(
            replace(resource, launched_at=launched[resource.token])
            if resource.token in launched
            else replace(resource, kind=ResourceKind.RESOURCE_GROUP)
            for resource in listed
        )

    def let_in(self, resource: ProviderResource, address: str) -> str:
        for name, rule in peer_rules(address).items():
            self.network.security_rules.begin_create_or_update(
                group_of(resource), FIREWALL, name, rule, polling=False
            )
        return f"rules peer and ping of {resource.id} let {address} in"

    def console_fingerprint(self, resource: ProviderResource) -> HostKey | None:
        machine = self._machine(group_of(resource))
        return console_key(machine) if machine else None

    def _or_none(self, call: Callable[..., Any], *args: Any, **fields: Any) -> Any:
        """The answer; None for what is not there."""
        from azure.core.exceptions import ResourceNotFoundError

        try:
            return call(*args, **fields)
        except ResourceNotFoundError as error:
            # A subscription that is not ours is not machine either, and says nothing about the machine.
            if error.error is not None and error.error.code == "SubscriptionNotFound":
                raise
            return None


def _without_machine(group: ProviderResource, launched_at: dt.datetime | None) -> ProviderResource:
    """A group whose machine is not shown. It is there and has to go, so it is not over."""
    now = dt.datetime.now(dt.UTC)
    if launched_at is None or now < launched_at + SHOWN_WITHIN:
        return replace(group, state=ProviderResourceState.PENDING)
    # Azure keeps a spot machine that it evicts.
    detail = "somebody took the machine away"
    return replace(group, state=ProviderResourceState.ENDING, detail=detail)


def _zones(size: dict[str, Any]) -> list[str]:
    """Where the size is sold to this subscription."""
    offered = {zone for at in size.get("locationInfo") or () for zone in at.get("zones") or ()}
    withheld = {
        zone
        for restriction in size.get("restrictions") or ()
        if restriction.get("type") == "Zone"
        for zone in (restriction.get("restrictionInfo") or {}).get("zones") or ()
    }
    return sorted(offered - withheld)


def _is_withheld(size: dict[str, Any]) -> bool:
    """True if the subscription may not have it anywhere in the region."""
    return any(
        restriction.get("type") == "Location" for restriction in size.get("restrictions") or ()
    )


def _settle(look: Callable[[], Any], until: float) -> None:
    """Wait until what was asked for is there."""
    while (state := (look().get("properties") or {}).get("provisioningState")) != "Succeeded":
        if state in {"Failed", "Canceled"}:
            raise DriverError(Reason.UNREACHABLE, f"a part of the network {state}", retryable=True)
        _pause(until)


def _pause(until: float) -> None:
    if time.monotonic() + LOOK_S > until:
        raise _goes_on("the launch goes on")
    time.sleep(LOOK_S)


def _goes_on(detail: str) -> DriverError:
    return DriverError(Reason.TIMEOUT, detail, retryable=True)


async def _visit(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    def worked() -> T:
        from azure.core.exceptions import AzureError

        try:
            return work(*args, **kwargs)
        except AzureError as error:
            raise translate_error(error) from None

    return await asyncio.to_thread(worked)
