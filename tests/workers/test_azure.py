"""The driver of Azure against its REST API on loopback, with real machines behind it."""

import asyncio
import base64
import datetime as dt
import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from azure.mgmt.compute import models as compute_models
from azure.mgmt.network import models as network_models
from azure.mgmt.resource.resources import models as group_models

from backend.foundation.errors import DriverError, Reason
from backend.providers.azure import driver as azure
from backend.providers.azure import library
from backend.providers.azure.driver import AzureDriver
from backend.providers.host_keys import host_key
from backend.providers.machines import (
    Access,
    LaunchSpec,
    MachineListing,
    ProviderResource,
    ProviderResourceState,
    Readiness,
    ResourceKind,
)
from tests.fakes.azure import Azure
from tests.fakes.machines import Machines
from tests.workers.rented_machines import PRIVATE_KEY, TAG, Clock, new_token
from workers.remote import ssh
from workers.remote.driver import Target

ROLE = Path(__file__).resolve().parents[2] / "docs/policies/azure-role.json"
TOKEN = "3f0f6f0e-6f9c-4a3c-9f5a-0d8b6a0c1e2f"
GROUP = f"rackrate-{TOKEN}"
SPEC = LaunchSpec(
    machine_type="Standard_D2s_v5",
    region="westeurope",
    zone="westeurope-2",
    arch="x86_64",
    lifetime_s=3600,
    expires_at=dt.datetime(2026, 3, 1, 14, tzinfo=dt.UTC),
    public_key=PRIVATE_KEY.export_public_key("openssh").decode(),
    tag=TAG,
    labels={"run": "0c6f", "owner": "somebody", "installation": "here"},
)
TAGS = {
    "rackrate-workspace": TAG,
    "rackrate-token": TOKEN,
    "rackrate-expires": "20260301T140000Z",
    "run": "0c6f",
    "owner": "somebody",
    "installation": "here",
}
SUBNET = (
    f"/subscriptions/{Azure.subscription}/resourceGroups/net/providers/Microsoft.Network"
    "/virtualNetworks/ours/subnets/benchmarks"
)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: Any) -> None:
    monkeypatch.setattr(azure, "LOOK_S", 0.01)
    monkeypatch.setattr(azure, "LAUNCH_S", 0.5)


@pytest.fixture
def cloud(tmp_path: Path, clock: Clock) -> Iterator[Azure]:
    with Machines(tmp_path) as machines, Azure(machines, clock=clock) as running:
        yield running


def _driver(cloud: Azure, **settings: Any) -> AzureDriver:
    known = {
        "subscription": cloud.subscription,
        "regions": ["westeurope"],
        "endpoint_url": cloud.url,
        **settings,
    }
    return AzureDriver(Access("static_key", known, {"client_secret": "never-to-be-seen"}))


@pytest.fixture
def driver(cloud: Azure) -> AzureDriver:
    return _driver(cloud)


async def _refusal(call: Any) -> DriverError:
    with pytest.raises(DriverError) as refusal:
        await call
    return refusal.value


def _named(refusal: DriverError) -> tuple[Reason, bool]:
    return refusal.reason, refusal.retryable


def _body(cloud: Azure) -> dict[str, Any]:
    (vm,) = cloud.vms
    return vm.body


def _user_data(cloud: Azure) -> Any:
    profile = _body(cloud)["properties"]["osProfile"]
    return yaml.safe_load(base64.b64decode(profile["customData"]))


# --- what is asked for ----------------------------------------------------------------------------


