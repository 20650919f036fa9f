"""Requests to Azure and the meaning of its answers; nothing here calls it.

Bodies are those of the REST API, which Microsoft's library takes and gives as they are.
"""

import base64
import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from backend.providers.azure import volume
from backend.providers.cloud_config import HOST_KEY_TYPE
from backend.providers.host_keys import HostKey
from backend.providers.machines import (
    INSTALLATION,
    PEER_PORTS,
    Access,
    LaunchSpec,
    ProviderResource,
    ProviderResourceState,
    time_of_label,
    unsupported_error,
)

USERNAME = "rackrate"
# Debian 13 is not among the images that Microsoft lists for disks by NVMe, which sizes of version 6 and newer
# need (learn.microsoft.com/azure/virtual-machines/enable-nvme-interface, of 2026-06-18).
PUBLISHER, OFFER = "Debian", "debian-12"
# Of the publisher's offer, by architecture.
IMAGES = {"x86_64": "12-gen2", "arm64": "12-arm64"}
# For sizes that boot as generation 1 alone, such as those of Av2 and Dv3; none is of arm64.
GENERATION_1_IMAGE = "12"
# As Azure calls them: what `{arch}` in the account's image stands for.
ARCHES = {"x86_64": "x64", "arm64": "arm64"}
# Names within the group of a launch, which is its own.
MACHINE, NETWORK, SUBNET, FIREWALL = "machine", "network", "machines", "firewall"
PREFIX = "rackrate-"
WORKSPACE, TOKEN, EXPIRES = "rackrate-workspace", "rackrate-token", "rackrate-expires"
HOST_KEY, ATTEMPT = "rackrate-host-key", "rackrate-attempt"
EXPIRES_FORMAT = "%Y%m%dT%H%M%SZ"
GROUP = re.compile(r"rackrate-[A-Za-z0-9-]{1,64}")
TAG_VALUE = re.compile(r"[^\x00-\x1f\x7f']{0,256}")
# Of power. Any other state is on the way to the end, or stopped, which costs all the same
# (learn.microsoft.com/azure/virtual-machines/states-billing).
STATES: Mapping[str, ProviderResourceState] = MappingProxyType(
    {
        "": ProviderResourceState.PENDING,
        "starting": ProviderResourceState.PENDING,
        "running": ProviderResourceState.RUNNING,
    }
)


# --- what we send ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class SizeFeatures:
    """Capabilities of a size that decide how a machine of it is asked for."""

    is_nvme_only: bool = False
    has_accelerated_networking: bool = False
    is_generation_1: bool = False

    @classmethod
    def of(cls, size: Mapping[str, Any]) -> "SizeFeatures":
        """Read from an answer about SKUs; what it does not state is not there."""
        values = {
            capability["name"]: capability["value"] for capability in size.get("capabilities") or ()
        }
        return cls(
            is_nvme_only=values.get("DiskControllerTypes", "").strip().lower() == "nvme",
            has_accelerated_networking=values.get("AcceleratedNetworkingEnabled") == "True",
            is_generation_1=values.get("HyperVGenerations") == "V1",
        )


