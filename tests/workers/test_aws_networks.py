"""AWS accounts as organisations have them: without a default network, several regions, policies."""

import pytest

from backend.foundation.errors import DriverError, Reason
from backend.providers.aws.driver import AwsDriver
from tests.fakes.aws import REGION
from tests.fakes.policy import Policy
from tests.workers.aws_account import (
    SPEC,
    TAGS,
    TOKEN,
    aws,
    driver,
    ended,
    launched,
    owner,
)

__all__ = ["aws", "driver", "owner"]
OTHER = "eu-central-1"


async def refusal(call):
    with pytest.raises(DriverError) as caught:
        await call
    return caught.value


def a_subnet(aws, region):
    aws.backend(region)
    return aws.backend(region).describe_subnets()[0]


async def test_launch_takes_the_subnet_of_its_region(aws):
    subnets = {region: a_subnet(aws, region) for region in (REGION, OTHER)}
    ids = {region: subnet.id for region, subnet in subnets.items()}
    there = AwsDriver(aws.access(regions=[REGION, OTHER], subnet_id=ids))
    for region, token in ((REGION, TOKEN), (OTHER, "another")):
        assert await there.zones(SPEC.machine_type, region) == ()
        made = await there.launch(SPEC.__class__(**{**SPEC.__dict__, "region": region}), token)
        assert made.zone == subnets[region].availability_zone
    asked = [call.first(r"NetworkInterface.1.SubnetId") for call in aws.did("RunInstances")]
    assert asked == [ids[REGION], ids[OTHER]]


async def test_private_machine_is_known_by_its_own_address(aws):
    private = AwsDriver(aws.access(address="private"))
    shown = await private.describe(await launched(private))
    assert shown.address == aws.alive()[0].machine.address
    (call,) = aws.did("RunInstances")
    assert call.first(r"NetworkInterface.1.AssociatePublicIpAddress") == "false"
    public = AwsDriver(aws.access())
    assert (await public.describe(shown)).address == ""


async def test_group_lets_in_the_named_networks_only(aws, owner):
    networks = ["192.0.2.0/24", "198.51.100.7/32"]
    await launched(AwsDriver(aws.access(allowed_cidrs=networks)))
    groups = owner.describe_security_groups()["SecurityGroups"]
    (group,) = [one for one in groups if one["GroupName"] != "default"]
    (rule,) = group["IpPermissions"]
    assert sorted(one["CidrIp"] for one in rule["IpRanges"]) == networks


async def test_further_tags_satisfy_a_policy_of_the_organisation(aws, driver):
    statement = {
        "Effect": "Deny",
        "Action": "ec2:RunInstances",
        "Resource": "arn:aws:ec2:*:*:instance/*",
        "Condition": {"Null": {"aws:RequestTag/CostCenter": "true"}},
    }
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    aws.organisation = Policy({"Version": "2012-10-17", "Statement": [statement, everything]})
    denied = await refusal(launched(driver))
    assert denied.reason == Reason.AUTH
    assert "explicit deny in a service control policy" in denied.detail
    assert "Encoded" not in denied.detail
    await ended(driver)
    further = {"CostCenter": "42", "Name": "benchmark"}
    tagged = AwsDriver(aws.access(tags={**further, "rackrate-token": "not this"}))
    await launched(tagged)
    (call,) = aws.did("RunInstances")[1:]
    for kind in ("instance", "volume", "network-interface"):
        assert call.tags(kind) == {**TAGS, **further}


async def test_without_a_network_the_refusal_says_so(aws, driver):
    aws.regions.remove_network(REGION)
    refused = await refusal(launched(driver))
    assert (refused.reason, refused.retryable) == (Reason.UNSUPPORTED, False)
    assert "No default VPC" in refused.detail


@pytest.mark.parametrize("lacking", ["subnet", "type"])
async def test_zone_without_a_subnet_or_the_type_is_a_full_one(aws, driver, lacking):
    if lacking == "subnet":
        aws.regions.remove_network(REGION, f"{REGION}a")
    else:
        aws.regions.sold_out[SPEC.machine_type] = (f"{REGION}a",)
    refused = await refusal(launched(driver, zone=f"{REGION}a"))
    assert (refused.reason, refused.retryable) == (Reason.CAPACITY, True)
    assert (await launched(driver, zone=f"{REGION}b")).zone == f"{REGION}b"


async def test_quota_is_counted_in_vcpus_of_machines_that_live(aws, driver):
    aws.regions.vcpu_quota = 5
    for token in ("one", "two"):
        made = await driver.launch(SPEC, token)
    refused = await refusal(driver.launch(SPEC, "three"))
    assert (refused.reason, refused.retryable) == (Reason.QUOTA, False)
    await driver.terminate(made)
    assert (await driver.launch(SPEC, "three")).id