async def test_launch_asks_for_the_machine_when_called(cloud, driver):
    await driver.launch(SPEC, TOKEN)
    body = _body(cloud)
    tags = dict(body["tags"])
    assert tags.pop("rackrate-host-key").startswith("SHA256:")
    assert tags.pop("rackrate-attempt") == "0:westeurope-2"
    assert tags == TAGS
    assert (body["location"], body["zones"]) == ("westeurope", ["2"])
    properties = body["properties"]
    assert properties["hardwareProfile"] == {"vmSize": "Standard_D2s_v5"}
    assert properties["storageProfile"] == {
        "imageReference": {
            "publisher": "Debian",
            "offer": "debian-12",
            "sku": "12-gen2",
            "version": "latest",
        },
        "osDisk": {
            "createOption": "FromImage",
            "deleteOption": "Delete",
            "diskSizeGB": 32,
            "managedDisk": {"storageAccountType": "StandardSSD_LRS"},
        },
    }
    assert properties["osProfile"]["linuxConfiguration"] == {
        "disablePasswordAuthentication": True,
        "ssh": {
            "publicKeys": [
                {
                    "path": "/home/rackrate/.ssh/authorized_keys",
                    "keyData": " ".join(SPEC.public_key.split()[:2]),
                }
            ]
        },
    }
    assert not {"priority", "evictionPolicy", "identity"} & {*properties, *body}


async def test_everything_carries_the_tags_when_launched(cloud, driver):
    await driver.launch(SPEC, TOKEN)
    (group,) = cloud.groups.values()
    (interface,) = _body(cloud)["properties"]["networkProfile"]["networkInterfaceConfigurations"]
    (of_ip,) = interface["properties"]["ipConfigurations"]
    address = of_ip["properties"]["publicIPAddressConfiguration"]
    made = [group.body, *group.parts.values(), interface, address]
    assert [one["tags"] for one in made] == [TAGS] * 5


async def test_user_data_arms_the_end_and_leaves_one_host_key(cloud, driver):
    await driver.launch(replace(SPEC, lifetime_s=3601), TOKEN)
    config = _user_data(cloud)
    assert config["bootcmd"] == [
        ["systemd-run", "--no-block", "--on-active=3601s", "systemctl", "poweroff"]
    ]
    assert (config["ssh_deletekeys"], list(config["ssh_keys"])) == (
        True,
        ["ed25519_private", "ed25519_public"],
    )


async def test_launch_follows_the_account_when_it_has_settings(cloud):
    driver = _driver(
        cloud,
        image="Debian:debian-12:12-{arch}:latest",
        username="bench",
        ssh_port=2222,
        accelerated_networking="on",
        tags={"CostCenter": "R&D 7"},
    )
    spec = replace(SPEC, machine_type="Standard_D2ps_v5", arch="arm64", zone="westeurope-1")
    made = await driver.launch(spec, TOKEN)
    assert (made.username, made.port) == ("bench", 2222)
    body = _body(cloud)
    assert body["tags"]["CostCenter"] == "R&D 7"
    assert body["properties"]["storageProfile"]["imageReference"]["sku"] == "12-arm64"
    (interface,) = body["properties"]["networkProfile"]["networkInterfaceConfigurations"]
    assert interface["properties"]["enableAcceleratedNetworking"] is True
    (rule,) = cloud.groups[GROUP].parts["networkSecurityGroups", "firewall"]["properties"][
        "securityRules"
    ]
    assert rule["properties"]["destinationPortRange"] == "2222"


@pytest.mark.parametrize(
    ("size", "needed"),
    [
        ("Standard_D2s_v5", (None, True, "12-gen2")),
        # Disks by NVMe alone: Azure would take SCSI and refuse the size.
        ("Standard_D2s_v6", ("NVMe", True, "12-gen2")),
        ("Standard_E2bs_v5", (None, True, "12-gen2")),
        ("Standard_B2s", (None, False, "12-gen2")),
        # Boots as generation 1 alone.
        ("Standard_D2_v3", (None, False, "12")),
    ],
)
async def test_launch_takes_controller_network_and_image_when_the_size_has_them(
    cloud, driver, size, needed
):
    zone = "" if size == "Standard_B2s" else "westeurope-1"
    await driver.launch(replace(SPEC, machine_type=size, zone=zone), TOKEN)
    properties = _body(cloud)["properties"]
    (interface,) = properties["networkProfile"]["networkInterfaceConfigurations"]
    sent = (
        properties["storageProfile"].get("diskControllerType"),
        interface["properties"]["enableAcceleratedNetworking"],
        properties["storageProfile"]["imageReference"]["sku"],
    )
    assert sent == needed


