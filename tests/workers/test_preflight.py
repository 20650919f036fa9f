"""Looking a region over before anything is paid for: ready lines, and each thing that may lack."""

import json
from dataclasses import replace

import pytest

from backend.foundation.errors import DriverError, Reason
from backend.providers.aws.driver import AwsDriver
from backend.providers.aws.preflight import FEW_ADDRESSES
from backend.providers.machines import Readiness
from tests.fakes.aws import REGION
from tests.fakes.hetzner import Hetzner
from tests.fakes.machines import Machines
from tests.fakes.policy import POLICIES, Policy
from tests.workers.aws_account import SPEC, TAG, aws, driver
from tests.workers.test_gcp import _driver, clock, gce
from tests.workers.test_hetzner import _driver as hetzner_driver

__all__ = ["aws", "clock", "driver", "gce"]
OWN_KEY = f"arn:aws:kms:{REGION}:123456789012:key/0ea3fef3-80a7-4778-9d8c-1c0c6EXAMPLE"
READY, NOT_READY, UNKNOWN = Readiness.READY, Readiness.NOT_READY, Readiness.UNKNOWN


async def overview(of, region=REGION):
    """By topic, the worst state, and all that is said."""
    lines = await of.preflight(region, TAG)
    assert all(line.region == region for line in lines)
    assert all(line.advice for line in lines if line.state == NOT_READY)
    states = {}
    for line in sorted(lines, key=lambda line: line.state == NOT_READY):
        states[line.topic] = line.state
    return states, " | ".join(f"{line.detail} {line.advice}" for line in lines)


# --- AWS ------------------------------------------------------------------------------------------


async def test_region_of_aws_is_ready_with_the_shipped_policy_and_nothing_stays(aws, driver):
    states, said = await overview(driver)
    assert states == dict.fromkeys(
        (
            *("region", "network", "address", "image x86_64", "image arm64", "disks", "quota"),
            *("launch", "plan"),
        ),
        READY,
    )
    assert "t3.micro would be launched" in said
    assert "m6i.large would be launched" in said
    assert "32 of 32 vCPUs" in said
    assert (aws.rented, aws.parts()) == ([], [])


@pytest.mark.parametrize(
    ("settings", "state", "words"),
    [
        ({}, READY, "public"),
        ({"address": "private"}, UNKNOWN, "Name a bastion there"),
        ({"address": "private", "bastion": "rack 7"}, READY, "through the bastion rack 7"),
    ],
)
async def test_preflight_says_how_the_machines_are_reached(aws, gce, settings, state, words):
    places = ((AwsDriver(aws.access(**settings)), REGION), (_driver(gce, **settings), EUROPE))
    for of, region in places:
        states, said = await overview(of, region)
        assert states["address"] == state
        assert words in said


async def test_closed_region_of_aws_is_one_line_that_says_where_to_open_it(aws, driver):
    aws.closed_regions = {REGION}
    states, said = await overview(driver)
    assert states == {"region": NOT_READY}
    assert "AuthFailure" in said
    assert f"Enable {REGION}" in said


async def test_region_of_aws_without_a_network_is_not_tried(aws, driver):
    aws.regions.remove_network(REGION)
    states, said = await overview(driver)
    assert (states["network"], states["launch"]) == (NOT_READY, UNKNOWN)
    assert f"create-default-vpc --region {REGION}" in said
    assert not aws.did("RunInstances")
    lost = AwsDriver(aws.access(subnet_id="subnet-0a1b2c3d"))
    assert (await overview(lost))[0]["network"] == NOT_READY


@pytest.mark.parametrize(
    ("free", "state"), [(FEW_ADDRESSES, READY), (FEW_ADDRESSES - 1, NOT_READY)]
)
async def test_subnet_of_aws_with_few_addresses_left_is_not_ready(aws, monkeypatch, free, state):
    subnet = aws.backend(REGION).describe_subnets()[0]
    monkeypatch.setattr(type(subnet), "available_ip_address_count", free)
    states, said = await overview(AwsDriver(aws.access(subnet_id=subnet.id)))
    assert states["network"] == state
    assert subnet.id in said
    assert f"{free} free addresses" in said


