"""The life of a machine at AWS and of what belongs to it, until nothing is left."""

import datetime as dt
import re
from dataclasses import replace

import pytest

from backend.foundation.errors import DriverError, Reason
from backend.providers.aws.driver import AwsDriver
from backend.providers.aws.request import refusal_of
from backend.providers.host_keys import host_key
from backend.providers.machines import ProviderResource, ProviderResourceState, ResourceKind
from tests.fakes.aws import REGION, FakeAws
from tests.fakes.aws_machines import CONSOLE_LATE
from tests.fakes.fake.cloud import Fault
from tests.workers.aws_account import (
    CLIENT_KEY,
    EXPIRES_AT,
    SPEC,
    TAG,
    TOKEN,
    aws,
    driver,
    ended,
    launched,
    owner,
)
from workers.remote import ssh
from workers.remote.driver import Target

__all__ = ["aws", "driver", "owner"]


# --- a life ---------------------------------------------------------------------------------------


async def test_machine_is_unknown_and_then_running_when_aws_learns_of_it_late(aws, driver):
    aws.fault(Fault.LATE, times=1, seconds=600)
    made = await launched(driver)
    assert (await driver.describe(made)).state == ProviderResourceState.ABSENT
    assert await driver.console_fingerprint(made) is None
    assert [one.kind for one in await driver.inventory(TAG)].count(ResourceKind.MACHINE) == 0
    aws.rented[0].visible_at = 0
    assert (await driver.describe(made)).state == ProviderResourceState.RUNNING


async def test_machine_is_pending_without_an_address_when_it_boots_slowly(aws, driver):
    aws.fault(Fault.SLOW_BOOT, times=1, seconds=600)
    made = await launched(driver)
    found = await driver.describe(made)
    assert (found.state, found.address) == (ProviderResourceState.PENDING, "")


async def test_machine_is_logged_in_to_by_the_key_of_the_console(aws, driver):
    found = await driver.describe(await launched(driver))
    machine = aws.alive()[0].machine
    assert await driver.console_fingerprint(found) == host_key(machine.host_key)
    key = await ssh.scan(found.address, machine.port, is_private_allowed=True)
    target = Target(
        address=found.address,
        port=machine.port,
        username=found.username,
        private_key=CLIENT_KEY.export_private_key("openssh"),
        host_key=key,
        is_private_allowed=True,
    )
    transport = await ssh.connect(target)
    assert (await transport.run("echo here", timeout_s=10)).stdout.endswith(b"here\n")
    await transport.close()


async def test_console_is_empty_when_it_is_late(aws, driver):
    aws.fault(CONSOLE_LATE, times=1, seconds=600)
    found = await driver.describe(await launched(driver))
    assert await driver.console_fingerprint(found) is None


async def test_console_is_read_again_when_the_type_is_old(aws, driver):
    found = await driver.describe(await launched(driver, machine_type="m4.large"))
    machine = aws.alive()[0].machine
    assert await driver.console_fingerprint(found) == host_key(machine.host_key)
    assert len(aws.did("GetConsoleOutput")) == 2


async def test_machine_is_ending_and_then_gone_when_it_is_terminated(aws, driver):
    aws.fault(Fault.SLOW_END, times=1, seconds=600)
    made = await launched(driver)
    await driver.terminate(made)
    assert (await driver.describe(made)).state == ProviderResourceState.ENDING
    assert aws.machines.alive == {}
    aws.rented[0].gone_at = 0
    found = await driver.describe(made)
    assert found.state == ProviderResourceState.GONE
    assert found.ended_at == dt.datetime.fromtimestamp(aws.rented[0].ended_at, dt.UTC)
    assert "User initiated" in found.detail
    await driver.terminate(made)


async def test_machine_ends_itself_when_nobody_ends_it(tmp_path):
    with FakeAws(tmp_path, minute_s=0) as aws:
        driver = AwsDriver(aws.access())
        made = await launched(driver)
        assert (await driver.describe(made)).state == ProviderResourceState.GONE
        assert (aws.alive(), aws.machines.alive) == ([], {})
        assert not [one for one in aws.parts() if one.startswith("vol-")]


async def test_machine_is_gone_with_the_reason_when_spot_is_interrupted(aws, driver):
    aws.fault(Fault.INTERRUPTED, times=1, seconds=0)
    found = await driver.describe(await launched(driver, is_spot=True))
    assert found.state == ProviderResourceState.GONE
    assert "SpotInstanceTermination" in found.detail
    assert "kms:" not in found.detail