@pytest.mark.parametrize(("chosen", "size"), [("off", "Standard_D2s_v5"), ("on", "Standard_B2s")])
async def test_launch_follows_the_account_when_it_chooses_the_network(cloud, chosen, size):
    driver = _driver(cloud, accelerated_networking=chosen)
    spec = replace(SPEC, machine_type=size, zone="")
    if chosen == "on":
        refusal = await _refusal(driver.launch(spec, TOKEN))
        assert _named(refusal) == (Reason.UNSUPPORTED, False)
        return
    await driver.launch(spec, TOKEN)
    (interface,) = _body(cloud)["properties"]["networkProfile"]["networkInterfaceConfigurations"]
    assert interface["properties"]["enableAcceleratedNetworking"] is False


async def test_launch_uses_the_private_subnet_when_the_account_names_one(cloud):
    made = await _driver(cloud, address="private", subnet=SUBNET).launch(SPEC, TOKEN)
    (interface,) = _body(cloud)["properties"]["networkProfile"]["networkInterfaceConfigurations"]
    (of_ip,) = interface["properties"]["ipConfigurations"]
    assert of_ip["properties"] == {"primary": True, "subnet": {"id": SUBNET}}
    assert made.address == made.private_address == "127.0.1.1"
    assert [kind for kind, _ in cloud.groups[GROUP].parts] == ["networkSecurityGroups"]


@pytest.mark.parametrize(("price", "sent"), [(None, -1), ("0.05", 0.05)])
async def test_spot_machine_stays_listed_when_it_is_taken_away(cloud, driver, price, sent):
    await driver.launch(replace(SPEC, is_spot=True, max_price_per_hour=price), TOKEN)
    properties = _body(cloud)["properties"]
    assert (properties["priority"], properties["evictionPolicy"]) == ("Spot", "Deallocate")
    assert properties["billingProfile"] == {"maxPrice": sent}


async def test_launch_answers_with_the_machine_when_it_runs(driver, clock):
    made = await driver.launch(SPEC, TOKEN)
    assert made == ProviderResource(
        id=GROUP,
        state=ProviderResourceState.RUNNING,
        token=TOKEN,
        region="westeurope",
        zone="westeurope-2",
        address="127.0.1.1",
        port=22,
        username="rackrate",
        launched_at=clock.now,
    )
    described = await driver.describe(made)
    assert described == replace(made, expires_at=SPEC.expires_at, installation="here")


@pytest.mark.parametrize(
    ("change", "token"),
    [
        ({"arch": "riscv64"}, TOKEN),
        ({"tag": "x'y"}, TOKEN),
        ({"labels": {"run": "x" * 257}}, TOKEN),
        ({}, "a b"),
    ],
)
async def test_launch_is_refused_when_azure_would_not_take_it(cloud, driver, change, token):
    refusal = await _refusal(driver.launch(replace(SPEC, **change), token))
    assert _named(refusal) == (Reason.UNSUPPORTED, False)
    assert cloud.vms == []


def _unknown(model: Any, sent: Any, path: str = "") -> list[str]:
    """What is sent and Microsoft's model does not know, by its path."""
    if not isinstance(sent, dict) or not hasattr(model, "_attr_to_rest_field"):
        return []
    names = {one._rest_name: name for name, one in model._attr_to_rest_field.items()}
    return [
        bad
        for key, value in sent.items()
        for bad in (
            [f"{path}/{key}"]
            if key not in names
            else _below(getattr(model, names[key]), value, f"{path}/{key}")
        )
    ]


def _below(value: Any, sent: Any, path: str) -> list[str]:
    if isinstance(sent, list):
        return [
            bad
            for index, (one, part) in enumerate(zip(value, sent, strict=True))
            for bad in _unknown(one, part, f"{path}/{index}")
        ]
    return _unknown(value, sent, path)


