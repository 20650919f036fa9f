"""A launch at AWS, read back from the server; asked for twice; and what its faults mean."""

import datetime as dt
import logging
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ParamValidationError
from botocore.parsers import ResponseParserError

from backend.foundation.errors import DriverError, Reason
from backend.providers.aws import api as aws_api
from backend.providers.aws import request as aws_request
from backend.providers.aws.driver import AwsDriver
from backend.providers.machines import ProviderResource, ProviderResourceState
from tests.fakes.aws import REGION, SECRET
from tests.fakes.fake.cloud import Fault
from tests.workers.aws_account import (
    EXPIRES_AT,
    SPEC,
    TAGS,
    TOKEN,
    aws,
    driver,
    ended,
    launched,
    owner,
    tags_of,
)

__all__ = ["aws", "driver", "owner"]


# --- a launch, read back from the server -------------------------------------------------------


def instance_of(owner: Any) -> dict[str, Any]:
    (reservation,) = owner.describe_instances()["Reservations"]
    (instance,) = reservation["Instances"]
    return dict(instance)


async def test_launch_marks_everything_when_it_is_made(aws, driver, owner):
    await launched(driver)
    instance = instance_of(owner)
    (volume,) = owner.describe_volumes()["Volumes"]
    assert volume["VolumeType"] == "gp3"
    (key_pair,) = owner.describe_key_pairs()["KeyPairs"]
    groups = owner.describe_security_groups()["SecurityGroups"]
    (group,) = [group for group in groups if group["GroupName"] != "default"]
    assert [tags_of(made) for made in (instance, volume, key_pair, group)] == [TAGS] * 4
    assert aws.did("RunInstances")[0].tags("network-interface") == TAGS
    assert not aws.did("CreateTags")


async def test_launch_guards_the_metadata_and_gives_no_role_when_it_is_made(driver, owner):
    await launched(driver)
    instance = instance_of(owner)
    options = instance["MetadataOptions"]
    assert (options["HttpTokens"], options["HttpPutResponseHopLimit"]) == ("required", 1)
    assert "IamInstanceProfile" not in instance


async def test_launch_ends_itself_and_its_disks_when_it_is_shut_down(driver, owner):
    found = await launched(driver)
    shown = owner.describe_instance_attribute(
        InstanceId=found.id, Attribute="instanceInitiatedShutdownBehavior"
    )
    assert shown["InstanceInitiatedShutdownBehavior"]["Value"] == "terminate"
    disks = [
        disk["Ebs"]["DeleteOnTermination"] for disk in instance_of(owner)["BlockDeviceMappings"]
    ]
    assert disks == [True]
    (interface,) = instance_of(owner)["NetworkInterfaces"]
    assert interface["Attachment"]["DeleteOnTermination"] is True


async def test_launch_sets_its_own_end_before_anything_else_when_it_boots(aws, driver):
    await launched(driver, lifetime_s=5400)
    (instance,) = aws.rented[0].reservation.instances
    assert instance.user_data.decode().splitlines() == ["#!/bin/sh", "shutdown -h +89"]


async def test_launch_lets_in_nothing_but_ssh_when_it_is_made(driver, owner):
    await launched(driver)
    groups = owner.describe_security_groups()["SecurityGroups"]
    (group,) = [group for group in groups if group["GroupName"] != "default"]
    (rule,) = group["IpPermissions"]
    assert (rule["IpProtocol"], rule["FromPort"], rule["ToPort"]) == ("tcp", 22, 22)
    (interface,) = instance_of(owner)["NetworkInterfaces"]
    assert [member["GroupId"] for member in interface["Groups"]] == [group["GroupId"]]


async def test_launch_asks_for_one_machine_with_the_token_when_it_is_made(aws, driver):
    await launched(driver)
    (call,) = aws.did("RunInstances")
    assert (call.parameters["MinCount"], call.parameters["MaxCount"]) == ("1", "1")
    assert call.token == TOKEN
    assert "IamInstanceProfile.Name" not in call.parameters


@pytest.mark.parametrize(
    ("arch", "machine_type", "image"),
    [("x86_64", "c6a.large", "x86_64"), ("arm64", "c7g.large", "arm64")],
)
async def test_launch_takes_debians_image_of_the_architecture(
    aws, driver, arch, machine_type, image
):
    await launched(driver, arch=arch, machine_type=machine_type)
    assert aws.did("RunInstances")[0].parameters["ImageId"] == aws.images[image]