async def test_launch_makes_another_machine_when_the_first_never_ran(aws, driver):
    zones = await driver.zones(SPEC.machine_type, REGION)
    aws.fault(Fault.UNPLACED, times=2)
    for zone, round_number in ((zones[0], 0), (zones[1], 0)):
        made = await launched(driver, zone=zone, round=round_number)
        found = await driver.describe(made)
        assert (found.state, found.refusal) == (ProviderResourceState.GONE, Reason.CAPACITY)
        assert "Insufficient capacity" in found.detail
    # The same zone in a further round: EC2 remembers the token of the first.
    again = await launched(driver, zone=zones[0], round=1)
    assert (await driver.describe(again)).refusal is None
    listed = await driver.inventory(TAG, token=TOKEN)
    assert [one.id for one in listed if one.kind == ResourceKind.MACHINE] == [again.id]


@pytest.mark.parametrize(
    ("code", "refusal"),
    [
        ("Server.InsufficientInstanceCapacity", Reason.CAPACITY),
        ("Server.InternalError", Reason.CAPACITY),
        ("Client.VolumeLimitExceeded", Reason.QUOTA),
        ("Client.InternalError", None),
        ("Client.UserInitiatedShutdown", None),
        ("Server.SpotInstanceTermination", None),
        ("", None),
    ],
)
def test_code_of_a_state_says_whether_the_machine_ever_ran(code, refusal):
    assert refusal_of({"StateReason": {"Code": code, "Message": "words"}}) is refusal
    assert refusal_of({}) is None


async def test_machine_that_somebody_stopped_says_who_and_when(aws, driver, owner):
    made = await launched(driver)
    owner.stop_instances(InstanceIds=[made.id])
    found = await driver.describe(made)
    assert found.state == ProviderResourceState.ENDING
    assert re.search(r"User initiated \(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (UTC|GMT)\)", found.detail)


async def test_machine_whose_disk_has_a_refused_key_names_the_rights_it_lacks(aws, driver):
    aws.regions.is_key_usable = False
    found = await driver.describe(await launched(driver))
    assert found.state == ProviderResourceState.GONE
    assert found.detail.startswith("Client.InternalError: Client error on launch. If disks are")
    assert "kms:CreateGrant" in found.detail


# --- what is left ---------------------------------------------------------------------------------


async def test_inventory_lists_everything_with_the_tag(aws, driver, owner):
    await launched(driver)
    address = owner.allocate_address(
        TagSpecifications=[
            {"ResourceType": "elastic-ip", "Tags": [{"Key": "rackrate-workspace", "Value": TAG}]}
        ]
    )
    owner.create_key_pair(KeyName="somebody-else")
    found = await driver.inventory(TAG)
    assert [one.kind for one in found] == [
        *(ResourceKind.MACHINE, ResourceKind.DISK, ResourceKind.ADDRESS),
        *(ResourceKind.KEY_PAIR, ResourceKind.SECURITY_GROUP),
    ]
    assert {one.token for one in found} == {TOKEN, ""}
    assert found[2].id == address["AllocationId"]
    assert found[0].expires_at == EXPIRES_AT
    assert not await driver.inventory("another workspace")
    assert not await driver.inventory(TAG, token="another launch")


async def test_inventory_looks_into_every_region_of_the_account(aws):
    driver = AwsDriver(aws.access(regions=[REGION, "eu-central-1"]))
    await launched(driver)
    await driver.launch(replace(SPEC, region="eu-central-1"), "another")
    machines = [one for one in await driver.inventory(TAG) if one.kind == ResourceKind.MACHINE]
    assert {one.region for one in machines} == {REGION, "eu-central-1"}
    found = await driver.inventory(TAG, region="eu-central-1")
    assert {one.region for one in found} == {"eu-central-1"}


async def test_inventory_lists_the_other_regions_when_one_is_not_opted_into(aws):
    driver = AwsDriver(aws.access(regions=["eu-south-1", REGION]))
    made = await launched(driver)
    aws.closed_regions.add("eu-south-1")
    listed = await driver.inventory(TAG)
    assert made.id in {one.id for one in listed}
    assert [*listed.unread] == ["eu-south-1"]
    assert "AuthFailure" in str(listed.unread["eu-south-1"])
    for asked in ({"token": TOKEN}, {"region": "eu-south-1"}):
        with pytest.raises(DriverError, match="AuthFailure"):
            await driver.inventory(TAG, **asked)


async def test_zones_are_those_that_sell_the_type(aws, driver):
    zones = await driver.zones("m5.large", REGION)
    assert zones == sorted(zones)
    assert {zone[:-1] for zone in zones} == {REGION}
    with pytest.raises(DriverError, match=r"does not sell m5\.huge"):
        await driver.zones("m5.huge", REGION)
    in_subnet = AwsDriver(aws.access(regions=[REGION], subnet_id="subnet-1"))
    assert await in_subnet.zones("m5.large", REGION) == ()