@pytest.mark.parametrize(
    ("size", "is_spot"),
    [("Standard_D2s_v5", False), ("Standard_D2s_v5", True), ("Standard_D2s_v6", False)],
)
async def test_requests_have_the_shape_that_the_library_knows(cloud, driver, size, is_spot):
    spec = replace(SPEC, machine_type=size, zone="westeurope-1", is_spot=is_spot)
    made = await driver.launch(spec, TOKEN)
    await driver.let_in(made, "192.0.2.7")
    models = {
        "virtualMachines": compute_models.VirtualMachine,
        "networkSecurityGroups": network_models.NetworkSecurityGroup,
        "virtualNetworks": network_models.VirtualNetwork,
        "securityRules": network_models.SecurityRule,
        "resourcegroups": group_models.ResourceGroup,
    }
    checked = []
    for asked in cloud.asked:
        if asked.method == "PUT":
            kind = asked.parts[-2]
            checked.append(kind)
            assert _unknown(models[kind](asked.body), asked.body) == []
    assert {*checked} == {*models}
    assert _unknown(compute_models.VirtualMachine({"sice": 1}), {"sice": 1}) == ["/sice"]


# --- once and only once ---------------------------------------------------------------------------


async def test_launch_makes_one_machine_when_repeated(cloud, driver):
    first = await driver.launch(SPEC, TOKEN)
    assert await driver.launch(SPEC, TOKEN) == first
    assert (len(cloud.vms), len(cloud.groups)) == (1, 1)


@pytest.mark.parametrize("fault", ["lost_answer", "lost_request", "broken", "hung", "garbled"])
async def test_launch_makes_one_machine_when_the_first_answer_says_nothing(cloud, driver, fault):
    cloud.faults.set(fault, times=1)
    assert _named(await _refusal(driver.launch(SPEC, TOKEN))) == (Reason.TIMEOUT, True)
    made = await driver.launch(SPEC, TOKEN)
    assert made.state == ProviderResourceState.RUNNING
    assert [vm.token for vm in cloud.vms] == [TOKEN]
    fingerprint = await driver.console_fingerprint(made)
    assert fingerprint == host_key(cloud.vms[0].server.host_key)


async def test_launch_makes_one_machine_when_several_workers_ask_at_once(cloud):
    calls = (_driver(cloud).launch(SPEC, TOKEN) for _ in range(4))
    answers = await asyncio.gather(*calls, return_exceptions=True)
    # Who comes second may be refused because of the first one, and asks again.
    assert all(one.retryable for one in answers if isinstance(one, DriverError))
    made = await _driver(cloud).launch(SPEC, TOKEN)
    assert (len(cloud.vms), made.state) == (1, ProviderResourceState.RUNNING)


async def test_launch_goes_on_when_the_machine_takes_longer_than_a_call(cloud, driver, clock):
    cloud.faults.set("slow_create", times=1, seconds=40)
    refusal = await _refusal(driver.launch(SPEC, TOKEN))
    assert (_named(refusal), refusal.detail) == ((Reason.TIMEOUT, True), "the launch goes on")
    clock.go(40)
    assert (await driver.launch(SPEC, TOKEN)).state == ProviderResourceState.RUNNING
    assert len(cloud.vms) == 1


