"""The shipped policies of AWS: what the driver does is allowed, one thing less fails, more is not."""

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from backend.foundation.errors import DriverError, Reason
from backend.providers.aws import request as aws_request
from backend.providers.aws.driver import AwsDriver
from backend.providers.machines import ProviderResource, ProviderResourceState
from tests.fakes.aws import KEY, REGION, FakeAws
from tests.fakes.aws_calls import asked
from tests.fakes.fake.cloud import Fault
from tests.fakes.policy import POLICIES, Asked, Policy
from tests.workers.aws_account import (
    SPEC,
    TAG,
    TAGS,
    TOKEN,
    aws,
    client_of,
    driver,
    ended,
    launched,
    owner,
)

__all__ = ["aws", "driver", "owner"]
LAUNCH = json.loads((POLICIES / "aws-launch.json").read_text())


# --- nothing too much -----------------------------------------------------------------------------


def lessened() -> Iterator[Any]:
    """The launch policy without one action of one statement, for each."""
    for number, statement in enumerate(LAUNCH["Statement"]):
        given = statement["Action"]
        actions = [given] if isinstance(given, str) else given
        for action in actions if statement["Effect"] == "Allow" else ():
            fewer = {**statement, "Action": [one for one in actions if one != action]}
            statements = [*LAUNCH["Statement"][:number], fewer, *LAUNCH["Statement"][number + 1 :]]
            yield pytest.param(
                {**LAUNCH, "Statement": statements}, id=f"{statement['Sid']}-{action}"
            )


async def everything(aws: FakeAws, owner: Any) -> None:
    """All that the driver ever does, once."""
    subnet = owner.describe_subnets()["Subnets"][0]["SubnetId"]
    driver = AwsDriver(aws.access(subnet_id=subnet))
    mark = {"Key": "rackrate-workspace", "Value": TAG}
    token = {"Key": "rackrate-token", "Value": TOKEN}
    owner.allocate_address(
        TagSpecifications=[{"ResourceType": "elastic-ip", "Tags": [mark, token]}]
    )
    aws.fault(Fault.DISK_LEFT, times=1)
    await driver.offers()
    made = await driver.describe(await launched(driver, is_spot=True))
    await driver.console_fingerprint(made)
    for resource in await driver.inventory(TAG):
        if resource.id == made.id:
            await driver.terminate(resource)
    for resource in await driver.inventory(TAG):
        await driver.terminate(resource)
    assert not await driver.inventory(TAG)
    aws.regions.disk_key = f"arn:aws:kms:{REGION}:123456789012:key/0ea3fef3"
    for line in await driver.preflight(REGION, TAG):
        if "UnauthorizedOperation" in line.detail:
            raise DriverError(Reason.AUTH, line.detail, retryable=False)


async def test_launch_policy_allows_everything_that_the_driver_does(aws, owner):
    await everything(aws, owner)
    assert (aws.alive(), aws.parts()) == ([], [])


@pytest.mark.parametrize("document", list(lessened()))
async def test_launch_policy_allows_no_action_that_the_driver_can_do_without(aws, owner, document):
    aws.policy = Policy(document)
    with pytest.raises(DriverError, match="UnauthorizedOperation") as caught:
        await everything(aws, owner)
    assert (caught.value.reason, caught.value.retryable) == (Reason.AUTH, False)


# --- what is denied -------------------------------------------------------------------------------


async def test_launch_policy_denies_the_end_of_a_machine_without_our_tag(aws, driver, owner):
    (machine,) = owner.run_instances(
        ImageId=aws.images["x86_64"], MinCount=1, MaxCount=1, InstanceType="c6a.large"
    )["Instances"]
    stranger = ProviderResource(
        id=machine["InstanceId"], state=ProviderResourceState.RUNNING, region=REGION
    )
    with pytest.raises(DriverError) as caught:
        await driver.terminate(stranger)
    assert (caught.value.reason, caught.value.retryable) == (Reason.AUTH, False)
    assert "Encoded" not in caught.value.detail
    assert [one.id for one in aws.alive()] == [stranger.id]
    with pytest.raises(DriverError):
        await driver.console_fingerprint(stranger)