@dataclass(frozen=True)
class MachineOrder:
    """A machine to be made in a group of its own."""

    spec: LaunchSpec
    token: str
    access: Access

    @property
    def group(self) -> str:
        name = PREFIX + self.token
        if not GROUP.fullmatch(name):
            raise unsupported_error(f"{self.token!r} is no part of a name")
        return name

    @property
    def attempt(self) -> str:
        """Number of the attempt that decides which of several refused ones is shown: each zone is
        asked once in a round."""
        return f"{self.spec.round}:{self.spec.zone}"

    @property
    def tags(self) -> dict[str, str]:
        spec = self.spec
        expires = spec.expires_at.astimezone(dt.UTC).strftime(EXPIRES_FORMAT)
        own = {WORKSPACE: spec.tag, TOKEN: self.token, EXPIRES: expires}
        tags = {**self.access.settings.get("tags", {}), **spec.labels, **own}
        return {name: tag_value(value) for name, value in tags.items()}

    @property
    def group_body(self) -> dict[str, Any]:
        return {"location": self.spec.region, "tags": self.tags}

    @property
    def firewall_body(self) -> dict[str, Any]:
        """A standard address lets nothing in without one."""
        rule = {
            "protocol": "Tcp",
            "access": "Allow",
            "direction": "Inbound",
            # The lowest number decides, and Azure takes none below 100.
            "priority": 100,
            "sourceAddressPrefix": "*",
            "sourcePortRange": "*",
            "destinationAddressPrefix": "*",
            "destinationPortRange": str(self.access.ssh_port),
        }
        rules = [{"name": "ssh", "properties": rule}]
        return {**self.group_body, "properties": {"securityRules": rules}}

    @property
    def network_body(self) -> dict[str, Any]:
        """Newer subnets have no way out but an address of the machine's own, which ours have."""
        # The same for every launch: networks that are not joined may have the same addresses.
        subnet = {"name": SUBNET, "properties": {"addressPrefix": "10.0.0.0/24"}}
        space = {"addressPrefixes": ["10.0.0.0/24"]}
        return {**self.group_body, "properties": {"addressSpace": space, "subnets": [subnet]}}

    def machine_body(
        self, features: SizeFeatures, subscription: str, user_data: str, fingerprint: str
    ) -> dict[str, Any]:
        """The machine with its address and disk, all of which end with it."""
        spec, access = self.spec, self.access
        if spec.arch not in IMAGES:
            raise unsupported_error(f"no image for {spec.arch} is known here")
        rented = volume(spec.machine_type)
        disk = {
            "createOption": "FromImage",
            "deleteOption": "Delete",
            "diskSizeGB": rented.size_gib,
            "managedDisk": {"storageAccountType": rented.type},
        }
        username = access.settings.get("username") or USERNAME
        key = {
            "path": f"/home/{username}/.ssh/authorized_keys",
            "keyData": " ".join(spec.public_key.split()[:2]),
        }
        linux = {"disablePasswordAuthentication": True, "ssh": {"publicKeys": [key]}}
        properties = {
            "hardwareProfile": {"vmSize": spec.machine_type},
            "storageProfile": {
                "imageReference": image_reference(
                    access, spec.region, spec.arch, is_generation_1=features.is_generation_1
                ),
                "osDisk": disk,
                # Not stated, Azure takes SCSI, which such a size refuses.
                **({"diskControllerType": "NVMe"} if features.is_nvme_only else {}),
            },
            "osProfile": {
                "computerName": MACHINE,
                "adminUsername": username,
                "customData": base64.b64encode(user_data.encode()).decode(),
                "linuxConfiguration": linux,
            },
            "networkProfile": {
                # Needed where the interface is made by the call that makes the machine.
                "networkApiVersion": "2022-11-01",
                "networkInterfaceConfigurations": [self._interface(features, subscription)],
            },
            **(_spot(spec) if spec.is_spot else {}),
        }
        zones = {"zones": [spec.zone.rpartition("-")[2]]} if spec.zone else {}
        tags = {**self.tags, HOST_KEY: fingerprint, ATTEMPT: self.attempt}
        return {"location": spec.region, "tags": tags, **zones, "properties": properties}

    def _interface(self, features: SizeFeatures, subscription: str) -> dict[str, Any]:
        ours = (
            f"/subscriptions/{subscription}/resourceGroups/{self.group}/providers/Microsoft.Network"
        )
        subnet = self.access.in_region("subnet", self.spec.region)
        at = {"id": subnet or f"{ours}/virtualNetworks/{NETWORK}/subnets/{SUBNET}"}
        address = {
            "name": "address",
            # Basic addresses, which the API makes unless it is stated, are retired.
            "sku": {"name": "Standard"},
            "tags": self.tags,
            "properties": {"deleteOption": "Delete", "publicIPAllocationMethod": "Static"},
        }
        public = {} if self.access.is_private else {"publicIPAddressConfiguration": address}
        of_ip = {"primary": True, "subnet": at, **public}
        # Without it the network's figures are those of the hypervisor's switch. Azure turns it on of its own
        # accord from version 5 of the sizes on (github.com/MicrosoftDocs/azure-docs/issues/128098).
        chosen = self.access.settings.get("accelerated_networking")
        is_fast = chosen == "on" or (not chosen and features.has_accelerated_networking)
        properties = {
            "primary": True,
            "deleteOption": "Delete",
            "enableAcceleratedNetworking": is_fast,
            "networkSecurityGroup": {"id": f"{ours}/networkSecurityGroups/{FIREWALL}"},
            "ipConfigurations": [{"name": "ip", "properties": of_ip}],
        }
        return {"name": "interface", "tags": self.tags, "properties": properties}


def _spot(spec: LaunchSpec) -> dict[str, Any]:
    # -1: up to the price on demand, and never taken away because of the price.
    price = spec.max_price_per_hour
    return {
        "priority": "Spot",
        # One that Azure takes back is still listed, and says that it ran; deleted, nobody who has not seen
        # it before would ever know, and a launch without an answer would be made again. Its group goes
        # as soon as we look.
        "evictionPolicy": "Deallocate",
        # JSON has no Decimal; what is sent is a limit and counted nowhere.
        "billingProfile": {"maxPrice": -1 if price is None else float(price)},
    }