async def test_launch_waits_for_its_machine_when_it_is_not_shown_yet(cloud, driver, clock):
    cloud.faults.set("late", times=2, seconds=30)
    await _refusal(driver.launch(SPEC, TOKEN))
    refusal = await _refusal(driver.launch(SPEC, TOKEN))
    assert (refusal.retryable, len(cloud.vms)) == (True, 1)
    clock.go(30)
    assert (await driver.launch(SPEC, TOKEN)).state == ProviderResourceState.RUNNING


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "named", "detail"),
    [
        ("quota", (Reason.QUOTA, False), "standardDSv5Family"),
        ("policy", (Reason.UNSUPPORTED, False), "policy Only small machines"),
        ("sku", (Reason.CAPACITY, True), "SkuNotAvailable"),
        ("throttled", (Reason.TIMEOUT, True), "again in 17 s"),
        ("forbidden", (Reason.AUTH, False), "AuthorizationFailed"),
    ],
)
async def test_launch_names_the_reason_when_azure_refuses(cloud, driver, fault, named, detail):
    cloud.faults.set(fault, times=1)
    refusal = await _refusal(driver.launch(SPEC, TOKEN))
    assert _named(refusal) == named
    assert detail in refusal.detail
    assert cloud.vms == []


@pytest.mark.parametrize("fault", ["capacity", "constrained"])
async def test_next_zone_is_free_when_the_first_one_was_full(cloud, driver, fault):
    cloud.faults.set(fault, times=1)
    refusal = await _refusal(driver.launch(SPEC, TOKEN))
    assert _named(refusal) == (Reason.CAPACITY, True)
    assert refusal.proves_none
    assert "AllocationFailed" in refusal.detail or "Overconstrained" in refusal.detail
    made = await driver.launch(replace(SPEC, zone="westeurope-3"), TOKEN)
    assert (made.zone, made.state) == ("westeurope-3", ProviderResourceState.RUNNING)
    assert len(cloud.record) == 1


async def test_zone_counts_as_full_once_when_the_worker_died_meanwhile(cloud, driver):
    cloud.faults.set("capacity", times=1)
    cloud.faults.set("lost_answer", times=1)
    await _refusal(driver.launch(SPEC, TOKEN))
    refusal = await _refusal(driver.launch(replace(SPEC, zone="westeurope-3"), TOKEN))
    assert _named(refusal) == (Reason.TIMEOUT, True)
    made = await driver.launch(replace(SPEC, zone="westeurope-3"), TOKEN)
    assert made.zone == "westeurope-3"


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ("throttled", (Reason.TIMEOUT, True)),
        ("forbidden", (Reason.AUTH, False)),
        ("broken", (Reason.UNREACHABLE, True)),
        ("hung", (Reason.UNREACHABLE, True)),
        ("garbled", (Reason.UNREACHABLE, True)),
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        lambda driver, made: driver.describe(made),
        lambda driver, made: driver.terminate(made),
        lambda driver, made: driver.inventory(TAG),
        lambda driver, made: driver.console_fingerprint(made),
        lambda driver, made: driver.whoami(),
        lambda driver, made: driver.offers(),
        lambda driver, made: driver.let_in(made, "192.0.2.7"),
    ],
)
async def test_call_names_the_reason_when_azure_refuses(cloud, driver, fault, named, call):
    made = await driver.launch(SPEC, TOKEN)
    cloud.faults.set(fault, times=1)
    assert _named(await _refusal(call(driver, made))) == named


async def test_other_subscription_proves_nothing_when_it_is_not_ours(cloud, driver):
    made = await driver.launch(SPEC, TOKEN)
    other = _driver(cloud, subscription="0b1f6471-1bf0-4dda-aec3-999999999999")
    assert _named(await _refusal(other.describe(made))) == (Reason.AUTH, False)


async def test_call_is_unreachable_when_nobody_listens(cloud):
    closed = _driver(cloud, endpoint_url="http://127.0.0.1:9")
    assert _named(await _refusal(closed.whoami())) == (Reason.UNREACHABLE, True)


async def test_secret_stays_here_when_another_endpoint_is_asked(cloud, driver, caplog):
    caplog.set_level(logging.DEBUG)
    await driver.launch(SPEC, TOKEN)
    asked = json.dumps([[one.path, dict(one.headers), one.body] for one in cloud.asked])
    assert "never-to-be-seen" not in asked + caplog.text
    private = _user_data(cloud)["ssh_keys"]["ed25519_private"].splitlines()[2]
    assert private not in caplog.text + repr(vars(driver))