async def test_launch_takes_the_accounts_image_when_it_names_one(aws, driver):
    aws.backend()
    own = AwsDriver(aws.access(image=aws.images["arm64"]))
    await launched(own, arch="arm64", machine_type="c7g.large")
    assert not aws.did("GetParameter")
    assert aws.did("RunInstances")[0].parameters["ImageId"] == aws.images["arm64"]


async def test_launch_is_refused_when_the_image_is_of_another_architecture(aws, driver):
    aws.backend()
    own = AwsDriver(aws.access(image=aws.images["arm64"]))
    with pytest.raises(DriverError, match="none for x86_64") as caught:
        await launched(own)
    assert (caught.value.reason, caught.value.retryable) == (Reason.UNSUPPORTED, False)
    assert not aws.parts()


async def test_launch_is_refused_when_nobody_knows_the_architecture(aws, driver):
    with pytest.raises(DriverError, match="architecture") as caught:
        await launched(driver, arch="")
    assert (caught.value.reason, caught.value.retryable) == (Reason.UNSUPPORTED, False)
    assert aws.calls == []


async def test_launch_has_a_disk_that_files_fit_on_when_the_image_is_small(driver, owner):
    await launched(driver)
    (volume,) = owner.describe_volumes()["Volumes"]
    assert volume["Size"] == 20


async def test_launch_asks_for_one_spot_machine_with_the_given_highest_price(aws, driver, owner):
    await launched(driver, is_spot=True, max_price_per_hour=Decimal("0.0300"))
    assert instance_of(owner)["InstanceLifecycle"] == "spot"
    asked = aws.did("RunInstances")[0].parameters
    start = "InstanceMarketOptions.SpotOptions"
    assert asked[f"{start}.MaxPrice"] == "0.0300"
    assert asked[f"{start}.SpotInstanceType"] == "one-time"
    assert asked[f"{start}.InstanceInterruptionBehavior"] == "terminate"


async def test_launch_leaves_the_spot_price_to_aws_when_none_is_given(aws, driver):
    await launched(driver, is_spot=True)
    asked = aws.did("RunInstances")[0].parameters
    assert "InstanceMarketOptions.SpotOptions.MaxPrice" not in asked


@pytest.mark.parametrize(("chosen", "sent"), [("", "standard"), ("unlimited", "unlimited")])
async def test_burstable_type_costs_more_than_its_price_only_if_chosen(aws, driver, chosen, sent):
    await launched(driver, machine_type="t3.large", credit_mode=chosen)
    asked = aws.did("RunInstances")[0].parameters
    assert asked["CreditSpecification.CpuCredits"] == sent


async def test_launch_is_in_the_zone_and_subnet_when_they_are_given(aws, owner):
    subnets = owner.describe_subnets()["Subnets"]
    (subnet,) = [one for one in subnets if one["AvailabilityZone"] == f"{REGION}c"]
    there = AwsDriver(aws.access(subnet_id=subnet["SubnetId"]))
    found = await launched(there)
    assert (found.zone, instance_of(owner)["SubnetId"]) == (f"{REGION}c", subnet["SubnetId"])
    zoned = await AwsDriver(aws.access()).launch(replace(SPEC, zone=f"{REGION}b"), "another")
    assert zoned.zone == f"{REGION}b"


async def test_launch_returns_the_machine_as_aws_describes_it(aws, driver):
    made = await launched(driver)
    found = await driver.describe(made)
    before = replace(made, private_address=found.private_address)  # moto's own
    assert before == replace(found, state=ProviderResourceState.PENDING, address="")
    assert found == ProviderResource(
        id=aws.rented[0].id,
        state=ProviderResourceState.RUNNING,
        token=TOKEN,
        region=REGION,
        zone=f"{REGION}a",
        address=aws.alive()[0].machine.address,
        private_address=aws.alive()[0].machine.address,
        port=22,
        username="admin",
        launched_at=dt.datetime.fromtimestamp(aws.rented[0].launched_at, dt.UTC),
        expires_at=EXPIRES_AT,
    )


async def test_machine_is_opened_to_one_address_as_often_as_asked(aws, driver):
    made = await launched(driver)
    await driver.let_in(made, "198.51.100.7")
    assert "198.51.100.7" in await driver.let_in(made, "198.51.100.7")
    groups = aws.backend().describe_security_groups()
    (group,) = [one for one in groups if one.name == f"rackrate-{TOKEN}"]
    rules = {
        (rule.ip_protocol, rule.from_port, rule.to_port, rule.ip_range["CidrIp"])
        for rule in group.ingress_rules
    }
    assert {rule for rule in rules if rule[3] != "0.0.0.0/0"} == {
        ("tcp", 20_000, 32_003, "198.51.100.7/32"),
        ("udp", 20_000, 32_003, "198.51.100.7/32"),
        ("icmp", 8, -1, "198.51.100.7/32"),
    }
    assert len(rules) == 4


