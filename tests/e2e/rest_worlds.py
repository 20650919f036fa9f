"""Google Cloud, Azure, Hetzner Cloud and smaller hosters as worlds: their APIs on loopback, real machines."""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import asyncssh

from backend.money.pricing.purchase import PurchaseModel
from tests.e2e.worlds import Life
from tests.fakes.azure import Azure
from tests.fakes.digitalocean import DigitalOcean
from tests.fakes.gcp import Gce
from tests.fakes.gcp_os_login import EMAIL
from tests.fakes.hetzner import Hetzner
from tests.fakes.hosters import HosterApi
from tests.fakes.machines import Machines
from tests.fakes.ovh import Ovh
from tests.fakes.scaleway import Scaleway
from tests.fakes.upcloud import Upcloud
from tests.fakes.vultr import Vultr


class RestWorld(ABC):
    """What both have in common: a context around the API and its machines."""

    provider: str
    region: str
    machine_type: str
    environment: Mapping[str, str] = {}
    are_ends_known = True
    purchase_model = PurchaseModel.ON_DEMAND
    begins_early_s = 0.0
    trouble_by_fault: Mapping[str, tuple[float, float]] = {}
    """Probability and seconds."""

    def __init__(self, directory: Path) -> None:
        folder = directory / self.provider
        folder.mkdir()
        self.machines = Machines(folder)
        self._stack = ExitStack()

    def __enter__(self) -> Any:
        self._stack.enter_context(self.machines)
        self._stack.enter_context(self.api)
        # The port of all machines is that of the first one, and known once it was there.
        nobody = asyncssh.generate_private_key("ssh-ed25519").export_public_key("openssh").decode()
        self.machines.stop(self.machines.start(nobody).address)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    @abstractmethod
    def api(self) -> Any:
        """The server that stands for the provider's."""

    def trouble(self, seed: int) -> None:
        self.api.faults.seed(seed)
        for name, (probability, seconds) in self.trouble_by_fault.items():
            self.api.faults.set(name, probability=probability, seconds=seconds)

    def happened(self) -> Counter[str]:
        return Counter(self.api.faults.happened)

    def lives(self) -> list[Life]:
        self.api.tick()
        return [
            Life(self.provider_id(one), one.token, one.began, one.ended) for one in self.api.record
        ]

    @abstractmethod
    def provider_id(self, machine: Any) -> str:
        """What our records call the machine."""


class GcpWorld(RestWorld):
    """A project of Google Cloud, with two zones to launch in."""

    provider, region, machine_type = "gcp", "europe-west4", "n2-standard-2"
    environment = {"BOOT_LIMIT_S": "30"}
    """A worker that has just begun loads the library first, which takes seconds."""
    trouble_by_fault = {
        "throttled": (0.04, 0),
        "broken": (0.04, 0),
        "slow_answer": (0.10, 0.6),
        "capacity": (0.10, 0),
        "quota": (0.02, 0),
        "inner": (0.03, 0),
        "lost_request": (0.10, 0),
        "lost_answer": (0.20, 0),
        "slow_operation": (0.20, 0),
        "late": (0.25, 1.5),
        "slow_boot": (0.25, 1.5),
        "interrupted": (0.08, 3),
        "no_sshd": (0.04, 0),
        "no_attributes": (0.30, 0),
        "delete_failed": (0.15, 0),
        "delete_lost": (0.10, 0),
        "slow_end": (0.30, 1.5),
        "disk_left": (0.15, 0),
        "zone_missing": (0.05, 0),
    }

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._api = Gce(self.machines)

    @property
    def api(self) -> Gce:
        return self._api

    def account(self) -> dict[str, Any]:
        settings = {
            "project": self.api.project,
            "regions": [self.region],
            "zones": {self.region: ["europe-west4-a", "europe-west4-b"]},
            "ssh_port": self.machines.port,
            "endpoint_url": self.api.url,
        }
        return {"access": "workload_identity", "settings": settings, "secret": {}}

    def left(self) -> list[str]:
        disks = [f"disk {name} in {zone}" for zone, name in self.api.disks]
        rules = [one["name"] for one in self.api.firewalls if one["name"].startswith("rackrate-")]
        return [
            *(f"{one.name} of {one.token}" for one in self.api.alive),
            *disks,
            *self.api.login_keys,
            *rules,
        ]

    def provider_id(self, machine: Any) -> str:
        return f"{machine.zone}/{machine.name}"