@pytest.mark.parametrize(
    ("secret", "kind"),
    [
        ({"client_secret": "some-secret"}, "ClientSecretCredential"),
        ({}, "ChainedTokenCredential"),
    ],
)
def test_login_is_that_of_the_account_when_azure_itself_is_asked(secret, kind):
    ids = {"tenant_id": Azure.subscription, "client_id": Azure.subscription}
    access = Access("", {"subscription": Azure.subscription, **ids}, secret)
    assert type(library.Clients(access)._credential).__name__ == kind


# --- a life and its end ---------------------------------------------------------------------------


async def test_machine_still_costs_when_it_has_switched_itself_off(cloud, driver, clock):
    made = await driver.launch(SPEC, TOKEN)
    clock.go(3600)
    ending = await driver.describe(made)
    assert (ending.state, ending.detail) == (ProviderResourceState.ENDING, "stopped")
    (listed,) = await driver.inventory(TAG)
    assert (listed.kind, listed.expires_at) == (ResourceKind.MACHINE, SPEC.expires_at)
    assert listed.launched_at == made.launched_at is not None
    assert len(cloud.alive) == 1
    await driver.terminate(listed)
    assert cloud.alive == []


async def test_terminate_ends_all_of_it_when_asked_once_or_twice(cloud, driver, clock):
    made = await driver.launch(SPEC, TOKEN)
    cloud.faults.set("slow_end", times=1, seconds=5)
    await driver.terminate(made)
    await driver.terminate(made)
    assert (await driver.describe(made)).state == ProviderResourceState.ENDING
    clock.go(5)
    assert (await driver.describe(made)).state == ProviderResourceState.ABSENT
    await driver.terminate(made)
    assert (cloud.alive, cloud.groups, cloud.machines.alive) == ([], {}, {})


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("locked", Reason.UNSUPPORTED),
        ("delete_failed", Reason.UNREACHABLE),
        ("delete_lost", Reason.UNREACHABLE),
    ],
)
async def test_terminate_may_be_asked_again_when_it_failed(cloud, driver, fault, reason):
    made = await driver.launch(SPEC, TOKEN)
    cloud.faults.set(fault, times=1)
    assert _named(await _refusal(driver.terminate(made))) == (reason, True)
    await driver.terminate(made)
    assert cloud.alive == []


async def test_machine_that_is_evicted_is_listed_and_not_made_again(cloud, driver, clock):
    cloud.faults.set("interrupted", times=1, seconds=60)
    cloud.faults.set("lost_answer", times=1)
    spec = replace(SPEC, is_spot=True)
    await _refusal(driver.launch(spec, TOKEN))
    clock.go(60)
    (listed,) = await driver.inventory(TAG, token=TOKEN, region="westeurope")
    assert (listed.kind, listed.launched_at) == (ResourceKind.MACHINE, cloud.vms[0].asked)
    taken = await driver.launch(spec, TOKEN)
    assert (taken.state, taken.detail) == (ProviderResourceState.ENDING, "deallocated")
    assert (await driver.describe(taken)).state == ProviderResourceState.ENDING
    assert len(cloud.vms) == 1
    await driver.terminate(taken)
    assert cloud.groups == {}


async def test_group_is_listed_until_it_is_ended_when_the_machine_was_taken(cloud, driver, clock):
    made = await driver.launch(SPEC, TOKEN)
    cloud._remove(cloud.vms[0])
    clock.go(60)
    taken = await driver.describe(made)
    assert taken.state == ProviderResourceState.ENDING
    assert taken.detail == "somebody took the machine away"
    just_now = replace(made, launched_at=dt.datetime.now(dt.UTC))
    assert (await driver.describe(just_now)).state == ProviderResourceState.PENDING
    (listed,) = await driver.inventory(TAG, token=TOKEN, region="westeurope")
    await driver.terminate(listed)
    assert cloud.groups == {}


