"""docs/real-clouds.md, "Machine families": the request of each driver for each family of the table, and
what the vendors' own models say of it where a library ships them."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from botocore.session import get_session
from google.cloud import compute_v1
from moto.ec2.models.instance_types import INSTANCE_TYPES

from backend.providers.aws import CREDIT_FAMILIES, launching
from backend.providers.aws import request as aws_request
from backend.providers.azure.documents import MachineOrder, SizeFeatures
from backend.providers.gcp.documents import instance, maintenance_policies
from backend.providers.hetzner.driver import HetznerDriver
from backend.providers.hosters import Order
from backend.providers.machines import Access, LaunchSpec
from backend.providers.registry import PROVIDERS
from tests.workers.aws_account import SPEC, TOKEN
from tests.workers.test_azure import _unknown, compute_models
from tests.workers.test_request_shapes import _faults, _foreign
from workers.remote.registry import cloud

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs/real-clouds.md").read_text()
ROW = re.compile(r"^\| ([a-z]+) " + r"\| ([^|]+) " * 8 + r"\|$", re.MULTILINE)
HOSTERS = ("digitalocean", "linode", "ovh", "scaleway", "upcloud", "vultr")


@dataclass(frozen=True)
class Family:
    """A row of the table."""

    provider: str
    name: str
    type: str
    arch: str
    disk: str
    network: str
    image: str
    asked: str
    source: str

    @property
    def spec(self) -> LaunchSpec:
        return replace(SPEC, machine_type=self.type, arch=self.arch)


FAMILIES = [
    Family(*(cell.strip().strip("`") for cell in row))
    for row in ROW.findall(DOCUMENT)
    if row[0] != "provider"
]


def of(*providers: str) -> Any:
    found = [one for one in FAMILIES if one.provider in providers]
    return pytest.mark.parametrize("family", found, ids=[one.type for one in found])


def test_table_has_sixty_families_of_all_drivers_and_a_source_of_each():
    drivers = {slug for slug, one in PROVIDERS.items() if one.rents_machines and slug != "fake"}
    counts = Counter(one.provider for one in FAMILIES)
    assert set(counts) == drivers
    assert counts.total() == len({one.type for one in FAMILIES}) >= 60
    sources = DOCUMENT.partition("Sources, read on")[2]
    for family in FAMILIES:
        for source in family.source.split(", "):
            assert re.search(rf"\b{source.split()[0]}\b", sources), source
    assert {one.arch for one in FAMILIES} == {"x86_64", "arm64"}


# --- AWS ------------------------------------------------------------------------------------------

EC2 = get_session().get_service_model("ec2")
RUN_INSTANCES: Any = EC2.operation_model("RunInstances").input_shape


def _ec2_request(spec: LaunchSpec) -> dict[str, Any]:
    root = {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 8}}
    return aws_request.request(
        spec,
        TOKEN,
        marks={"Name": "one"},
        image="ami-1",
        disks=[aws_request.disk_of(root, is_root=True)],
        group="sg-1",
        subnet="",
        is_private=False,
    )


@of("aws")
def test_request_of_an_aws_family_is_that_of_its_row(family):
    sent = _ec2_request(family.spec)
    assert _faults(RUN_INSTANCES, sent) == []
    (disk,) = sent["BlockDeviceMappings"]
    assert f"{disk['Ebs']['VolumeType']}, {disk['Ebs']['VolumeSize']} GiB" == family.disk
    assert family.image in launching.IMAGE
    mode = sent.get("CreditSpecification", {}).get("CpuCredits")
    assert (f"CpuCredits {mode}" if mode else "–") == family.asked
    model = INSTANCE_TYPES[family.type]
    is_ena = model["NetworkInfo"]["EnaSupport"] == "required"
    assert ("ENA" if is_ena else "Xen") == family.network
    assert family.arch in model["ProcessorInfo"]["SupportedArchitectures"]


@pytest.mark.parametrize("family", sorted({name.partition(".")[0] for name in INSTANCE_TYPES}))
def test_request_for_any_type_of_ec2_fits_the_model_of_aws(family):
    known = EC2.shape_for("InstanceType").enum
    for name, model in INSTANCE_TYPES.items():
        if name.partition(".")[0] != family:
            continue
        arches = model["ProcessorInfo"]["SupportedArchitectures"]
        arch = "arm64" if "arm64" in arches else "x86_64"
        sent = _ec2_request(replace(SPEC, machine_type=name, arch=arch))
        assert name in known
        # Any other type is refused with a credit specification; without one T3 and T4g may cost beyond
        # their price (docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreditSpecificationRequest.html).
        is_burstable = model["BurstablePerformanceSupported"]
        assert ("CreditSpecification" in sent) == is_burstable, name
        assert name.startswith(CREDIT_FAMILIES) == is_burstable, name
        # Of a Mac's architecture there is no image.
        assert family.startswith("mac") == (arch not in arches), name


# --- Google ---------------------------------------------------------------------------------------


@of("gcp")
def test_request_of_a_google_family_is_that_of_its_row(family):
    access = Access("static_key", {"project": "rackrate-bench"})
    first, _ = maintenance_policies(family.spec)
    sent = instance(replace(family.spec, labels={}), "t0", "europe-west4-b", access, first)
    assert f"onHostMaintenance {sent['scheduling']['on_host_maintenance']}" == family.asked
    disk = sent["disks"][0]["initialize_params"]
    kind = disk["disk_type"].rpartition("/")[2]
    assert f"{kind}, {disk['disk_size_gb']} GiB" == family.disk
    assert disk["source_image"].rpartition("/")[2] == family.image
    # Their network has no driver in Debian 12.
    assert family.type.endswith("-metal") == (family.network == "IDPF")
    assert family.image.startswith("debian-13")
    assert _foreign(compute_v1.Instance(sent)) == []
    assert maintenance_policies(replace(family.spec, is_spot=True))[0] == "TERMINATE"


# --- Azure ----------------------------------------------------------------------------------------


@of("azure")
def test_request_of_an_azure_family_is_that_of_its_row(family):
    capabilities = {
        "DiskControllerTypes": "NVMe" if "NVMe" in family.asked else "SCSI",
        "AcceleratedNetworkingEnabled": str(family.network == "accelerated"),
        "HyperVGenerations": "V1" if family.image == "12" else "V2",
    }
    size = {"capabilities": [{"name": k, "value": v} for k, v in capabilities.items()]}
    order = MachineOrder(family.spec, "t0", Access("static_key", {}))
    body = order.machine_body(SizeFeatures.of(size), "subscription", "#cloud-config", "SHA256:x")
    assert _unknown(compute_models.VirtualMachine(body), body) == []
    storage = body["properties"]["storageProfile"]
    disk = storage["osDisk"]
    assert f"{disk['managedDisk']['storageAccountType']}, {disk['diskSizeGB']} GiB" == family.disk
    assert storage["imageReference"]["sku"] == family.image
    controller = storage.get("diskControllerType")
    assert (f"diskControllerType {controller}" if controller else "–") == family.asked
    assert controller in {None, *(one.value for one in compute_models.DiskControllerTypes)}
    (interface,) = body["properties"]["networkProfile"]["networkInterfaceConfigurations"]
    is_fast = interface["properties"]["enableAcceleratedNetworking"]
    assert ("accelerated" if is_fast else "plain") == family.network
    # The row itself: "for v6 … you need to transition from SCSI to NVMe" (nvme-overview).
    version = re.search(r"_v(\d+)$", family.type)
    assert (version is not None and int(version[1]) >= 6) == ("NVMe" in family.asked)


# --- the hosters ----------------------------------------------------------------------------------


class _Sent(Exception):
    """The body of the call that makes a machine."""


@of(*HOSTERS)
async def test_request_of_a_hosters_family_is_that_of_its_row(monkeypatch, family):
    driver: Any = cloud(family.provider, Access("token", {"project": "p", "regions": ["here"]}))
    taken: list[str] = []

    async def image(region: str, arch: str = "x86_64") -> str:
        taken.append(arch)
        return "7"

    async def ask(method: str, path: str, *, query: Any = None, body: Any = None, **_: Any) -> Any:
        if method == "POST":
            raise _Sent(body)
        plan = {"name": family.type, "storage_size": 25, "storage_tier": "maxiops"}
        flavor = {"id": family.type, "name": family.type, "available": True, "osType": "linux"}
        return [flavor] if path.endswith("/flavor") else {"plans": {"plan": [plan]}}

    monkeypatch.setattr(driver, "_image", image)
    monkeypatch.setattr(driver, "ask", ask)
    order = Order(replace(family.spec, region="here"), "rackrate-t0", ["rackrate-t0", "w-1"], "#")
    with pytest.raises(_Sent) as sent:
        await driver._make(order)
    (body,) = sent.value.args
    assert family.type in _texts(body)
    assert (driver.image, family.arch in driver.arches) == (family.image, True)
    # DigitalOcean takes the image's name as it is.
    assert taken == [family.arch] if taken else family.image in _texts(body)
    if "sbs_volume" in family.disk:
        volume = body["volumes"]["0"]
        assert f"{volume['volume_type']}, {volume['size'] // 10**9} GB" == family.disk


@of("hetzner")
async def test_request_of_a_hetzner_family_is_that_of_its_row(monkeypatch, family):
    async def create(kind: str, body: Any) -> Any:
        return {"id": 1, **body}

    driver: Any = HetznerDriver(Access("token", {}))
    monkeypatch.setattr(driver, "_create", create)
    body = await driver._make(family.spec, "rackrate-t0", {})
    assert (body["server_type"], body["image"]) == (family.type, family.image)


def _texts(body: Any) -> set[str]:
    values = body.values() if isinstance(body, dict) else body if isinstance(body, list) else ()
    return {one for part in values for one in _texts(part)} | {str(body)}
