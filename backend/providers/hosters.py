"""Machines of smaller hosters over the connections of Apache Libcloud: one driver, of which each
provider's `driver.py` states paths, words and fields.

- None of these hosters takes an idempotency key. The machine's name follows from the token and is
  looked up first; the engine looks again before it repeats a launch that was not answered.
- All that marks a machine stands in its name, which every hoster sets in the call that makes it and
  lists with it; one with short names has tags, which count alike.
- A machine that has switched itself off still costs its full price: engine and reaper end it.
- Its host key follows from the account's secret and the token, so no state has to survive this
  process. A secret that is changed while a machine boots makes its host key unknown: that run fails.
- The login is a user of our own: images set an expired password for root, with which a login hangs.

Libcloud is loaded by the first call. Calls block: each method is one visit to a thread.
"""

import asyncio
import datetime as dt
import hashlib
import hmac
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from backend.domain.errors import DriverError, Reason
from backend.domain.host_keys import HostKey, host_key
from backend.providers.cloud_config import user_data
from backend.providers.hoster_calls import HosterCalls
from backend.providers.machines import (
    INSTALLATION,
    UNGUARDED,
    Inventory,
    LaunchSpec,
    MachineListing,
    Overview,
    Preflight,
    ProviderResource,
    ProviderResourceState,
    ResourceKind,
    labelled_time,
    unsupported,
)

USERNAME = "rackrate"
EXPIRES_FORMAT = "%Y%m%dT%H%M%SZ"
PREFIX = "rackrate-"
IMAGE_ADVICE = "Name an image of the region on the account."
MARK = re.compile(r"[a-z0-9-]{1,61}")
# With the region that it is of, where the hoster does not know it without.
ID = re.compile(r"([a-z0-9-]{1,30}/)?[A-Za-z0-9-]{1,64}")


@dataclass(frozen=True)
class Server:
    """A machine, or a disk that one left, as a hoster's list shows it."""

    id: str
    marks: Sequence[str]
    state: ProviderResourceState
    region: str
    created: str
    """As ISO 8601; "" where the hoster does not say."""
    address: str = ""
    kind: ResourceKind = ResourceKind.MACHINE


@dataclass(frozen=True)
class Order:
    """A machine to be made."""

    spec: LaunchSpec
    name: str
    marks: Sequence[str]
    user_data: str