async def test_inventory_of_a_launch_lists_its_machine_when_that_has_ended(aws, driver):
    aws.fault(Fault.DOUBLED, times=1)
    aws.fault(Fault.TERMINATE_FAILED, times=1)
    made = await launched(driver)
    await driver.terminate(made)
    machines = [
        (one.id, one.state)
        for one in await driver.inventory(TAG, token=TOKEN)
        if one.kind == ResourceKind.MACHINE
    ]
    assert machines == [
        (aws.alive()[0].id, ProviderResourceState.RUNNING),
        (made.id, ProviderResourceState.GONE),
    ]
    everything = await driver.inventory(TAG)
    assert made.id not in {one.id for one in everything}


async def test_group_is_ended_later_when_the_machine_still_needs_it(aws, driver):
    await launched(driver)
    found = await driver.inventory(TAG)
    (group,) = [one for one in found if one.kind == ResourceKind.SECURITY_GROUP]
    (disk,) = [one for one in found if one.kind == ResourceKind.DISK]
    for held in (group, disk):
        with pytest.raises(DriverError) as caught:
            await driver.terminate(held)
        assert (caught.value.reason, caught.value.retryable) == (Reason.UNSUPPORTED, True)


async def test_everything_is_gone_when_it_was_ended(aws, driver):
    aws.fault(Fault.DISK_LEFT, times=1)
    await launched(driver)
    parts = await driver.inventory(TAG)
    await ended(driver)
    assert (aws.alive(), aws.parts()) == ([], [])
    states = [(await driver.describe(one)).state for one in parts]
    assert states == [
        ProviderResourceState.GONE,
        *[ProviderResourceState.ABSENT] * (len(parts) - 1),
    ]


async def test_parts_are_known_by_their_launch_while_they_are_there(aws, driver):
    aws.fault(Fault.DISK_LEFT, times=1)
    await launched(driver)
    parts = [one for one in await driver.inventory(TAG) if one.kind != ResourceKind.MACHINE]
    kinds = {one.kind for one in parts}
    assert kinds >= {ResourceKind.DISK, ResourceKind.KEY_PAIR, ResourceKind.SECURITY_GROUP}
    for part in parts:
        shown = await driver.describe(part)
        assert (shown.id, shown.kind, shown.token) == (part.id, part.kind, TOKEN)
        assert (shown.region, shown.expires_at) == (REGION, EXPIRES_AT)
        assert shown.state == ProviderResourceState.RUNNING


# What errors-overview of the API reference calls throttling, a right that lacks, and a fault of theirs.
@pytest.mark.parametrize(
    ("code", "status", "named"),
    [
        ("RequestLimitExceeded", 503, (Reason.TIMEOUT, True)),
        ("UnauthorizedOperation", 403, (Reason.AUTH, False)),
        ("InternalError", 500, (Reason.TIMEOUT, True)),
    ],
)
async def test_machine_that_cannot_be_asked_for_is_not_one_that_is_gone(
    aws, driver, code, status, named
):
    made = await launched(driver)
    aws.refuse("DescribeInstances", code, status=status)
    with pytest.raises(DriverError) as caught:
        await driver.describe(made)
    assert (caught.value.reason, caught.value.retryable) == named


async def test_console_without_the_right_is_named_and_not_taken_for_empty(aws, driver):
    """An empty one would be waited for until the run's time is over, on a machine that is paid."""
    made = await launched(driver)
    aws.refuse("GetConsoleOutput", "UnauthorizedOperation", status=403)
    with pytest.raises(DriverError, match="UnauthorizedOperation") as caught:
        await driver.console_fingerprint(made)
    assert (caught.value.reason, caught.value.retryable) == (Reason.AUTH, False)


async def test_terminate_is_fine_when_the_thing_is_not_there(driver):
    unknown = ProviderResource(
        id="i-0123456789abcdef0", state=ProviderResourceState.RUNNING, region=REGION
    )
    await driver.terminate(unknown)
    for kind, name in (
        (ResourceKind.KEY_PAIR, "rackrate-none"),
        (ResourceKind.SECURITY_GROUP, "sg-0123456789abcdef0"),
        (ResourceKind.DISK, "vol-0123456789abcdef0"),
        (ResourceKind.ADDRESS, "eipalloc-0123456789abcdef0"),
    ):
        part = replace(unknown, id=name, kind=kind)
        await driver.terminate(part)
        assert (await driver.describe(part)).state == ProviderResourceState.ABSENT


async def test_terminate_says_so_when_the_answer_is_lost(aws, driver):
    made = await launched(driver)
    aws.fault(Fault.TERMINATE_LOST, times=1)
    with pytest.raises(DriverError) as caught:
        await driver.terminate(made)
    assert caught.value.reason == Reason.TIMEOUT
    assert (await driver.describe(made)).state == ProviderResourceState.GONE
