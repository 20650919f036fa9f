"""Clouds to rent machines from in a test: faked, with an owner who knows all that ever ran there."""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from backend.money.pricing.purchase import PurchaseModel
from backend.providers.machines import ResourceKind
from tests.fakes.fake.cloud import Fault, moment, now_ms
from tests.fakes.fake_provider import FakeProvider


@dataclass(frozen=True)
class Life:
    """A machine by the provider's own record."""

    provider_id: str
    token: str
    began: dt.datetime
    ended: dt.datetime | None
    """None while it lives."""


class World(Protocol):
    """What the owner of a faked cloud can say and do; workers in other processes rent there."""

    provider: str
    """Slug of the driver and of the provider in the catalog."""
    region: str
    machine_type: str
    environment: Mapping[str, str]
    """Settings that the workers need beside those of every installation."""
    are_ends_known: bool
    """Whether the provider says when a machine ended; else only that it is gone."""
    purchase_model: PurchaseModel
    """How its machines are rented: some providers take back those alone that are spot."""
    begins_early_s: float
    """How much sooner than it began a machine may say that it was made, at most."""

    def account(self) -> dict[str, Any]:
        """Access, settings and secret of the account (rentals.services.cloud_accounts.account_create)."""
        ...

    def trouble(self, seed: int) -> None:
        """From now on things go wrong at random."""
        ...

    def happened(self) -> Counter[str]:
        """What went wrong how often, by its name."""
        ...

    def left(self) -> list[str]:
        """Everything that exists there now, of every kind, in words."""
        ...

    def lives(self) -> list[Life]:
        """Every machine that ever was."""
        ...


# Makes a world that keeps its files in a directory and ends with the context.
Open = Callable[[Path], AbstractContextManager[World]]


class FakeWorld(FakeProvider):
    """The provider in a folder, with every fault that it knows but those that end a run for good."""

    provider, region, machine_type = "fake", "here-1", "fake.small"
    environment: Mapping[str, str] = {}
    are_ends_known = True
    purchase_model = PurchaseModel.ON_DEMAND
    begins_early_s = 0.0

    def account(self) -> dict[str, Any]:
        settings = {"regions": [self.region], "folder": str(self.folder)}
        return {"access": "workload_identity", "settings": settings, "secret": {}}

    def trouble(self, seed: int) -> None:
        self.cloud.seed(seed)
        for name, (probability, seconds) in TROUBLE.items():
            self.cloud.fault(name, probability=probability, seconds=seconds)

    def happened(self) -> Counter[str]:
        return Counter(row["name"] for row in self.cloud.log("fault"))

    def left(self) -> list[str]:
        return [f"{row['kind']}-{row['number']} of {row['token']}" for row in self.cloud.alive()]

    def lives(self) -> list[Life]:
        return [
            Life(
                provider_id=f"machine-{row['number']}",
                token=row["token"],
                began=moment(row["launched_ms"]),
                ended=moment(row["ends_ms"]) if row["ends_ms"] <= now_ms() else None,
            )
            for row in self.cloud.record()
            if row["kind"] == ResourceKind.MACHINE
        ]


# Probability and seconds.
TROUBLE: Mapping[Fault, tuple[float, float]] = {
    Fault.THROTTLED: (0.04, 0),
    Fault.SLOW_ANSWER: (0.10, 0.6),
    Fault.CAPACITY: (0.05, 0),
    Fault.QUOTA: (0.03, 0),
    Fault.LOST_REQUEST: (0.10, 0),
    Fault.LOST_ANSWER: (0.20, 0),
    Fault.DOUBLED: (0.15, 0),
    Fault.LATE: (0.25, 1.5),
    Fault.SLOW_BOOT: (0.25, 1.5),
    Fault.NO_SSHD: (0.04, 0),
    Fault.INTERRUPTED: (0.08, 3),
    Fault.TERMINATE_FAILED: (0.15, 0),
    Fault.TERMINATE_LOST: (0.10, 0),
    Fault.SLOW_END: (0.30, 1.5),
    Fault.DISK_LEFT: (0.15, 0),
}


def _aws(directory: Path) -> AbstractContextManager[World]:
    from tests.e2e.aws_world import AwsWorld

    return AwsWorld(directory)


def _gcp(directory: Path) -> AbstractContextManager[World]:
    from tests.e2e.rest_worlds import GcpWorld

    return GcpWorld(directory)


def _azure(directory: Path) -> AbstractContextManager[World]:
    from tests.e2e.rest_worlds import AzureWorld

    return AzureWorld(directory)


def _digitalocean(directory: Path) -> AbstractContextManager[World]:
    from tests.e2e.rest_worlds import DigitalOceanWorld

    return DigitalOceanWorld(directory)


def _hetzner(directory: Path) -> AbstractContextManager[World]:
    from tests.e2e.rest_worlds import HetznerWorld

    return HetznerWorld(directory)


def _scaleway(directory: Path) -> AbstractContextManager[World]:
    from tests.e2e.rest_worlds import ScalewayWorld

    return ScalewayWorld(directory)


def _vultr(directory: Path) -> AbstractContextManager[World]:
    from tests.e2e.rest_worlds import VultrWorld

    return VultrWorld(directory)


# The clouds that the provisioning cycles can be tried on.
WORLDS: Mapping[str, Open] = {
    "fake": FakeWorld,
    "aws": _aws,
    "gcp": _gcp,
    "azure": _azure,
    "hetzner": _hetzner,
    "digitalocean": _digitalocean,
    "scaleway": _scaleway,
    "vultr": _vultr,
}