def without_tags(kind: str) -> Callable[[dict[str, Any]], None]:
    def change(request: dict[str, Any]) -> None:
        kept = [one for one in request["TagSpecifications"] if one["ResourceType"] != kind]
        request["TagSpecifications"] = kept

    return change


def changed(**parameters: Any) -> Callable[[dict[str, Any]], None]:
    return lambda request: request.update(parameters)


@pytest.mark.parametrize(
    ("change", "is_allowed"),
    [
        (changed(), True),
        (without_tags("instance"), False),
        (without_tags("volume"), False),
        (without_tags("network-interface"), False),
        (changed(MetadataOptions={"HttpTokens": "optional"}), False),
        (changed(MetadataOptions={"HttpTokens": "required", "HttpPutResponseHopLimit": 2}), False),
        (changed(IamInstanceProfile={"Name": "strong"}), False),
        (changed(InstanceType="p5.48xlarge"), False),
        (changed(ImageId="ami-owned-by-nobody"), False),
        (changed(KeyName="of-somebody-else"), False),
        (changed(NetworkInterfaces=[{"DeviceIndex": 0, "Groups": ["sg-default"]}]), False),
    ],
)
async def test_launch_policy_denies_a_launch_with_one_thing_changed(
    aws, driver, owner, change, is_allowed
):
    await launched(driver)
    (group,) = [
        one
        for one in owner.describe_security_groups()["SecurityGroups"]
        if one["GroupName"] != "default"
    ]
    request = aws_request.request(
        SPEC,
        TOKEN,
        marks=TAGS,
        image=aws.images["x86_64"],
        disks=[],
        group=group["GroupId"],
        subnet="",
        is_private=False,
    )
    request["ClientToken"] = "another"
    change(request)
    refused = pytest.raises(ClientError, match="UnauthorizedOperation")
    with contextlib.nullcontext() if is_allowed else refused:
        client_of(aws, KEY).run_instances(**request)
    assert len(aws.rented) == 1 + is_allowed


@pytest.mark.parametrize(
    ("machine_type", "is_allowed"),
    [
        *((one, True) for one in ("t4g.nano", "c7i.metal-24xl", "m7i.48xlarge", "i4i.32xlarge")),
        *((one, False) for one in ("p5.48xlarge", "g6.xlarge", "g5g.metal", "trn1.2xlarge")),
        *((one, False) for one in ("inf2.xlarge", "f2.6xlarge", "mac2.metal", "u7i-6tb.112xlarge")),
        *((one, False) for one in ("u-12tb1.112xlarge", "dl1.24xlarge", "vt1.3xlarge")),
    ],
)
def test_launch_policy_allows_whole_servers_and_no_accelerators(machine_type, is_allowed):
    """What a machine costs at most is the matter of the account's budget."""
    context = {
        "aws:RequestedRegion": REGION,
        "ec2:InstanceType": machine_type,
        "ec2:MetadataHttpTokens": "required",
        "ec2:MetadataHttpPutResponseHopLimit": "1",
        **{f"aws:RequestTag/{name}": value for name, value in TAGS.items()},
    }
    launch = Asked("ec2:RunInstances", f"arn:aws:ec2:{REGION}:123456789012:instance/*", context)
    assert Policy(LAUNCH).allows(launch) is is_allowed


async def test_launch_policy_denies_regions_that_it_does_not_name(aws):
    driver = AwsDriver(aws.access(regions=["ap-south-1"]))
    with pytest.raises(DriverError, match="UnauthorizedOperation"):
        await driver.launch(replace(SPEC, region="ap-south-1"), TOKEN)


async def test_launch_policy_denies_marks_on_what_is_there(aws, driver, owner):
    made = await launched(driver)
    (stranger,) = owner.run_instances(ImageId=aws.images["x86_64"], MinCount=1, MaxCount=1)[
        "Instances"
    ]
    client, mark = client_of(aws, KEY), [{"Key": "rackrate-workspace", "Value": TAG}]
    for name in (made.id, stranger["InstanceId"]):
        with pytest.raises(ClientError, match="UnauthorizedOperation"):
            client.create_tags(Resources=[name], Tags=mark)
    with pytest.raises(ClientError, match="UnauthorizedOperation"):
        client.delete_tags(Resources=[made.id], Tags=mark)
    assert aws.backend().tags[made.id] == TAGS