class OsLoginWorld(GcpWorld):
    """A project of an organisation that requires OS Login."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.api.constraints = {"requireOsLogin"}

    def account(self) -> dict[str, Any]:
        key = {"type": "service_account", "project_id": self.api.project, "private_key": "none"}
        settings = {**super().account()["settings"], "login": "os_login"}
        secret = {"service_account_json": json.dumps({**key, "client_email": EMAIL})}
        return {"access": "static_key", "settings": settings, "secret": secret}


class AzureWorld(RestWorld):
    """A subscription of Azure, with three zones. It forgets a group that was deleted, also when that was."""

    provider, region, machine_type = "azure", Azure.region, "Standard_D2s_v5"
    environment = {"BOOT_LIMIT_S": "30"}
    """A worker that has just begun loads the library first, which takes seconds."""
    are_ends_known = False
    purchase_model = PurchaseModel.SPOT
    begins_early_s = 1.5
    trouble_by_fault = {
        "throttled": (0.02, 0),
        "broken": (0.02, 0),
        "slow_answer": (0.05, 0.6),
        "capacity": (0.10, 0),
        "constrained": (0.05, 0),
        "sku": (0.03, 0),
        "quota": (0.02, 0),
        "lost_request": (0.10, 0),
        "lost_answer": (0.20, 0),
        "late": (0.25, 1.5),
        "slow_create": (0.25, begins_early_s),
        "interrupted": (0.08, 3),
        "no_sshd": (0.04, 0),
        "locked": (0.10, 0),
        "delete_failed": (0.15, 0),
        "delete_lost": (0.10, 0),
        "slow_end": (0.30, 1.5),
    }

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._api = Azure(self.machines)

    @property
    def api(self) -> Azure:
        return self._api

    def account(self) -> dict[str, Any]:
        settings = {
            "subscription": self.api.subscription,
            "regions": [self.region],
            "ssh_port": self.machines.port,
            "endpoint_url": self.api.url,
        }
        return {"access": "workload_identity", "settings": settings, "secret": {}}

    def left(self) -> list[str]:
        self.api.tick()
        return [*self.api.groups, *(f"machine of {one.token}" for one in self.api.alive)]

    def happened(self) -> Counter[str]:
        evicted = [
            one.evicted_from is not None and one.ended is not None and one.ended >= one.evicted_from
            for one in self.api.vms
        ]
        return super().happened() + Counter(evicted=sum(evicted))

    def provider_id(self, machine: Any) -> str:
        return str(machine.group)


class HetznerWorld(RestWorld):
    """A project of Hetzner Cloud. It forgets what was deleted, also when that was."""

    provider, region, machine_type = "hetzner", "fsn1", "cx22"
    are_ends_known = False
    trouble_by_fault = {
        "throttled": (0.04, 0),
        "broken": (0.04, 0),
        "slow_answer": (0.10, 0.6),
        "quota": (0.02, 0),
        "lost_request": (0.10, 0),
        "lost_answer": (0.20, 0),
        "late": (0.25, 1.5),
        "slow_boot": (0.25, 1.5),
        "start_failed": (0.04, 0),
        "no_sshd": (0.04, 0),
        "locked": (0.10, 0),
        "delete_failed": (0.15, 0),
        "delete_lost": (0.10, 0),
        "slow_end": (0.30, 1.5),
    }

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._api = Hetzner(self.machines)

    @property
    def api(self) -> Hetzner:
        return self._api

    def account(self) -> dict[str, Any]:
        settings = {
            "regions": [self.region],
            "ssh_port": self.machines.port,
            "endpoint_url": self.api.endpoint,
        }
        return {"access": "token", "settings": settings, "secret": {"token": self.api.token}}

    def left(self) -> list[str]:
        keys = [f"key {key['name']}" for key in self.api.keys.values()]
        return [f"server {one.number} of {one.token}" for one in self.api.alive] + keys

    def provider_id(self, machine: Any) -> str:
        return str(machine.number)


class HosterWorld(RestWorld):
    """An account of a smaller hoster, which lists a machine a while after it has made it and forgets
    what was deleted, also when that was."""

    kind: type[HosterApi]
    are_ends_known = False
    trouble_by_fault = {
        "throttled": (0.04, 0),
        "broken": (0.04, 0),
        "slow_answer": (0.10, 0.6),
        "capacity": (0.05, 0),
        "quota": (0.02, 0),
        "lost_request": (0.10, 0),
        "lost_answer": (0.20, 0),
        "late": (0.25, 1.5),
        "slow_boot": (0.25, 1.5),
        "no_sshd": (0.04, 0),
        "locked": (0.10, 0),
        "delete_failed": (0.15, 0),
        "delete_lost": (0.10, 0),
        "slow_end": (0.30, 1.5),
    }

    def __init__(self, directory: Path) -> None:
        self.provider, self.region = self.kind.slug, self.kind.region
        self.machine_type = self.kind.machine_type
        super().__init__(directory)
        self._api = self.kind(self.machines)

    @property
    def api(self) -> Any:
        return self._api

    def account(self) -> dict[str, Any]:
        account = self.api.account()
        settings = {
            "regions": [self.region],
            "ssh_port": self.machines.port,
            "endpoint_url": self.api.endpoint,
        }
        return account | {"settings": settings | account["settings"]}

    def left(self) -> list[str]:
        return [f"machine {one.number} of {one.token}" for one in self.api.alive]

    def provider_id(self, machine: Any) -> str:
        return str(machine.number)


class DigitalOceanWorld(HosterWorld):
    kind = DigitalOcean


class OvhWorld(HosterWorld):
    kind = Ovh


class UpcloudWorld(HosterWorld):
    kind = Upcloud


class VultrWorld(HosterWorld):
    kind = Vultr


class ScalewayWorld(HosterWorld):
    """Its launches may be cut off in the middle, and every machine leaves a volume."""

    kind = Scaleway
    trouble_by_fault = {**HosterWorld.trouble_by_fault, "start_lost": (0.10, 0)}

    def left(self) -> list[str]:
        return super().left() + [f"volume of {one.token}" for one in self.api.volumes]
