"""Machines of Hetzner Cloud, through its REST API.

Three things are not as at larger providers:

- A launch cannot carry an idempotency key. The machine's name follows from the token, and Hetzner
  refuses a second one of that name in a project; it is looked up first, and again after a refusal.
- A machine that has switched itself off still costs its full price. It is set to switch itself off
  all the same, which ends the load and shows as ENDING, but only deleting it ends the bill: of the
  layers against leaks the last ones, engine and reaper, must do it here.
- The console's text cannot be read. Therefore the machine's host key is made here: its private half
  goes to the machine in the user data and is forgotten at once, and its fingerprint is written on
  the machine as a label in the very call that creates it. The label is what `console_fingerprint`
  tells. It needs no secret that has to outlive this process, a repeated launch finds it with the
  machine, and who could change it in the project could as well put another machine there. The user
  data can be read on the machine alone, and the API does not tell it.

Regions are Hetzner's locations. There are no zones and no spot machines.
"""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar

import asyncssh
import httpx

from backend.foundation.errors import DriverError, Reason
from backend.providers.cloud_config import HOST_KEY_TYPE, user_data
from backend.providers.host_keys import HostKey
from backend.providers.hoster_calls import HosterAccount, HosterError, Refusal, refusal
from backend.providers.machines import (
    INSTALLATION,
    Inventory,
    LaunchSpec,
    MachineListing,
    Overview,
    Preflight,
    ProviderResource,
    ProviderResourceState,
    ResourceKind,
    time_of_label,
    unsupported_error,
)

USERNAME = "root"
# Of the architecture that the type of machine has.
IMAGE = "debian-12"
WORKSPACE, TOKEN, EXPIRES = "rackrate-workspace", "rackrate-token", "rackrate-expires"
HOST_KEY = "rackrate-host-key"
EXPIRES_FORMAT = "%Y%m%dT%H%M%SZ"
LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
# Of our ids of SSH keys: Hetzner numbers them as it does servers, and one must not be ended for the other.
KEY_PREFIX = "key-"
PATHS = {ResourceKind.MACHINE: "servers", ResourceKind.KEY_PAIR: "ssh_keys"}
# Any other state is on the way to the end, or switched off, which costs the full price all the same.
STATES: Mapping[str, ProviderResourceState] = MappingProxyType(
    {
        "initializing": ProviderResourceState.PENDING,
        "starting": ProviderResourceState.PENDING,
        "running": ProviderResourceState.RUNNING,
        "migrating": ProviderResourceState.RUNNING,
        "rebuilding": ProviderResourceState.PENDING,
        "unknown": ProviderResourceState.PENDING,
    }
)


