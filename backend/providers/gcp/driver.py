"""Machines of Google Cloud, through the REST API of Compute Engine.

Google itself ends a machine after its lifetime, counted from its start: a duration and not a point
in time (the API takes one of the two), so that no clock of ours matters. A machine that is stopped
and started again would get the whole duration anew; nothing here does that, the shipped role
(docs/policies/gcp-role.yaml) does not allow it, and the reaper goes by the label `expires`.

The library takes seconds to load, so only methods import it. Its calls block: each method of the
driver is one visit to a thread. The library's own waiting for operations is not used, because that
asks Google's address whatever the endpoint is.

The project's network must let SSH in, as the network `default` does.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from backend.foundation.errors import DriverError, Reason
from backend.providers.console import console_host_key
from backend.providers.gcp.documents import (
    TOKEN,
    WORKSPACE,
    call_error,
    demand_success,
    disk,
    failures,
    label,
    machine,
    moment,
    operation_text,
    words,
)
from backend.providers.gcp.firewall import Firewalls
from backend.providers.gcp.launching import ZoneLaunch
from backend.providers.gcp.os_login import OsLogin, credentials_of, uses_os_login
from backend.providers.gcp.preflight import preflight_lines
from backend.providers.host_keys import HostKey, best_key, host_key
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

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

P = ParamSpec("P")
T = TypeVar("T")
CALL_S = 10


class GcpDriver:
    """A project. Settings: project, network, regions, zones, image, username, ssh_port,
    endpoint_url. Secret: service_account_json, unless the worker's own identity is used."""

    def __init__(self, access: Access) -> None:
        self._project = _Project(access)

    async def whoami(self) -> str:
        return await _visit(self._project.identity)

    async def offers(self) -> Sequence[MachineListing]:
        return await _visit(self._project.offers)

    async def zones(self, machine_type: str, region: str) -> Sequence[str]:
        return await _visit(self._project.zones, machine_type, region)

    async def preflight(self, region: str, tag: str) -> Sequence[Preflight]:
        return await _visit(self._project.preflight_lines, region)

    async def rehearse(self, spec: LaunchSpec) -> None:
        """Compute Engine knows no launch that is only tried."""

    async def launch(self, spec: LaunchSpec, token: str) -> ProviderResource:
        """Request id and machine name follow from the token: Google answers a repeated call with
        the outcome of the first one, and refuses the name when it has forgotten that call.

        A spot machine has no highest price here: Google asks the same of everybody.
        """
        return await _visit(self._project.launch_machine, spec, token)

    async def describe(self, resource: ProviderResource) -> ProviderResource:
        return await _visit(self._project.described, resource)

    async def terminate(self, resource: ProviderResource) -> None:
        await _visit(self._project.terminate, resource)

    async def inventory(self, tag: str, *, token: str = "", region: str = "") -> Inventory:
        """From all zones of the project, so that nothing hides in a region that the account names
        no longer. Of disks only those that no machine holds: the others go with their machine.

        A zone that does not answer leaves its region unread."""
        return await _visit(self._project.inventory, tag, token, region)

    async def let_in(self, resource: ProviderResource, address: str) -> str:
        return await _visit(self._project.let_in, resource, address)

    async def console_fingerprint(self, resource: ProviderResource) -> HostKey | None:
        """From the guest attributes, where Google's images write it, else the serial console."""
        return await _visit(self._project.console_fingerprint, resource)


DRIVER = GcpDriver