# --- asked twice ----------------------------------------------------------------------------------


async def test_launch_makes_one_machine_when_it_is_asked_for_again(aws, driver):
    first = await launched(driver)
    again = await launched(AwsDriver(aws.access()))
    assert (again.id, len(aws.rented), len(aws.parts())) == (first.id, 1, 3)


async def test_launch_makes_one_machine_when_the_answer_is_lost(aws, driver):
    aws.fault(Fault.LOST_ANSWER, times=1)
    with pytest.raises(DriverError) as caught:
        await launched(driver)
    assert (caught.value.reason, caught.value.retryable) == (Reason.TIMEOUT, True)
    assert (await launched(driver)).id == aws.rented[0].id
    assert len(aws.rented) == 1


async def test_launch_finds_its_machine_when_the_image_changed_meanwhile(aws, driver):
    first = await launched(driver)
    aws.images["x86_64"] = aws.backend().register_image("newer").id
    image = aws.backend().amis[aws.images["x86_64"]]
    image.architecture, image.owner_id = "x86_64", "136693071363"
    again = await launched(driver)
    assert (again.id, len(aws.rented)) == (first.id, 1)


async def test_launch_is_tried_later_when_its_machine_is_not_shown_yet(aws, driver):
    aws.fault(Fault.LATE, times=1, seconds=600)
    await launched(driver)
    with pytest.raises(DriverError, match="not shown yet") as caught:
        await launched(driver, lifetime_s=7200)
    assert (caught.value.reason, caught.value.retryable) == (Reason.TIMEOUT, True)


async def test_launch_tries_another_zone_when_one_is_full(aws, driver):
    aws.fault(Fault.CAPACITY, times=1, zone=f"{REGION}a")
    with pytest.raises(DriverError) as caught:
        await launched(driver, zone=f"{REGION}a")
    assert caught.value.reason == Reason.CAPACITY
    assert (await launched(driver, zone=f"{REGION}b")).zone == f"{REGION}b"
    assert len(aws.rented) == 1


async def test_launch_ends_the_others_when_several_were_made(aws, driver, caplog):
    aws.fault(Fault.DOUBLED, times=1)
    found = await launched(driver)
    assert [rented.id for rented in aws.alive()] == [found.id]
    assert len(aws.rented) == 2
    assert "more machines than one" in caplog.text


async def test_launch_leaves_the_others_to_the_inventory_when_they_do_not_end(aws, driver):
    aws.fault(Fault.DOUBLED, times=1)
    aws.fault(Fault.TERMINATE_FAILED, times=1)
    await launched(driver)
    assert len(aws.alive()) == 2
    await ended(driver)
    assert (aws.alive(), aws.parts()) == ([], [])


# --- faults ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "reason", "retryable"),
    [
        (Fault.THROTTLED, Reason.TIMEOUT, True),
        (Fault.QUOTA, Reason.QUOTA, False),
        (Fault.CAPACITY, Reason.CAPACITY, True),
        (Fault.AUTH, Reason.AUTH, False),
        (Fault.LOST_REQUEST, Reason.TIMEOUT, True),
        (Fault.LOST_ANSWER, Reason.TIMEOUT, True),
    ],
)
async def test_launch_says_why_when_it_fails(aws, driver, fault, reason, retryable):
    aws.fault(fault, times=1)
    with pytest.raises(DriverError) as caught:
        await launched(driver)
    assert (caught.value.reason, caught.value.retryable) == (reason, retryable)
    await ended(driver)
    assert (aws.alive(), aws.parts()) == ([], [])