async def test_quota_of_aws_that_is_used_up_is_not_ready(aws, driver):
    aws.regions.vcpu_quota = 0
    states, said = await overview(driver)
    assert (states["quota"], states["launch"]) == (NOT_READY, UNKNOWN)
    assert "L-1216C47A" in said
    document = json.loads((POLICIES / "aws-launch.json").read_text())
    document["Statement"][0]["Action"].remove("servicequotas:GetServiceQuota")
    aws.policy = Policy(document)
    states, said = await overview(driver)
    assert (states["quota"], states["launch"]) == (UNKNOWN, READY)


@pytest.mark.parametrize(
    ("key", "state", "words"),
    [
        (None, READY, "not encrypted by default"),
        ("alias/aws/ebs", READY, "with the key of AWS"),
        (f"arn:aws:kms:{REGION}:123456789012:alias/aws/ebs", READY, "with the key of AWS"),
        (
            OWN_KEY,
            UNKNOWN,
            f"encrypted by default with {OWN_KEY} If disks are encrypted with a key",
        ),
    ],
)
async def test_key_of_the_disks_of_aws_hinders_no_launch(aws, driver, key, state, words):
    aws.regions.disk_key = key
    states, said = await overview(driver)
    assert (states["disks"], states["launch"]) == (state, READY)
    assert words in said


async def test_key_of_the_disks_of_aws_is_unknown_without_the_right_to_ask(aws, driver):
    document = json.loads((POLICIES / "aws-launch.json").read_text())
    document["Statement"][0]["Action"].remove("ec2:GetEbsEncryptionByDefault")
    aws.policy = Policy(document)
    states, said = await overview(driver)
    assert (states["disks"], states["launch"]) == (UNKNOWN, READY)
    assert "Allow ec2:GetEbsEncryptionByDefault" in said


async def test_policy_of_the_organisation_shows_when_the_launch_is_tried(aws, driver):
    denied = {"Effect": "Deny", "Action": "ec2:RunInstances", "Resource": "*"}
    allowed = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    aws.organisation = Policy({"Version": "2012-10-17", "Statement": [denied, allowed]})
    states, said = await overview(driver)
    assert states["launch"] == NOT_READY
    assert "explicit deny in a service control policy" in said
    assert (aws.rented, aws.parts()) == ([], [])


async def test_free_plan_of_aws_is_named_before_a_launch(aws, driver):
    aws.regions.is_free_plan = True
    states, said = await overview(driver)
    assert (states["launch"], states["plan"]) == (READY, UNKNOWN)
    assert "the AWS account is on the free plan" in said
    assert "upgrade it to the paid plan" in said
    await driver.rehearse(replace(SPEC, machine_type="t3.micro"))
    with pytest.raises(DriverError, match="is on the free plan") as refusal:
        await driver.rehearse(SPEC)
    assert (refusal.value.reason, refusal.value.retryable) == (Reason.UNSUPPORTED, False)
    assert (aws.rented, aws.parts()) == ([], [])


# --- Google Cloud ---------------------------------------------------------------------------------

EUROPE = "europe-west4"
OURS = f"regions/{EUROPE}/subnetworks/bench"


async def test_region_of_google_is_ready_but_for_what_it_does_not_say(gce):
    states, said = await overview(_driver(gce), EUROPE)
    topics = (
        "region",
        "network",
        "address",
        "SSH",
        "login",
        "image x86_64",
        "image arm64",
        "quota",
    )
    assert states == {**dict.fromkeys(topics, READY), "launch": UNKNOWN}
    assert "24 of 24 CPUS" in said
    assert "compute.requireOsLogin" in said
    assert gce.record == []