async def test_group_is_listed_when_there_was_no_capacity(cloud, driver):
    cloud.faults.set("sku", times=1)
    await _refusal(driver.launch(SPEC, TOKEN))
    (listed,) = await driver.inventory(TAG, token=TOKEN)
    assert (listed.id, listed.installation) == (GROUP, "here")
    assert listed.kind == ResourceKind.RESOURCE_GROUP
    assert (await driver.describe(listed)).state == ProviderResourceState.RUNNING
    await driver.terminate(listed)
    assert (await driver.describe(listed)).state == ProviderResourceState.ABSENT


async def test_inventory_finds_what_is_ours_when_others_rent_too(cloud, driver):
    other = new_token()
    await driver.launch(SPEC, TOKEN)
    await driver.launch(replace(SPEC, region="northeurope", zone="northeurope-1"), other)
    await driver.launch(replace(SPEC, tag=new_token()), new_token())

    def summary(listed):
        return sorted((one.token, one.region) for one in listed)

    ours = [(TOKEN, "westeurope"), (other, "northeurope")]
    assert summary(await driver.inventory(TAG)) == sorted(ours)
    assert summary(await driver.inventory(TAG, token=other)) == [(other, "northeurope")]
    assert summary(await driver.inventory(TAG, region="westeurope")) == [(TOKEN, "westeurope")]


async def test_call_is_refused_when_the_id_is_not_ours(driver):
    other = ProviderResource("somebodys-group", ProviderResourceState.PENDING)
    assert _named(await _refusal(driver.terminate(other))) == (Reason.UNSUPPORTED, False)


async def test_peer_is_let_in_alone_when_asked_twice(cloud, driver):
    made = await driver.launch(SPEC, TOKEN)
    said = await driver.let_in(made, "192.0.2.7")
    assert "192.0.2.7" in said
    rules = cloud.groups[GROUP].parts["networkSecurityGroups", "firewall"]["properties"]
    _, peer, ping = (rule["properties"] for rule in rules["securityRules"])
    assert (peer["sourceAddressPrefix"], peer["destinationPortRange"]) == (
        "192.0.2.7",
        "20000-32003",
    )
    assert (ping["sourceAddressPrefix"], ping["protocol"]) == ("192.0.2.7", "Icmp")


async def test_driver_logs_in_when_the_machine_presents_the_injected_key(cloud, driver):
    made = await driver.launch(SPEC, TOKEN)
    port = cloud.vms[0].server.port
    presented = await ssh.scan(made.address, port, is_private_allowed=True)
    assert host_key(presented) == await _driver(cloud).console_fingerprint(made)
    target = Target(
        made.address,
        port,
        "root",
        PRIVATE_KEY.export_private_key("openssh"),
        host_key=presented,
        is_private_allowed=True,
    )
    transport = await ssh.connect(target)
    assert (await transport.run("echo here", timeout_s=10)).stdout.endswith(b"here\n")
    await transport.close()


# --- before anything is paid for ------------------------------------------------------------------


async def test_zones_are_those_that_sell_the_size_to_the_subscription(driver):
    zones = ["westeurope-1", "westeurope-2", "westeurope-3"]
    assert await driver.zones("Standard_D2s_v5", "westeurope") == zones
    assert await driver.zones("Standard_B2s", "westeurope") == []
    for size in ("Standard_NC24ads_A100_v4", "Standard_X"):
        refusal = await _refusal(driver.zones(size, "westeurope"))
        assert _named(refusal) == (Reason.UNSUPPORTED, False)


async def test_offers_names_the_sizes_that_may_be_rented(driver):
    assert MachineListing("Standard_B2s", "westeurope") in (offers := await driver.offers())
    assert [one.name for one in offers if "NC24" in one.name] == []


async def test_whoami_names_the_subscription(cloud, driver):
    assert await driver.whoami() == f"the worker's identity in subscription {cloud.subscription}"