@pytest.mark.parametrize(
    ("code", "message", "status", "meant"),
    [
        ("Throttling", "", 400, (Reason.TIMEOUT, True)),
        ("InstanceLimitExceeded", "", 400, (Reason.QUOTA, False)),
        ("MaxSpotInstanceCountExceeded", "", 400, (Reason.QUOTA, False)),
        ("SpotMaxPriceTooLow", "", 400, (Reason.CAPACITY, True)),
        ("Unsupported", "not in your Availability Zone", 400, (Reason.CAPACITY, True)),
        ("Unsupported", "no such thing", 400, (Reason.UNSUPPORTED, False)),
        ("UnauthorizedOperation", "", 403, (Reason.AUTH, False)),
        ("InvalidClientTokenId", "", 403, (Reason.AUTH, False)),
        ("RequestExpired", "", 400, (Reason.AUTH, True)),
        ("DependencyViolation", "", 400, (Reason.UNSUPPORTED, True)),
        ("InvalidKeyPair.NotFound", "", 400, (Reason.UNSUPPORTED, True)),
        ("InvalidSubnetID.NotFound", "", 400, (Reason.UNSUPPORTED, False)),
        ("InvalidParameterValue", "", 400, (Reason.UNSUPPORTED, False)),
        ("InternalError", "", 500, (Reason.TIMEOUT, True)),
    ],
)
def test_error_codes_mean_a_reason(code, message, status, meant):
    assert aws_api.meaning(code, message, status) == meant


@pytest.mark.parametrize("page", ["<!doctype html><title>x</title>", "<html><body>x</body></html>"])
def test_page_of_a_proxy_is_named_and_not_shown(aws, page):
    error = ResponseParserError(
        f"Unable to parse response (no element found), invalid XML received:\n{page.encode()!r}"
    )
    refusal = aws_api.failure(error, aws.access())
    assert refusal.detail.endswith("invalid XML received: a page of HTML instead of an answer")
    assert (refusal.reason, refusal.retryable) == (Reason.TIMEOUT, True)


def test_failure_is_final_when_the_call_itself_was_wrong(aws):
    error = ParamValidationError(report=f"not {SECRET}")
    found = aws_api.failure(error, aws.access())
    assert (found.reason, found.retryable) == (Reason.UNSUPPORTED, False)
    assert SECRET not in found.detail


async def test_launch_is_uncertain_when_the_server_is_out_of_order(aws, driver):
    aws.refuse("RunInstances", "Unavailable", "try later", 503)
    with pytest.raises(DriverError, match="RunInstances: Unavailable: try later") as caught:
        await launched(driver)
    assert (caught.value.reason, caught.value.retryable) == (Reason.TIMEOUT, True)


async def test_launch_waits_for_its_group_when_aws_does_not_show_it_yet(aws, driver):
    aws.refuse("CreateSecurityGroup", "InvalidGroup.Duplicate")
    with pytest.raises(DriverError, match="not shown yet") as caught:
        await launched(driver)
    assert caught.value.retryable


async def test_calls_are_unreachable_when_nobody_listens(aws):
    nobody = AwsDriver(aws.access(endpoint_url="http://127.0.0.1:9"))
    with pytest.raises(DriverError) as caught:
        await nobody.whoami()
    assert (caught.value.reason, caught.value.retryable) == (Reason.UNREACHABLE, True)


async def test_launch_is_given_up_when_what_comes_before_takes_too_long(aws, driver, monkeypatch):
    monkeypatch.setattr("backend.providers.aws.launching.PREPARE_LIMIT_S", -1)
    with pytest.raises(DriverError, match="too slowly") as caught:
        await launched(driver)
    assert (caught.value.reason, aws.rented) == (Reason.TIMEOUT, [])


# --- small ----------------------------------------------------------------------------------------


async def test_offers_are_the_types_of_every_region(aws):
    driver = AwsDriver(aws.access(regions=[REGION, "eu-central-1"]))
    found = await driver.offers()
    names = {one.name for one in found if one.region == REGION}
    assert {"c6a.large", "m5.large"} <= names
    assert {one.region for one in found} == {REGION, "eu-central-1"}


@pytest.mark.parametrize(("lifetime_s", "minutes"), [(3600, 59), (119, 1), (10, 1), (7259, 119)])
def test_user_data_ends_the_machine_within_its_lifetime(lifetime_s, minutes):
    assert aws_request.user_data(lifetime_s) == f"#!/bin/sh\nshutdown -h +{minutes}\n"


async def test_secrets_are_nowhere_when_everything_is_logged_and_fails(aws, driver, caplog):
    caplog.set_level(logging.DEBUG)
    await launched(driver)
    shown = [repr(driver), repr(aws.access()), str(vars(driver))]
    message = f"we calculated another signature.\nPOST x-amz-security-token:{SECRET}"
    for code, text in (("SignatureDoesNotMatch", message), ("InvalidParameterValue", SECRET)):
        aws.refuse("GetCallerIdentity", code, text, 403)
        with pytest.raises(DriverError) as caught:
            await driver.whoami()
        shown += [str(caught.value), repr(caught.value), str(caught.value.__cause__)]
    assert "(secret)" in shown[-2]
    assert not [text for text in [*shown, caplog.text] if SECRET in text]