@pytest.mark.parametrize(
    ("change", "settings", "topic", "words"),
    [
        ({"networks": set()}, {}, "network", "was not found"),
        ({"networks": {"regions/x-y1/subnetworks/b"}}, {"network": "own"}, "network", "has no sub"),
        ({"networks": {f"projects/p/{OURS}"}}, {"network": "own"}, "network", "is of custom mode"),
        ({"firewalls": []}, {}, "SSH", "firewall-rules create"),
        ({}, {"ssh_port": 2222}, "SSH", "no firewall rule lets TCP port 2222 in"),
        ({"quotas": {"CPUS": (24.0, 23.0)}}, {}, "quota", "1 of 24 CPUS are free"),
        ({"quotas": {"IN_USE_ADDRESSES": (8.0, 8.0)}}, {}, "quota", "IN_USE_ADDRESSES"),
    ],
)
async def test_what_a_region_of_google_lacks_is_named(gce, change, settings, topic, words):
    for name, value in change.items():
        setattr(gce, name, value)
    states, said = await overview(_driver(gce, **settings), EUROPE)
    assert states[topic] == NOT_READY
    assert words in said


async def test_private_machines_of_google_need_no_addresses(gce):
    gce.networks, gce.quotas = {OURS}, {"IN_USE_ADDRESSES": (8.0, 8.0), "CPUS": (24.0, 0.0)}
    settings = {"network": {EUROPE: OURS}, "address": "private"}
    states, said = await overview(_driver(gce, **settings), EUROPE)
    assert NOT_READY not in states.values()
    assert "subnetwork bench, 10.164.0.0/20" in said
    assert (await overview(_driver(gce, network="own"), EUROPE))[0]["network"] == NOT_READY


async def test_region_of_google_that_is_closed_is_the_line_that_says_so(gce, monkeypatch):
    real = gce._regions_get
    monkeypatch.setattr(
        gce, "_regions_get", lambda *given, **named: {**real(*given, **named), "status": "DOWN"}
    )
    states, said = await overview(_driver(gce), EUROPE)
    assert states["region"] == NOT_READY
    assert "its state is DOWN" in said


async def test_identity_that_google_does_not_let_in_is_the_only_line(gce):
    gce.faults.set("forbidden", times=1)
    states, said = await overview(_driver(gce), EUROPE)
    assert states == {"region": NOT_READY}
    assert "gcp-role.yaml" in said


# What lets TCP port 22 in, by cloud.google.com/firewall/docs/firewalls, "Firewall rule components".
@pytest.mark.parametrize(
    ("rule", "state"),
    [
        ({"allowed": [{"IPProtocol": "all"}]}, READY),
        ({"allowed": [{"IPProtocol": "tcp"}]}, READY),
        ({"allowed": [{"IPProtocol": "tcp", "ports": ["80", "22"]}]}, READY),
        ({"allowed": [{"IPProtocol": "udp", "ports": ["22"]}]}, NOT_READY),
        ({"allowed": [{"IPProtocol": "tcp", "ports": ["23-65535", "1-21"]}]}, NOT_READY),
        ({"direction": "EGRESS"}, NOT_READY),
        ({"disabled": True}, NOT_READY),
        (
            {"network": "https://www.googleapis.com/compute/v1/projects/p/global/networks/o"},
            NOT_READY,
        ),
    ],
)
async def test_rule_of_google_counts_only_where_it_lets_ssh_in(gce, rule, state):
    gce.firewalls = [{**gce.firewalls[0], **rule}]
    assert (await overview(_driver(gce), EUROPE))[0]["SSH"] == state


# --- Hetzner --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("region", "state"), [("fsn1", READY), ("xyz1", NOT_READY)])
async def test_location_of_hetzner_is_ready_when_it_sells_machines(tmp_path, region, state):
    with Machines(tmp_path) as machines, Hetzner(machines) as cloud:
        of = hetzner_driver(cloud, regions=[region])
        states, _ = await overview(of, region)
    assert states == {"region": state, "launch": UNKNOWN}
