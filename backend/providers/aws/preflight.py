"""True if a launch in a region of AWS would be let pass, line by line, before anything is paid for.

The last line is AWS's own answer: a key pair and a group are made as for a launch, RunInstances is
asked for with DryRun, which makes nothing, and both are deleted.
"""

import datetime as dt
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from backend.providers.aws.api import ERRORS, Login, code, failure
from backend.providers.aws.launching import image_of, prepare_launch
from backend.providers.aws.listings import instances
from backend.providers.aws.request import KEY_ADVICE, filters, name_of
from backend.providers.machines import Access, LaunchSpec, Overview, Preflight, unsupported_error

if TYPE_CHECKING:
    from types_boto3_ec2 import EC2Client

# The smallest types; nothing of them is started.
TRIALS = {"x86_64": "t3.micro", "arm64": "t4g.micro"}
# Not among the types of the free plan on which accounts begin since July 2025
# (github.com/kubernetes-sigs/karpenter/issues/9004).
PAID_TYPE = "m6i.large"
PLAN_ADVICE = (
    "If the account is on the free plan, upgrade it to the paid plan under Billing, or rent t3.micro,"
    " t3.small, t4g.micro, t4g.small, c7i-flex.large or m7i-flex.large."
)
# Quota of vCPUs of running on-demand standard instances
# (docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html): new accounts have few.
STANDARD = ("ec2", "L-1216C47A")
# A campaign that runs a few machines at once would fail half way.
FEW_ADDRESSES = 8
# Whoever may use EBS may use this one (docs.aws.amazon.com/ebs/latest/userguide/encryption-by-default.html).
KEY_OF_AWS = "alias/aws/ebs"
POLICY_ADVICE = "Compare the rights of the identity with docs/policies/aws-launch.json."


def preflight_lines(at: Login, *, access: Access, region: str, tag: str) -> list[Preflight]:
    """The lines of a region; those after one that hinders all others are left out."""
    overview = Overview(region)

    def look(topic: str, work: Callable[[], str], advice: str) -> None:
        def answered() -> str:
            try:
                return work()
            except ERRORS as error:
                raise failure(error, access) from None

        overview.look(topic, answered, advice)

    ec2 = at.ec2(region)
    look(
        "region",
        lambda: _opt_in_words(ec2),
        f"Enable {region} under Account settings, AWS Regions.",
    )
    if not overview.is_ready():
        return overview.lines
    look(
        "network",
        lambda: _network(ec2, access, region),
        f"Make one (aws ec2 create-default-vpc --region {region}) or name a subnet of the region.",
    )
    overview.look_at_address(access)
    for arch in TRIALS:
        spec = _trial(region, arch, tag)
        look(
            f"image {arch}",
            partial(_image, at, access, spec),
            "Allow ssm:GetParameter and ec2:DescribeImages, or name an image of the region.",
        )
    _look_at_disks(overview, at, access, region)
    _look_at_quota(overview, at, access, region)
    if overview.is_ready():
        trial = _trial(region, "x86_64", tag)
        look("launch", lambda: try_launch(at, access=access, spec=trial), POLICY_ADVICE)
        _look_at_plan(overview, at, access, replace(trial, machine_type=PAID_TYPE))
    else:
        overview.unknown("launch", "not tried, as something before it is not ready")
    return overview.lines


def _opt_in_words(ec2: "EC2Client") -> str:
    # A call that changes nothing, and that a region refuses while it is not enabled.
    ec2.describe_subnets(MaxResults=5)
    return "it answers"


def _network(ec2: "EC2Client", access: Access, region: str) -> str:
    if subnet := access.in_region("subnet_id", region):
        (shown,) = ec2.describe_subnets(SubnetIds=[subnet])["Subnets"]
        free = shown["AvailableIpAddressCount"]
        if free < FEW_ADDRESSES:
            raise unsupported_error(f"{subnet} has {free} free addresses left")
        return f"{subnet} in {shown['AvailabilityZone']}, {free} free addresses"
    subnets = ec2.describe_subnets(Filters=filters(**{"default-for-az": "true"}))["Subnets"]
    if not subnets:
        raise unsupported_error("no default network")
    return (
        f"default subnets in {', '.join(sorted(subnet['AvailabilityZone'] for subnet in subnets))}"
    )


