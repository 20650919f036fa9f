"""Machines of smaller hosters: one driver, of which each provider's `driver.py` states paths, words
and fields.

- None of these hosters takes an idempotency key. The machine's name follows from the token and is
  looked up first; the engine looks again before it repeats a launch that was not answered.
- All that marks a machine stands in its name, which every hoster sets in the call that makes it and
  lists with it; one with short names has tags, which count alike.
- A machine that has switched itself off still costs its full price: engine and reaper end it.
- Its host key follows from the account's secret and the token, so no state has to survive this
  process. A secret that is changed while a machine boots makes its host key unknown: that run fails.
- The login is a user of our own: images set an expired password for root, with which a login hangs.
"""

import base64
import datetime as dt
import hashlib
import hmac
import json
import re
from abc import abstractmethod
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from backend.foundation.errors import DriverError
from backend.providers.cloud_config import user_data
from backend.providers.host_keys import HostKey, host_key
from backend.providers.hoster_calls import HosterAccount
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

    @property
    def user_data_base64(self) -> str:
        return base64.b64encode(self.user_data.encode()).decode()


class HosterDriver(HosterAccount):
    """An account. Settings: regions, image, username, ssh_port, endpoint_url and those of the
    provider's record; secret: token, or what `_credentials` says."""

    image: ClassVar[str]
    arches: ClassVar[Sequence[str]] = ("x86_64",)
    """Architectures of the machines that it sells; `_image` of a driver with several takes one."""
    states: ClassVar[Mapping[str, ProviderResourceState]]
    """Any other is on the way to the end, or switched off, which costs all the same."""
    path: ClassVar[str]
    """Path of the machines."""
    key: ClassVar[str] = ""
    """Name of a machine in an answer that has one; "" where it is the whole answer."""

    # --- what each hoster says ---------------------------------------------------------------

    @abstractmethod
    async def whoami(self) -> str: ...

    @abstractmethod
    async def _types(self, region: str) -> Sequence[str]:
        """Machine types that the region sells now."""

    @abstractmethod
    async def _image(self, region: str) -> str:
        """The hoster's own id of the account's image; UNSUPPORTED where there is none."""

    @abstractmethod
    async def _list(self) -> Sequence[Any]:
        """Every machine of the account, as the hoster describes it."""

    @abstractmethod
    async def _request(self, order: Order) -> Any:
        """The body of the call that makes a machine."""

    @abstractmethod
    def _read(self, machine: Any) -> Server: ...

    def _path(self, region: str = "") -> str:
        return self.path

    def _path_of(self, number: str) -> str:
        return f"{self._path()}/{number}"

    async def _server(self, number: str) -> Server | None:
        answer = await self.get_or_none(self._path_of(number))
        return self._read_answer(answer) if answer else None

    async def _make(self, order: Order) -> Server:
        body = await self._request(order)
        return self._read_answer(await self.ask("POST", self._path(order.spec.region), body=body))

    async def _continue(self, server: Server, order: Order) -> Server:
        """Continue an earlier launch, where a launch is several calls and may have been cut off."""
        return server

    async def _end(self, number: str) -> None:
        """Also of one that is gone."""
        await self.get_or_none(self._path_of(number), method="DELETE")

    async def _disks(self) -> Sequence[Server]:
        """Disks that their machines left, where the hoster does not end them, too."""
        return ()

    async def _end_disk(self, number: str) -> None:
        raise unsupported_error(f"{number}: disks end with their machines")

    async def _quota(self, region: str, overview: Overview) -> None:
        """Adds lines on what the account may have, where the hoster tells."""
        overview.unknown("quota", "the hoster tells limits only when they are reached")

    async def _check_images(self, region: str, overview: Overview) -> None:
        await _check(overview, "image", self._image(region), IMAGE_ADVICE)

    # --- the driver --------------------------------------------------------------------------

    async def offers(self) -> Sequence[MachineListing]:
        regions = self._settings.get("regions", ())
        return [
            MachineListing(name, region) for region in regions for name in await self._types(region)
        ]

    async def preflight(self, region: str, tag: str) -> Sequence[Preflight]:
        overview = Overview(region)
        advice = "Make a new token or key for the account."
        await _check(overview, "identity", self.whoami(), advice)
        if overview.is_ready():
            await _check(overview, "region", self._count_types(region), "See the hoster's regions.")
            await self._check_images(region, overview)
            try:
                await self._quota(region, overview)
            except DriverError as error:
                overview.unknown("quota", error.detail)
        return overview.lines

    async def _count_types(self, region: str) -> str:
        count = len(await self._types(region))
        if not count:
            raise unsupported_error("it sells no machines")
        return f"it sells {count} types"

    async def _launch(self, spec: LaunchSpec, token: str) -> ProviderResource:
        if spec.arch not in self.arches:
            raise unsupported_error(f"no image for {spec.arch} is known here")
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
        for server in await self._servers():
            if marks[0] in server.marks:
                return self._machine(await self._continue(server, order))
        return self._machine(await self._make(order))

    async def describe(self, resource: ProviderResource) -> ProviderResource:
        server = await self._server(_number(resource))
        if server is None:
            return replace(resource, state=ProviderResourceState.ABSENT)
        return self._machine(server)

    async def terminate(self, resource: ProviderResource) -> None:
        if resource.kind == ResourceKind.DISK:
            await self._end_disk(_number(resource, ResourceKind.DISK))
        else:
            await self._end(_number(resource))

    async def inventory(self, tag: str, *, token: str = "", region: str = "") -> Inventory:
        """Machines in all regions of the account, and the disks that they left."""
        needed = {f"w-{tag}"} | ({PREFIX + token} if token else set())
        servers = [*await self._servers(), *await self._disks()]
        machines = (self._machine(server) for server in servers if needed <= {*server.marks})
        return Inventory(machine for machine in machines if region in {"", machine.region})

    async def console_fingerprint(self, resource: ProviderResource) -> HostKey | None:
        """Fingerprint of the key that we gave it."""
        machine = await self.describe(resource)
        return host_key(self._host_key(machine.token)[1]) if machine.token else None

    async def _servers(self) -> list[Server]:
        return [self._read(machine) for machine in await self._list()]

    def _read_answer(self, answer: Any) -> Server:
        return self._read(answer[self.key] if self.key else answer)

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
        expires = _mark_value(server, "x-").upper()
        return ProviderResource(
            id=server.id,
            state=server.state,
            kind=server.kind,
            token=_mark_value(server, PREFIX),
            installation=_mark_value(server, "i-"),
            region=server.region,
            address=server.address,
            port=self._access.ssh_port,
            username=self._settings.get("username") or USERNAME,
            launched_at=_moment(server.created),
            expires_at=time_of_label(expires, EXPIRES_FORMAT),
        )

    def _state(self, word: str) -> ProviderResourceState:
        return self.states.get(word, ProviderResourceState.ENDING)

    def _image_name(self, region: str) -> str:
        return self._access.in_region("image", region) or self.image

    def _choose_image(self, region: str, ids_by_title: Mapping[str, str]) -> str:
        """The id of the image whose title begins with the account's, or ours, or that has the id."""
        chosen = self._image_name(region)
        for title, number in ids_by_title.items():
            if chosen == number or _plain(title).startswith(_plain(chosen)):
                return number
        raise unsupported_error(f"there is no image {chosen} in {region}")


