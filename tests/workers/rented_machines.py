"""What tests of the drivers that rent machines have in common: a clock, a key, whose it is."""

import datetime as dt
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncssh

from backend.providers.machines import Access, LaunchSpec, ProviderDriver
from tests.fakes.hosters import HosterApi
from tests.fakes.machines import Machines
from workers.remote.registry import cloud as opened

PRIVATE_KEY = asyncssh.generate_private_key("ssh-ed25519")
TAG = "0b6f9f5e-9d0b-4a52-8f7e-6c1d2f3a4b5c"


class Clock:
    """Stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)

    def __call__(self) -> dt.datetime:
        return self.now

    def go(self, seconds: float) -> None:
        self.now += dt.timedelta(seconds=seconds)


def new_token() -> str:
    return str(uuid.uuid4())


# --- smaller hosters ------------------------------------------------------------------------------


def hoster(
    kind: type[HosterApi], folder: Path, clock: Callable[[], dt.datetime] | None = None
) -> Iterator[HosterApi]:
    """Its API with machines behind it."""
    with Machines(folder) as machines, kind(machines, clock=clock or Clock()) as running:
        yield running


def hoster_driver(cloud: Any, **changed: Any) -> ProviderDriver:
    """The driver of its account; settings as given, or another secret."""
    account = cloud.account()
    settings = {"regions": [cloud.region], "endpoint_url": cloud.endpoint} | account["settings"]
    secret = changed.pop("secret", account["secret"])
    return opened(cloud.slug, Access(account["access"], settings | changed, secret))


def hoster_spec(kind: type[HosterApi]) -> LaunchSpec:
    return LaunchSpec(
        machine_type=kind.machine_type,
        region=kind.region,
        arch="x86_64",
        lifetime_s=3600,
        expires_at=dt.datetime(2026, 3, 1, 14, tzinfo=dt.UTC),
        public_key=PRIVATE_KEY.export_public_key("openssh").decode(),
        tag=TAG,
        labels={"run": "0c6f", "installation": "7d1f"},
    )