def _image(at: Login, access: Access, spec: LaunchSpec) -> str:
    return image_of(at, access, spec)[0]


def _look_at_disks(overview: Overview, at: Login, access: Access, region: str) -> None:
    """With which key new disks are encrypted. A launch that is only tried does not say whether the
    identity may use it; without the right to ask it is unknown, which hinders nothing."""
    ec2 = at.ec2(region)
    try:
        if not ec2.get_ebs_encryption_by_default()["EbsEncryptionByDefault"]:
            overview.ready("disks", "not encrypted by default")
            return
        key = ec2.get_ebs_default_kms_key_id()["KmsKeyId"]
    except ERRORS as error:
        advice = "Allow ec2:GetEbsEncryptionByDefault and ec2:GetEbsDefaultKmsKeyId to see it here."
        overview.unknown("disks", failure(error, access).detail, advice)
        return
    if key.endswith(KEY_OF_AWS):
        overview.ready("disks", "encrypted by default with the key of AWS")
    else:
        overview.unknown("disks", f"encrypted by default with {key}", KEY_ADVICE)


def _look_at_quota(overview: Overview, at: Login, access: Access, region: str) -> None:
    """vCPUs that are left; without the right to ask it is unknown, which hinders nothing."""
    service, name = STANDARD
    try:
        answer = at.quotas(region).get_service_quota(ServiceCode=service, QuotaCode=name)
        limit = int(answer["Quota"]["Value"])
        used = _vcpus_in_use(at.ec2(region))
    except ERRORS as error:
        advice = "Allow servicequotas:GetServiceQuota to see it here."
        overview.unknown("quota", failure(error, access).detail, advice)
        return
    detail = f"{limit - used} of {limit} vCPUs of standard types are free"
    if limit > used:
        overview.ready("quota", detail)
    else:
        overview.not_ready("quota", detail, f"Ask for more: Service Quotas, {name} in {region}.")


def _vcpus_in_use(ec2: "EC2Client") -> int:
    # Of all machines of the account, not ours alone: the quota is the account's.
    living = filters(**{"instance-state-name": "running"})
    options = [instance.get("CpuOptions", {}) for instance in instances(ec2, Filters=living)]
    return sum(option.get("CoreCount", 0) * option.get("ThreadsPerCore", 1) for option in options)


def _trial(region: str, arch: str, tag: str) -> LaunchSpec:
    # The private half is thrown away at once, as nothing is ever logged in to with it.
    key = ed25519.Ed25519PrivateKey.generate().public_key()
    public = key.public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    ).decode()
    return LaunchSpec(
        machine_type=TRIALS[arch],
        region=region,
        arch=arch,
        lifetime_s=600,
        expires_at=dt.datetime.now(dt.UTC) + dt.timedelta(minutes=10),
        public_key=public,
        tag=tag,
        labels={"owner": "preflight"},
    )


def _look_at_plan(overview: Overview, at: Login, access: Access, paid: LaunchSpec) -> None:
    """Accounts on the free plan may rent a few small types, so the others hinder nothing."""
    if not overview.is_ready():
        return
    try:
        overview.ready("plan", try_launch(at, access=access, spec=paid))
    except ERRORS as error:
        overview.unknown("plan", failure(error, access).detail, PLAN_ADVICE)


def try_launch(at: Login, *, access: Access, spec: LaunchSpec) -> str:
    """AWS's answer to a launch that is only tried."""
    ec2, token = at.ec2(spec.region), str(uuid.uuid4())
    try:
        ec2.run_instances(DryRun=True, **prepare_launch(at, access, spec, token))
    except ClientError as error:
        # A dry run always raises: with this name it would have been let pass.
        if code(error) != "DryRunOperation":
            raise
    finally:
        _remove(ec2, token)
    return f"{spec.machine_type} would be launched"


def _remove(ec2: "EC2Client", token: str) -> None:
    """Delete the probe's leftovers; what cannot be deleted is left to the reaper."""
    # Each by itself: what hinders the one must not leave the other behind.
    with suppress(ClientError, BotoCoreError):
        ec2.delete_key_pair(KeyName=name_of(token))
    with suppress(*ERRORS):
        named = filters(**{"group-name": name_of(token)})
        for group in ec2.describe_security_groups(Filters=named)["SecurityGroups"]:
            ec2.delete_security_group(GroupId=group["GroupId"])