async def _check(overview: Overview, topic: str, work: Awaitable[str], advice: str) -> None:
    """Ready with what the work says of it, or not, with why it failed and the advice."""
    try:
        overview.ready(topic, await work)
    except DriverError as error:
        overview.not_ready(topic, error.detail, advice)


# --- what is sent, what it means ------------------------------------------------------------------


def public_ipv4(addresses: Iterable[Any]) -> str:
    """The first of them that is one; "" where there is none yet."""
    return next((address for address in addresses if address and address != "0.0.0.0"), "")  # noqa: S104


def _marks(spec: LaunchSpec, token: str) -> list[str]:
    if spec.is_spot:
        raise unsupported_error("only machines on demand are rented here")
    expires = spec.expires_at.astimezone(dt.UTC).strftime(EXPIRES_FORMAT).lower()
    installation = spec.labels.get(INSTALLATION, "")
    marks = [PREFIX + token, f"w-{spec.tag}", f"x-{expires}"]
    marks += [f"i-{installation}"] if installation else []
    for mark in marks:
        # They stand in names of hosts, where nothing else is allowed.
        if not MARK.fullmatch(mark):
            raise unsupported_error(f"{mark!r} is no part of a name")
    return marks


def _mark_value(server: Server, prefix: str) -> str:
    """Value of a mark; "" where somebody took it away."""
    return next((mark.removeprefix(prefix) for mark in server.marks if mark.startswith(prefix)), "")


def _number(resource: ProviderResource, kind: ResourceKind = ResourceKind.MACHINE) -> str:
    # It becomes a part of an address.
    if resource.kind != kind or not ID.fullmatch(resource.id):
        raise unsupported_error(f"{resource.id!r} is no id of a {resource.kind}")
    return resource.id


def _plain(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _moment(text: str) -> dt.datetime | None:
    if not text:
        return None
    moment = dt.datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).astimezone(dt.UTC)