async def test_preflight_is_ready_when_all_is_there(driver):
    lines = await driver.preflight("westeurope", TAG)
    assert {line.state for line in lines if line.topic != "launch"} == {Readiness.READY}
    said = {line.topic: line.detail for line in lines}
    assert said["image arm64"] == "Debian:debian-12:12-arm64:0.20260112.1989"
    assert said["quota"].startswith("10 vCPUs of cores are free")


async def test_preflight_says_so_when_the_image_does_not_boot_from_nvme(cloud):
    image = "Canonical:0001-com-ubuntu-server-focal:20_04-lts-gen2:latest"
    lines = {
        line.topic: line for line in await _driver(cloud, image=image).preflight("westeurope", TAG)
    }
    assert lines["image x86_64"].state == Readiness.READY
    assert lines["NVMe x86_64"].state == Readiness.UNKNOWN
    assert "Standard_D2s_v6" in lines["NVMe x86_64"].advice
    ours = {line.topic: line for line in await _driver(cloud).preflight("westeurope", TAG)}
    assert ours["NVMe x86_64"].detail == "the image boots from SCSI, NVMe"


async def test_preflight_says_what_to_do_when_something_is_missing(cloud, driver):
    cloud.registered.discard("Microsoft.Network")
    last = (await driver.preflight("westeurope", TAG))[-1]
    assert (last.state, last.advice) == (
        Readiness.NOT_READY,
        "az provider register --namespace Microsoft.Network",
    )
    cloud.registered.add("Microsoft.Network")
    cloud.cores_left = 1
    lines = {line.topic: line for line in await driver.preflight("nowhere", TAG)}
    assert lines["region"].state == lines["quota"].state == Readiness.NOT_READY


# --- the role -------------------------------------------------------------------------------------

# What a machine that is made or ended takes along
# (learn.microsoft.com/azure/role-based-access-control/permissions).
PARTS = {
    *(f"Microsoft.Network/{kind}/delete" for kind in ("networkInterfaces", "publicIPAddresses")),
    *(f"Microsoft.Network/{kind}/delete" for kind in ("networkSecurityGroups", "virtualNetworks")),
    *(f"Microsoft.Network/{kind}/write" for kind in ("networkInterfaces", "publicIPAddresses")),
    *(
        f"Microsoft.Network/{kind}/join/action"
        for kind in ("networkInterfaces", "publicIPAddresses")
    ),
    "Microsoft.Network/networkSecurityGroups/join/action",
    "Microsoft.Network/virtualNetworks/subnets/join/action",
    "Microsoft.Compute/disks/delete",
    "Microsoft.Compute/disks/write",
}
VERBS = {"GET": "read", "PUT": "write", "DELETE": "delete"}


def _action(asked: Any) -> str:
    """The right that a call needs, by its path."""
    parts = asked.parts[2:]
    if parts[0].lower() == "resourcegroups" and len(parts) <= 2:
        return f"Microsoft.Resources/subscriptions/resourceGroups/{VERBS[asked.method]}"
    service, *kinds = parts[parts.index("providers") + 1 :]
    if not kinds:
        return "Microsoft.Resources/subscriptions/providers/read"
    if "versions" in kinds[-2:]:
        return f"{service}/locations/publishers/artifacttypes/offers/skus/versions/read"
    return f"{service}/{'/'.join(kinds[::2])}/{VERBS[asked.method]}"


async def test_role_allows_what_the_driver_calls_and_no_more(cloud, driver):
    cloud.faults.set("capacity", times=1)
    await _refusal(driver.launch(SPEC, TOKEN))
    made = await driver.launch(SPEC, TOKEN)
    await driver.let_in(made, "192.0.2.7")
    await driver.inventory(TAG)
    await driver.describe(made)
    await driver.whoami()
    await driver.preflight("westeurope", TAG)
    await driver.terminate(made)
    needed = {_action(asked) for asked in cloud.asked}
    role = json.loads(ROLE.read_text())
    assert role["Actions"] == sorted(needed | PARTS)