class HetznerDriver(HosterAccount):
    """A project. Settings: regions, image, username, ssh_port, endpoint_url; secret: token."""

    api = "https://api.hetzner.cloud/v1"
    call_s = 10
    # The most that a page may have.
    page_rows = 50
    # By the API's names of errors (docs.hetzner.cloud/reference/cloud#errors), with which texts begin.
    refusals: ClassVar[Sequence[Refusal]] = (
        refusal(r"^(unauthorized|forbidden|token_readonly):", Reason.AUTH),
        refusal(r"^resource_limit_exceeded:", Reason.QUOTA),
        refusal(r"^(resource_unavailable|placement_error):", Reason.CAPACITY, is_retryable=True),
        # Another action on the same machine is under way and ends by itself; or the name is taken by a
        # call of ours whose machine is not listed yet: it will be.
        refusal(r"^(locked|conflict|uniqueness_error):", Reason.UNSUPPORTED, is_retryable=True),
        refusal(r"^(maintenance|unavailable):", Reason.UNREACHABLE, is_retryable=True),
    )

    def _error_text(self, document: Any) -> str:
        error = document.get("error") or {}
        return f"{error.get('code')}: {error.get('message')}"

    def _pause_text(self, answer: httpx.Response) -> str:
        reset = answer.headers.get("RateLimit-Reset", "")
        # The limit is of calls an hour and refills by the second, which a person cannot see otherwise.
        if not reset.isdecimal() or answer.status_code != 429:
            return ""
        full_at = dt.datetime.fromtimestamp(int(reset), dt.UTC)
        limit = answer.headers.get("RateLimit-Limit", "?")
        return f"; {limit} an hour, full at {full_at:%H:%M:%S}"

    async def whoami(self) -> str:
        """Check the token: the API does not tell whose it is."""
        answer = await self.ask("GET", "/servers", query={"per_page": "1"})
        return f"a project with {answer['meta']['pagination']['total_entries']} servers"

    async def offers(self) -> Sequence[MachineListing]:
        types = await self.rows("/server_types", "server_types")
        regions = self._settings.get("regions", ())
        return [
            MachineListing(kind["name"], price["location"])
            for kind in types
            for price in kind["prices"]
            if price["location"] in regions
        ]

    async def preflight(self, region: str, tag: str) -> Sequence[Preflight]:
        """Hetzner tells neither limits nor whether it would let a launch pass."""
        overview = Overview(region)
        is_there = any(listing.region == region for listing in await self.offers())
        if is_there:
            overview.ready("region", "it sells machines")
        else:
            overview.not_ready("region", "it sells no machines", "See the locations of Hetzner.")
        overview.unknown("launch", "Hetzner tells limits only when they are reached")
        return overview.lines

    async def _launch(self, spec: LaunchSpec, token: str) -> ProviderResource:
        """Its SSH key is a resource of its own, made before."""
        name, labels = f"rackrate-{token}", _labels(spec, token)
        server = await self._find("servers", name)
        return self._machine(server or await self._make(spec, name, labels))

    async def _make(self, spec: LaunchSpec, name: str, labels: Mapping[str, str]) -> dict[str, Any]:
        key = await self._create(
            "ssh_keys",
            {"name": name, "public_key": " ".join(spec.public_key.split()[:2]), "labels": labels},
        )
        host_key = asyncssh.generate_private_key(HOST_KEY_TYPE)
        server = {
            "name": name,
            "server_type": spec.machine_type,
            "location": spec.region,
            "image": self._access.in_region("image", spec.region) or IMAGE,
            "ssh_keys": [key["id"]],
            "labels": {**labels, HOST_KEY: _as_label(host_key)},
            "user_data": _user_data(spec.lifetime_s, host_key),
        }
        return await self._create("servers", server)

    async def _find(self, kind: str, name: str) -> dict[str, Any] | None:
        """By name, which a project has once."""
        answer = await self.ask("GET", f"/{kind}", query={"name": name})
        return answer[kind][0] if answer[kind] else None

    async def _create(self, kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A new one, or the one of that name when there is one."""
        try:
            answer = await self.ask("POST", f"/{kind}", body=body)
        except HosterError as error:
            if not error.text.startswith("uniqueness_error:"):
                raise
            existing = await self._find(kind, body["name"])
            if existing is None:  # made by a call of ours a moment ago and not shown yet
                raise
            return existing
        # A failed action; none, or one that goes on, is fine.
        if failure := (answer.get("action") or {}).get("error"):
            text = f"{failure['code']}: {failure['message']}"
            reason, is_retryable = self._meaning(text, Reason.UNREACHABLE, is_retryable=True)
            raise DriverError(reason, text, retryable=is_retryable)
        created: dict[str, Any] = answer[kind.removesuffix("s")]
        return created

    async def describe(self, resource: ProviderResource) -> ProviderResource:
        if (answer := await self.get_or_none(_path(resource))) is None:
            return replace(resource, state=ProviderResourceState.ABSENT)
        if resource.kind == ResourceKind.KEY_PAIR:
            return _key(answer["ssh_key"])
        machine = self._machine(answer["server"])
        if machine.state == ProviderResourceState.RUNNING:
            return machine
        actions = await self.rows(f"/servers/{resource.id}/actions", "actions")
        return _judge_stopped(machine, answer["server"]["status"], actions)

    async def terminate(self, resource: ProviderResource) -> None:
        await self.get_or_none(_path(resource), method="DELETE")

    async def inventory(self, tag: str, *, token: str = "", region: str = "") -> Inventory:
        """In all locations. SSH keys have none and are listed with any region."""
        labels = {WORKSPACE: tag} | ({TOKEN: token} if token else {})
        query = {"label_selector": ",".join(f"{key}=={_label(labels[key])}" for key in labels)}
        servers = await self.rows("/servers", "servers", query=query)
        keys = await self.rows("/ssh_keys", "ssh_keys", query=query)
        machines = [self._machine(server) for server in servers]
        in_region = (machine for machine in machines if region in {"", machine.region})
        return Inventory([*in_region, *map(_key, keys)])

    async def console_fingerprint(self, resource: ProviderResource) -> HostKey | None:
        """From the label that was written when the machine was made."""
        answer = await self.get_or_none(_path(resource))
        label = answer["server"]["labels"].get(HOST_KEY, "") if answer else ""
        fingerprint = _fingerprint(label)
        return HostKey(HOST_KEY_TYPE, fingerprint) if fingerprint else None

    def _machine(self, server: Mapping[str, Any]) -> ProviderResource:
        ipv4 = (server.get("public_net") or {}).get("ipv4") or {}
        location = server.get("location") or server["datacenter"]["location"]
        return ProviderResource(
            id=str(server["id"]),
            state=STATES.get(server["status"], ProviderResourceState.ENDING),
            token=server["labels"].get(TOKEN, ""),
            installation=server["labels"].get(INSTALLATION, ""),
            region=location["name"],
            address=ipv4.get("ip") or "",
            port=self._access.ssh_port,
            username=self._settings.get("username") or USERNAME,
            launched_at=_moment(server["created"]),
            expires_at=time_of_label(server["labels"].get(EXPIRES, ""), EXPIRES_FORMAT),
        )


DRIVER = HetznerDriver


# --- what is sent, what it means ------------------------------------------------------------------


def _label(value: str) -> str:
    if not LABEL.fullmatch(value):
        raise unsupported_error(f"{value!r} is no label")
    return value


def _labels(spec: LaunchSpec, token: str) -> dict[str, str]:
    if spec.is_spot:
        raise unsupported_error("Hetzner sells no spot machines")
    expires = spec.expires_at.astimezone(dt.UTC).strftime(EXPIRES_FORMAT)
    labels = {**spec.labels, WORKSPACE: spec.tag, TOKEN: token, EXPIRES: expires}
    return {_label(key): _label(value) for key, value in labels.items()}


def _as_label(host_key: asyncssh.SSHKey) -> str:
    """Its fingerprint in the characters of a label, which begins and ends with letter or digit: the
    last character of 32 bytes in base64 always is one."""
    fingerprint = host_key.get_fingerprint("sha256").removeprefix("SHA256:")
    return "SHA256." + fingerprint.replace("+", "-").replace("/", "_")


def _fingerprint(label: str) -> str | None:
    """The other way; None for a label that somebody changed to something else."""
    if not label.startswith("SHA256."):
        return None
    return label.replace("-", "+").replace("_", "/").replace("SHA256.", "SHA256:", 1)


def _user_data(lifetime_s: int, host_key: asyncssh.SSHKey) -> str:
    private = host_key.export_private_key("openssh").decode()
    return user_data(lifetime_s, private, host_key.export_public_key("openssh").decode().strip())


def _path(resource: ProviderResource) -> str:
    number = resource.id.removeprefix(KEY_PREFIX)
    if resource.kind not in PATHS or not number.isdecimal():
        raise unsupported_error(f"{resource.id!r} is no id of a {resource.kind}")
    return f"/{PATHS[resource.kind]}/{number}"


def _key(answer: Mapping[str, Any]) -> ProviderResource:
    return ProviderResource(
        id=f"{KEY_PREFIX}{answer['id']}",
        state=ProviderResourceState.RUNNING,
        kind=ResourceKind.KEY_PAIR,
        token=answer["labels"].get(TOKEN, ""),
        installation=answer["labels"].get(INSTALLATION, ""),
        launched_at=_moment(answer["created"]),
        expires_at=time_of_label(answer["labels"].get(EXPIRES, ""), EXPIRES_FORMAT),
    )


def _judge_stopped(
    machine: ProviderResource, status: str, actions: Sequence[Mapping[str, Any]]
) -> ProviderResource:
    """A machine that does not run, in the light of what was done with it: before its first start it
    is switched off for a moment, and after a failed one it never runs."""
    failed = [action["error"] for action in actions if action["status"] == "error"]
    if failed:
        detail = "; ".join(f"{error['code']}: {error['message']}" for error in failed)
        return replace(machine, state=ProviderResourceState.ENDING, detail=detail)
    is_running = any(action["status"] == "running" for action in actions)
    if status == "off" and is_running:
        return replace(machine, state=ProviderResourceState.PENDING)
    return machine


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).astimezone(dt.UTC)