def tag_value(value: str) -> str:
    """The value as it is; DriverError(UNSUPPORTED) where a tag or its filter cannot have it."""
    if not TAG_VALUE.fullmatch(value):
        raise unsupported_error(f"{value!r} is no value of a tag")
    return value


def image_reference(
    access: Access, region: str, arch: str, *, is_generation_1: bool = False
) -> dict[str, str]:
    """The image by its URN, or the id of one's own."""
    sku = GENERATION_1_IMAGE if is_generation_1 else IMAGES[arch]
    chosen = access.in_region("image", region) or f"{PUBLISHER}:{OFFER}:{sku}:latest"
    chosen = chosen.replace("{arch}", ARCHES[arch])
    if chosen.startswith("/"):
        return {"id": chosen}
    parts = chosen.split(":")
    if len(parts) != 4:
        raise unsupported_error(f"{chosen} is no URN such as Debian:debian-12:12-gen2:latest")
    return dict(zip(("publisher", "offer", "sku", "version"), parts, strict=True))


def peer_rules(address: str) -> dict[str, dict[str, Any]]:
    """By name, what lets the network tests of another machine in."""
    low, high = PEER_PORTS
    common = {
        "access": "Allow",
        "direction": "Inbound",
        "sourceAddressPrefix": address,
        "sourcePortRange": "*",
        "destinationAddressPrefix": "*",
    }
    ports = {"protocol": "*", "priority": 200, "destinationPortRange": f"{low}-{high}"}
    ping = {"protocol": "Icmp", "priority": 210, "destinationPortRange": "*"}
    return {"peer": {"properties": common | ports}, "ping": {"properties": common | ping}}


# --- what it says ---------------------------------------------------------------------------------


def group_of(resource: ProviderResource) -> str:
    # It becomes a part of an address.
    if not GROUP.fullmatch(resource.id):
        raise unsupported_error(f"{resource.id!r} is no id of ours")
    return resource.id


def group_resource(group: Mapping[str, Any]) -> ProviderResource:
    """A group of ours: as long as it is there, something in it may cost money."""
    tags = group.get("tags") or {}
    is_ending = (group.get("properties") or {}).get("provisioningState") == "Deleting"
    state = ProviderResourceState.ENDING if is_ending else ProviderResourceState.RUNNING
    return ProviderResource(
        id=group["name"],
        state=state,
        token=tags.get(TOKEN, ""),
        installation=tags.get(INSTALLATION, ""),
        region=group["location"],
        expires_at=time_of_label(tags.get(EXPIRES, ""), EXPIRES_FORMAT),
        detail="its resource group is being deleted" if is_ending else "",
    )


def power_state(machine: Mapping[str, Any]) -> str:
    """PowerState of a machine; "" before it has one."""
    return next((code for kind, code, _ in _statuses(machine) if kind == "PowerState"), "")


def provisioning_state(machine: Mapping[str, Any]) -> str:
    """Creating, Updating, Succeeded, Failed, Canceled or Deleting."""
    return str((machine.get("properties") or {}).get("provisioningState", ""))


def failure(machine: Mapping[str, Any]) -> tuple[str, str]:
    """Code and message of why it could not be made, as its instance view states them."""
    for kind, code, message in _statuses(machine):
        if kind == "ProvisioningState" and code.startswith("failed"):
            return code.partition("/")[2] or "Failed", message
    return "Failed", "Azure does not say why"


def _statuses(machine: Mapping[str, Any]) -> Sequence[tuple[str, str, str]]:
    view = (machine.get("properties") or {}).get("instanceView") or {}
    parts = (
        (status.get("code", "").partition("/"), status.get("message") or "")
        for status in view.get("statuses") or ()
    )
    return [(kind, code, message) for (kind, _, code), message in parts]


def moment(value: object) -> dt.datetime | None:
    """A time of the API, as text or as the library reads it."""
    if isinstance(value, str) and value:
        # Azure writes seven digits of a second, of which Python reads six.
        value = dt.datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", value))
    return value.astimezone(dt.UTC) if isinstance(value, dt.datetime) else None


def console_key(machine: Mapping[str, Any]) -> HostKey | None:
    """The host key that the machine was given, by the tag of the call that made it."""
    fingerprint = (machine.get("tags") or {}).get(HOST_KEY, "")
    return HostKey(HOST_KEY_TYPE, fingerprint) if fingerprint.startswith("SHA256:") else None
