"""The driver of the provider in a folder (tests.fakes.fake.cloud)."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from backend.foundation.errors import DriverError, Reason
from backend.providers.console import console_host_key
from backend.providers.host_keys import HostKey
from backend.providers.machines import (
    Access,
    Inventory,
    LaunchSpec,
    MachineListing,
    Overview,
    Preflight,
    ProviderResource,
    ProviderResourceState,
)
from tests.fakes.fake.cloud import FakeCloud

T = TypeVar("T")
TYPES = ("fake.small", "fake.large")


class FakeDriver:
    """The provider in `settings["folder"]`, in the regions of `settings["regions"]`, of which it
    refuses to list those of `settings["closed_regions"]`."""

    def __init__(self, access: Access) -> None:
        self._folder = Path(str(access.settings.get("folder", "")) or "/nonexistent")
        self._regions: tuple[str, ...] = tuple(access.settings.get("regions", ()))
        self._sold_in: tuple[str, ...] = tuple(access.settings.get("sold_in", ()))
        self._closed: tuple[str, ...] = tuple(access.settings.get("closed_regions", ()))

    async def whoami(self) -> str:
        return await self._call("whoami", lambda _: f"fake {self._folder.name}")

    async def offers(self) -> Sequence[MachineListing]:
        return [MachineListing(name, region) for region in self._regions for name in TYPES]

    async def zones(self, machine_type: str, region: str) -> Sequence[str]:
        return await self._call("zones", lambda _: self._sold_in)

    async def preflight(self, region: str, tag: str) -> Sequence[Preflight]:
        overview = Overview(region)
        if region in self._closed:
            overview.not_ready("region", f"{region} is not opted into", f"Enable {region}.")
        else:
            overview.ready("region", "it answers")
        return overview.lines

    async def rehearse(self, spec: LaunchSpec) -> None:
        await self._call("rehearse", lambda cloud: cloud.rehearse(spec))

    async def launch(self, spec: LaunchSpec, token: str) -> ProviderResource:
        return await self._call("launch", lambda cloud: cloud.launch(spec, token), token)

    async def describe(self, resource: ProviderResource) -> ProviderResource:
        number = _number(resource)
        found = await self._call("describe", lambda cloud: cloud.describe(number), resource.token)
        return found or replace(resource, state=ProviderResourceState.ABSENT)

    async def terminate(self, resource: ProviderResource) -> None:
        number = _number(resource)
        await self._call("terminate", lambda cloud: cloud.terminate(number), resource.token)

    async def inventory(self, tag: str, *, token: str = "", region: str = "") -> Inventory:
        refused = {
            name: DriverError(Reason.AUTH, f"{name} is not opted into", retryable=False)
            for name in self._closed
            if region in {"", name}
        }
        if token and refused:
            raise next(iter(refused.values()))
        open_regions = [name for name in self._regions if name not in refused]
        asked = partial(
            FakeCloud.inventory, tag=tag, token=token, region=region, regions=open_regions
        )
        return Inventory(await self._call("inventory", asked, token), refused)

    async def let_in(self, resource: ProviderResource, address: str) -> str:
        await self._call("let_in", lambda _: None, resource.token)
        return f"open to {address}"

    async def console_fingerprint(self, resource: ProviderResource) -> HostKey | None:
        number = _number(resource)
        console = await self._call("console", lambda cloud: cloud.console(number), resource.token)
        return console_host_key(console)

    async def _call(self, name: str, work: Callable[[FakeCloud], T], token: str = "") -> T:
        cloud = await asyncio.to_thread(FakeCloud, self._folder)
        slow_s = await asyncio.to_thread(cloud.begin, name, token)
        await asyncio.sleep(slow_s / 2)
        try:
            return await asyncio.to_thread(work, cloud)
        finally:
            await asyncio.sleep(slow_s / 2)


DRIVER = FakeDriver


def _number(resource: ProviderResource) -> int:
    """0, which nothing has, for an id that is not ours."""
    number = resource.id.rpartition("-")[2]
    return int(number) if number.isdecimal() else 0