@pytest.mark.parametrize(
    "action",
    [
        *("iam:PassRole", "iam:CreateServiceLinkedRole", "ec2:StopInstances", "ec2:StartInstances"),
        *("ec2:ModifyInstanceAttribute", "ec2:RequestSpotInstances", "ec2:CreateVolume"),
        *("ec2:AssociateIamInstanceProfile", "ec2:AuthorizeSecurityGroupEgress", "s3:GetObject"),
    ],
)
def test_launch_policy_denies_what_nothing_needs(action):
    marked = {"aws:ResourceTag/rackrate-workspace": TAG, "aws:RequestedRegion": REGION}
    assert not Policy(LAUNCH).allows(Asked(action, "*", marked))


async def test_prices_policy_reads_prices_and_starts_nothing(aws, driver):
    policy = Policy.shipped("aws-prices.json")
    reads = ("pricing:GetProducts", "ec2:DescribeSpotPriceHistory", "ec2:DescribeAvailabilityZones")
    assert all(policy.allows(Asked(action)) for action in reads)
    await launched(driver)
    await ended(driver)
    needed = [one for call in aws.calls for one in asked(call, lambda _: TAGS, lambda _: "")]
    assert len(needed) > 20
    assert not [one for one in needed if policy.allows(one)]


# --- the evaluator itself -------------------------------------------------------------------------


def policy(*statements: dict[str, Any]) -> Policy:
    return Policy({"Version": "2012-10-17", "Statement": statements})


ALLOW = {"Effect": "Allow", "Action": "ec2:*", "Resource": "*"}


def test_policy_denies_what_no_statement_allows():
    assert not policy().allows(Asked("ec2:RunInstances"))
    assert not policy(ALLOW).allows(Asked("iam:PassRole"))


def test_policy_denies_when_one_statement_denies_and_another_allows():
    deny = {"Effect": "Deny", "Action": "ec2:Delete*", "Resource": "*"}
    both = policy(ALLOW, deny)
    assert both.allows(Asked("ec2:RunInstances"))
    assert not both.allows(Asked("ec2:DeleteTags"))


@pytest.mark.parametrize(
    ("condition", "context", "is_met"),
    [
        ({"StringEquals": {"k": ["a", "b"]}}, {"k": "b"}, True),
        ({"StringEquals": {"k": "a*"}}, {"k": "ab"}, False),
        ({"StringEquals": {"k": "a"}}, {}, False),
        ({"StringNotEquals": {"k": ["a", "b"]}}, {"k": "b"}, False),
        ({"StringNotEquals": {"k": "a"}}, {}, True),
        ({"StringLike": {"k": "?*"}}, {"k": ""}, False),
        ({"StringLike": {"k": "*.large"}}, {"k": "c6a.large"}, True),
        ({"StringLike": {"k": "*.large"}}, {"k": "c6a-large"}, False),
        ({"NumericEquals": {"k": "1"}}, {"k": "1.0"}, True),
        ({"NumericEquals": {"k": "1"}}, {"k": "2"}, False),
        ({"Null": {"k": "true"}}, {}, True),
        ({"Null": {"k": "true"}}, {"k": ""}, False),
        ({"Null": {"k": "false"}}, {"k": ""}, True),
        ({"StringEquals": {"k": "a", "other": "b"}}, {"k": "a"}, False),
        ({"StringEquals": {"k": "a"}, "Null": {"k": "true"}}, {"k": "a"}, False),
    ],
)
def test_policy_allows_when_every_condition_is_met(condition, context, is_met):
    bound = policy({**ALLOW, "Condition": condition})
    assert bound.allows(Asked("ec2:RunInstances", "*", context)) is is_met


def test_policy_is_refused_when_it_says_what_the_evaluator_does_not_know():
    with pytest.raises(AssertionError):
        policy({**ALLOW, "Condition": {"DateLessThan": {"k": "2026-01-01"}}})
    with pytest.raises(AssertionError):
        policy({**ALLOW, "NotResource": "*"})