class LibcloudDriver(HosterCalls, ABC):
    """An account. Settings: regions, image, username, ssh_port, endpoint_url and those of the
    provider's record; secret: token, or what `_keys` says."""

    image: ClassVar[str]
    arches: ClassVar[Sequence[str]] = ("x86_64",)
    """Architectures of the machines that it sells; `_image` of a driver with several takes one."""
    states: ClassVar[Mapping[str, ProviderResourceState]]
    """Any other is on the way to the end, or switched off, which costs all the same."""

    # --- what each hoster says ---------------------------------------------------------------

    @abstractmethod
    def _identity(self) -> str: ...

    @abstractmethod
    def _types(self, region: str) -> Iterable[str]:
        """Machine types that the region sells now."""

    @abstractmethod
    def _image(self, region: str) -> str:
        """The hoster's own id of the account's image; UNSUPPORTED where there is none."""

    @abstractmethod
    def _servers(self) -> Iterable[Server]:
        """Every machine of the account."""

    @abstractmethod
    def _server(self, number: str) -> Server | None: ...

    @abstractmethod
    def _make(self, order: Order) -> Server: ...

    def _continued(self, server: Server, order: Order) -> Server:
        """Continue an earlier launch, where a launch is several calls and may have been cut off."""
        return server

    @abstractmethod
    def _end(self, number: str) -> None:
        """Also of one that is gone."""

    def _disks(self) -> Iterable[Server]:
        """Disks that their machines left, where the hoster does not end them, too."""
        return ()

    def _end_disk(self, number: str) -> None:
        raise unsupported(f"{number}: disks end with their machines")

    def _quota(self, region: str, overview: Overview) -> None:
        """Adds lines on what the account may have, where the hoster tells."""
        overview.unknown("quota", "the hoster tells limits only when they are reached")

    # --- the driver --------------------------------------------------------------------------

    async def whoami(self) -> str:
        return await asyncio.to_thread(self._identity)

    async def offers(self) -> Sequence[MachineListing]:
        return await asyncio.to_thread(self._offers)

    def _offers(self) -> list[MachineListing]:
        regions = self._settings.get("regions", ())
        return [MachineListing(name, region) for region in regions for name in self._types(region)]

    async def zones(self, machine_type: str, region: str) -> Sequence[str]:
        return ()

    async def preflight(self, region: str, tag: str) -> Sequence[Preflight]:
        return await asyncio.to_thread(self._looked_over, region)

    def _looked_over(self, region: str) -> list[Preflight]:
        overview = Overview(region)
        overview.look("identity", self._identity, "Make a new token or key for the account.")
        if overview.is_ready():
            overview.look("region", lambda: self._selling(region), "See the hoster's regions.")
            self._look_at_images(region, overview)
            try:
                self._quota(region, overview)
            except DriverError as error:
                overview.unknown("quota", error.detail)
        return overview.lines

    def _look_at_images(self, region: str, overview: Overview) -> None:
        overview.look("image", lambda: self._image(region), IMAGE_ADVICE)

    def _selling(self, region: str) -> str:
        count = len(list(self._types(region)))
        if not count:
            raise unsupported("it sells no machines")
        return f"it sells {count} types"

    async def rehearse(self, spec: LaunchSpec) -> None:
        """None of these hosters knows a launch that is only tried."""

    async def launch(self, spec: LaunchSpec, token: str) -> ProviderResource:
        """The token's machine, or a new one."""
        try:
            return await asyncio.to_thread(self._launched, spec, token)
        except DriverError as error:
            # A call that was not answered may have made the machine: the engine must ask again by the name.
            if error.reason != Reason.UNREACHABLE:
                raise
            raise DriverError(Reason.TIMEOUT, error.detail, retryable=True) from None

    def _launched(self, spec: LaunchSpec, token: str) -> ProviderResource:
        if spec.arch not in self.arches:
            raise unsupported(f"no image for {spec.arch} is known here")
        marks = _marks(spec, token)
        private, public = self._host_key(token)
        user = {
            "name": self._settings.get("username") or USERNAME,
            "ssh_authorized_keys": [" ".join(spec.public_key.split()[:2])],
            "sudo": "ALL=(ALL) NOPASSWD:ALL",
            "shell": "/bin/bash",
        }
        sent = user_data(spec.lifetime_s, private, public, user)
        order = Order(spec, ".".join(marks), marks, sent)
        for server in self._servers():
            if marks[0] in server.marks:
                return self._machine(self._continued(server, order))
        return self._machine(self._make(order))

    async def describe(self, resource: ProviderResource) -> ProviderResource:
        return await asyncio.to_thread(self._described, resource)

    def _described(self, resource: ProviderResource) -> ProviderResource:
        server = self._server(_number(resource))
        if server is None:
            return replace(resource, state=ProviderResourceState.ABSENT)
        return self._machine(server)

    async def terminate(self, resource: ProviderResource) -> None:
        if resource.kind == ResourceKind.DISK:
            await asyncio.to_thread(self._end_disk, _number(resource, ResourceKind.DISK))
        else:
            await asyncio.to_thread(self._end, _number(resource))

    async def inventory(self, tag: str, *, token: str = "", region: str = "") -> Inventory:
        """Machines in all regions of the account, and the disks that they left."""
        return await asyncio.to_thread(self._listed, tag, token, region)

    def _listed(self, tag: str, token: str, region: str) -> Inventory:
        needed = {f"w-{tag}"} | ({PREFIX + token} if token else set())
        things = chain(self._servers(), self._disks())
        machines = (self._machine(one) for one in things if needed <= {*one.marks})
        return Inventory(machine for machine in machines if region in {"", machine.region})

    async def let_in(self, resource: ProviderResource, address: str) -> str:
        return UNGUARDED

    async def console_fingerprint(self, resource: ProviderResource) -> HostKey | None:
        """Fingerprint of the key that we gave it."""
        machine = await self.describe(resource)
        return host_key(self._host_key(machine.token)[1]) if machine.token else None

    def _host_key(self, token: str) -> tuple[str, str]:
        """Private and public half, both in OpenSSH form: always the same for a token."""
        secret = json.dumps(sorted(self._access.secret.items())).encode()
        seed = hmac.digest(secret, f"rackrate host key {token}".encode(), hashlib.sha256)
        key = Ed25519PrivateKey.from_private_bytes(seed)
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption(),
        )
        public = key.public_key().public_bytes(
            serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
        )
        return private.decode(), public.decode()

    def _machine(self, server: Server) -> ProviderResource:
        expires = _marked(server, "x-").upper()
        return ProviderResource(
            id=server.id,
            state=server.state,
            kind=server.kind,
            token=_marked(server, PREFIX),
            installation=_marked(server, "i-"),
            region=server.region,
            address=server.address,
            port=self._access.ssh_port,
            username=self._settings.get("username") or USERNAME,
            launched_at=_moment(server.created),
            expires_at=labelled_time(expires, EXPIRES_FORMAT),
        )

    def _state(self, word: str) -> ProviderResourceState:
        return self.states.get(word, ProviderResourceState.ENDING)

    def _chosen(self, region: str, ids_by_title: Mapping[str, str]) -> str:
        """The id of the image whose title begins with the account's, or ours, or that has the id."""
        chosen = self._access.in_region("image", region) or self.image
        for title, number in ids_by_title.items():
            if chosen == number or _plain(title).startswith(_plain(chosen)):
                return number
        raise unsupported(f"there is no image {chosen} in {region}")


# --- what is sent, what it means ------------------------------------------------------------------


def public_ipv4(addresses: Iterable[Any]) -> str:
    """The first of them that is one; "" where there is none yet."""
    return next((address for address in addresses if address and address != "0.0.0.0"), "")  # noqa: S104


def _marks(spec: LaunchSpec, token: str) -> list[str]:
    if spec.is_spot:
        raise unsupported("only machines on demand are rented here")
    expires = spec.expires_at.astimezone(dt.UTC).strftime(EXPIRES_FORMAT).lower()
    installation = spec.labels.get(INSTALLATION, "")
    marks = [PREFIX + token, f"w-{spec.tag}", f"x-{expires}"]
    marks += [f"i-{installation}"] if installation else []
    for mark in marks:
        # They stand in names of hosts, where nothing else is allowed.
        if not MARK.fullmatch(mark):
            raise unsupported(f"{mark!r} is no part of a name")
    return marks


def _marked(server: Server, prefix: str) -> str:
    """Value of a mark; "" where somebody took it away."""
    return next((mark.removeprefix(prefix) for mark in server.marks if mark.startswith(prefix)), "")


def _number(resource: ProviderResource, kind: ResourceKind = ResourceKind.MACHINE) -> str:
    # It becomes a part of an address.
    if resource.kind != kind or not ID.fullmatch(resource.id):
        raise unsupported(f"{resource.id!r} is no id of a {resource.kind}")
    return resource.id


def _plain(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _moment(text: str) -> dt.datetime | None:
    if not text:
        return None
    moment = dt.datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).astimezone(dt.UTC)