class _Project:
    """Calls in one project. Every method blocks and lets the library's errors through."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._settings = access.settings
        self._clients: dict[str, Any] = {}
        self._firewalls = Firewalls(self._ask, access)

    def _ask(self, name: str, method: str, **fields: Any) -> Any:
        """A call, tried once: `_ask("Instances", "get", zone=…, instance=…)`."""
        if name not in self._clients:
            from google.cloud import compute_v1

            endpoint = self._settings.get("endpoint_url")
            self._clients[name] = getattr(compute_v1, f"{name}Client")(
                transport="rest",
                credentials=self._credentials,
                client_options={"api_endpoint": endpoint} if endpoint else None,
            )
        request = {"project": self._settings.get("project", ""), **fields}
        # Without retry: the library's own would go on for minutes, beyond the step.
        return getattr(self._clients[name], method)(request=request, timeout=CALL_S, retry=None)

    def _get(self, name: str, method: str, **fields: Any) -> Any:
        """The same; None for what is not there."""
        from google.api_core.exceptions import NotFound

        try:
            return self._ask(name, method, **fields)
        except NotFound:
            return None

    @cached_property
    def _credentials(self) -> "Credentials":
        return credentials_of(self._access)

    @cached_property
    def _os_login(self) -> OsLogin | None:
        """None where machines are logged in to with keys in their metadata."""
        return OsLogin(self._access, self._credentials) if uses_os_login(self._access) else None

    # --- who, what, where ---------------------------------------------------------------------

    def identity(self) -> str:
        project = self._ask("Projects", "get")
        who = getattr(self._credentials, "service_account_email", None) or "anonymous"
        return f"{who} in {project.name}"

    def offers(self) -> list[MachineListing]:
        listings = {
            MachineListing(kind.name, region): None
            for region in self._settings.get("regions", ())
            for zone in self._zones(region)
            for kind in self._ask("MachineTypes", "list", zone=zone)
        }
        return list(listings)

    def _zones(self, region: str) -> list[str]:
        """The account's zones of a region, or else all of them."""
        named: list[str] = self._settings.get("zones", {}).get(region, [])
        # Sorted, so that a launch that is done again asks in the same zone.
        zones = named or sorted(
            zone.name
            for zone in self._ask("Zones", "list")
            if zone.region.endswith(f"/regions/{region}")
        )
        if not zones:
            raise unsupported_error(f"no zone in region {region}")
        return zones

    def zones(self, machine_type: str, region: str) -> list[str]:
        """Zones of a region need not sell the same types."""
        named = f'name = "{machine_type}"'
        pages = self._ask("MachineTypes", "aggregated_list", filter=named).pages
        zones = sorted(
            scope.rpartition("/")[2]
            for page in pages
            for scope, part in page.items.items()
            if _is_in(scope, region) and part.machine_types
        )
        if zones:
            return zones
        raise unsupported_error(f"{region} does not sell {machine_type}")

    def preflight_lines(self, region: str) -> list[Preflight]:
        return preflight_lines(self._ask, self._access, region, self._os_login)

    # --- machines and disks -------------------------------------------------------------------

    def launch_machine(self, spec: LaunchSpec, token: str) -> ProviderResource:
        try:
            return self._launch(spec, token)
        except failures() as failure:
            error = call_error(failure)
            is_lost = error.reason == Reason.UNREACHABLE
            # A call that was not answered may have made the machine: the engine must ask again.
            reason = Reason.TIMEOUT if is_lost else error.reason
            raise DriverError(reason, error.detail, retryable=error.retryable) from None

    def _launch(self, spec: LaunchSpec, token: str) -> ProviderResource:
        from google.api_core.exceptions import Conflict

        zone = spec.zone or self._zones(spec.region)[0]
        launch = ZoneLaunch(self._ask, self._access, spec, token, zone)
        if self._os_login:
            self._os_login.let_in(spec, token)
        began = None
        try:
            began = launch.begin()
        except Conflict as error:
            # Google forgets ids of requests after a while; the name then shows that the machine is ours.
            if "alreadyExists" not in words(error):
                raise
        made = ProviderResource(
            id=f"{zone}/{launch.name}",
            state=ProviderResourceState.PENDING,
            token=token,
            region=spec.region,
            zone=zone,
            launched_at=began,
            expires_at=spec.expires_at,
        )
        # A machine just made may not be shown yet.
        return self._machine(made) or made

    def described(self, resource: ProviderResource) -> ProviderResource:
        if resource.kind == ResourceKind.DISK:
            row = self._get("Disks", "get", **_path(resource, "disk"))
            return disk(row) if row else replace(resource, state=ProviderResourceState.ABSENT)
        if resource.kind == ResourceKind.KEY_PAIR:
            return self._key_owner().described(resource)
        if resource.kind == ResourceKind.FIREWALL:
            return self._firewalls.described(resource)
        shown = self._machine(resource) or self._over(resource)
        if self._os_login and shown.state == ProviderResourceState.RUNNING:
            return replace(shown, username=self._os_login.username())
        return shown

    def _key_owner(self) -> OsLogin:
        # Also of an account that has gone back to keys in the metadata meanwhile.
        return self._os_login or OsLogin(self._access, self._credentials)

    def _machine(self, resource: ProviderResource) -> ProviderResource | None:
        row = self._get("Instances", "get", **_path(resource, "instance"))
        return machine(row, self._access) if row else None

    def _over(self, resource: ProviderResource) -> ProviderResource:
        """A machine that Google does not show, with its end if the operations tell of one.

        A launch that failed proves that it is no more, and so does anything that happened to it
        after the launch. A launch that succeeded does not: the machine may not be shown yet.
        """
        path = _path(resource, "instance")
        operations = self._ask(
            "ZoneOperations",
            "list",
            zone=path["zone"],
            filter=f'targetLink eq ".*/instances/{path["instance"]}"',
            order_by="creationTimestamp desc",
        )
        done = [operation for operation in operations if operation.status.name == "DONE"]
        ends = [o for o in done if bool(o.error.errors) == (o.operation_type == "insert")]
        # A later operation means that the machine was there after what looks like its end.
        if not ends or done[0] is not ends[0]:
            return replace(resource, state=ProviderResourceState.ABSENT)
        return replace(
            resource,
            state=ProviderResourceState.GONE,
            ended_at=moment(ends[0].end_time),
            detail=", ".join(operation_text(operation) for operation in reversed(ends)),
        )

    def terminate(self, resource: ProviderResource) -> None:
        if resource.kind == ResourceKind.KEY_PAIR:
            self._key_owner().remove(resource)
            return
        if resource.kind == ResourceKind.FIREWALL:
            self._firewalls.remove(resource)
            return
        if resource.kind == ResourceKind.DISK:
            operation = self._get("Disks", "delete_unary", **_path(resource, "disk"))
        else:
            operation = self._get("Instances", "delete_unary", **_path(resource, "instance"))
        if operation is not None:
            demand_success(operation)

    def inventory(self, tag: str, token: str, region: str) -> Inventory:
        labels = {WORKSPACE: tag} | ({TOKEN: token} if token else {})
        labelled = " AND ".join(f'(labels.{key} = "{label(labels[key])}")' for key in labels)
        missing: set[str] = set()
        disks = [
            row for row in self._everywhere("disks", labelled, region, missing) if not row.users
        ]
        machines = [*self._everywhere("instances", labelled, region, missing)]
        unread = {
            scope.rpartition("/")[2].rpartition("-")[0]: DriverError(
                Reason.UNREACHABLE, f"no answer from {scope}", retryable=True
            )
            for scope in sorted(missing)
        }
        # Of one launch every zone counts: it may be in just the one that is silent.
        if unread and (token or region):
            raise next(iter(unread.values()))
        keys = self._os_login.keys(tag, token) if self._os_login else []
        parts = [*map(disk, disks), *keys, *self._firewalls.listed(tag, token, region)]
        listed = [*(machine(row, self._access) for row in machines), *parts]
        return Inventory(listed, unread)

    def _everywhere(
        self, kind: str, labelled: str, region: str, missing: set[str]
    ) -> Iterator[Any]:
        """Machines of all zones, or those of a region; zones that do not answer are added to
        `missing`."""
        for page in self._ask(kind.title(), "aggregated_list", filter=labelled).pages:
            missing.update(scope for scope in page.unreachables if _is_in(scope, region))
            for scope, part in page.items.items():
                if not _is_in(scope, region):
                    continue
                if part.warning.code == "UNREACHABLE":
                    missing.add(scope)
                yield from getattr(part, kind)

    def let_in(self, resource: ProviderResource, address: str) -> str:
        row = self._ask("Instances", "get", **_path(resource, "instance"))
        return self._firewalls.let_in(row, resource.region, address)

    def console_fingerprint(self, resource: ProviderResource) -> HostKey | None:
        from google.api_core.exceptions import BadRequest

        try:
            return self._fingerprint(_path(resource, "instance"))
        except BadRequest as error:
            if "resourceNotReady" in words(error):
                return None
            raise

    def _fingerprint(self, path: dict[str, str]) -> HostKey | None:
        from google.api_core.exceptions import PreconditionFailed

        try:
            attributes = self._get(
                "Instances", "get_guest_attributes", **path, query_path="hostkeys/"
            )
        except PreconditionFailed:  # an organisation may switch them off
            attributes = None
        entries = attributes.query_value.items if attributes else ()
        keys = (host_key(f"{entry.key} {entry.value}") for entry in entries)
        if key := best_key(key for key in keys if key is not None):
            return key
        console = self._get("Instances", "get_serial_port_output", **path, port=1)
        return console_host_key(console.contents) if console else None


def _is_in(scope: str, region: str) -> bool:
    """True if a scope such as `zones/europe-west1-b` lies in the region; in "" all do."""
    return not region or scope.rpartition("/")[2].startswith(f"{region}-")


def _path(resource: ProviderResource, kind: str) -> dict[str, str]:
    """Names for a request, from our ids: `zone/name`, of disks `zone/disks/name`."""
    zone, _, name = resource.id.partition("/")
    if not name:
        raise unsupported_error(f"{resource.id!r} is no id")
    return {"zone": zone, kind: name.removeprefix("disks/")}


async def _visit(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return await asyncio.to_thread(work, *args, **kwargs)
    except failures() as error:
        raise call_error(error) from None
