"""Preparations of a launch at EC2: image, key pair and group, each made once."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from backend.foundation.errors import DriverError, Reason
from backend.providers.aws.api import Login, allowing, code
from backend.providers.aws.request import (
    disk_of,
    filters,
    name_of,
    peer_rules,
    request,
    ssh_rule,
    tag_specifications,
    tags,
)
from backend.providers.machines import Access, LaunchSpec, ProviderResource, unsupported_error

if TYPE_CHECKING:
    from types_boto3_ec2 import EC2Client

# Public SSM parameter that names Debian's own image in a region: ids differ by region and release.
IMAGE = "/aws/service/debian/release/12/latest/{arch}"
# By ours: Debian's name and that of EC2.
ARCHITECTURES = {"x86_64": ("amd64", "x86_64"), "arm64": ("arm64", "arm64")}
# A launch that has taken longer before it comes to the machine is given up: the step ends, and RunInstances
# must not be under way when it does.
PREPARE_LIMIT_S = 10


def prepare_launch(at: Login, access: Access, spec: LaunchSpec, token: str) -> dict[str, Any]:
    """The parameters of RunInstances; what they name has been made."""
    until = time.monotonic() + PREPARE_LIMIT_S
    ec2 = at.ec2(spec.region)
    image, disks = image_of(at, access, spec)
    _check_time(until)
    marks = tags(spec, token, access.settings.get("tags", {}))
    _key_pair(ec2, spec, token, marks)
    _check_time(until)
    subnet = access.in_region("subnet_id", spec.region)
    group = _group(ec2, access, token, marks, subnet)
    _check_time(until)
    return request(
        spec,
        token,
        marks=marks,
        image=image,
        disks=disks,
        group=group,
        subnet=subnet,
        is_private=access.is_private,
    )


def image_of(at: Login, access: Access, spec: LaunchSpec) -> tuple[str, list[Any]]:
    """The image's id, and its disks, which all end with the machine."""
    if spec.arch not in ARCHITECTURES:
        raise unsupported_error("the architecture of the type is not known")
    debian, ours = ARCHITECTURES[spec.arch]
    name = (access.in_region("image", spec.region) or IMAGE).replace("{arch}", debian)
    if name.startswith("/"):
        name = at.ssm(spec.region).get_parameter(Name=name)["Parameter"]["Value"]
    images = at.ec2(spec.region).describe_images(ImageIds=[name])["Images"]
    # Else RunInstances refuses the pair, after key pair and group were made.
    if not images or images[0].get("Architecture") != ours:
        raise unsupported_error(f"image {name} is none for {spec.arch}")
    disks = [
        disk_of(disk, is_root=disk["DeviceName"] == images[0].get("RootDeviceName"))
        for disk in images[0].get("BlockDeviceMappings", ())
        # The others are instance stores, which have no size to state and go with the machine.
        if "VolumeSize" in disk.get("Ebs", {})
    ]
    return name, disks


def _group(
    ec2: "EC2Client", access: Access, token: str, marks: Mapping[str, str], subnet: str
) -> str:
    """The id of the launch's security group: SSH in, and nothing else."""
    network: dict[str, Any] = {}
    if subnet:
        network["VpcId"] = ec2.describe_subnets(SubnetIds=[subnet])["Subnets"][0]["VpcId"]
    group = _group_made(ec2, token, marks, network)
    rule = ssh_rule(access.ssh_port, access.settings.get("allowed_cidrs", ()))
    # The step may be done again after it was cut off anywhere: each of these calls may have gone well
    # before.
    with allowing("InvalidPermission.Duplicate"):
        ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[rule])
    return group


def let_in(at: Login, *, resource: ProviderResource, address: str) -> str:
    """Rules of the launch's group for its partner in the network tests; they go with the group."""
    ec2 = at.ec2(resource.region)
    group = _group_named(ec2, resource.token)
    # All in one call, which is refused as a whole where it was made before.
    with allowing("InvalidPermission.Duplicate"):
        ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=peer_rules(address))
    return f"the security group {group} lets {address} in, for the network tests"


def _check_time(until: float) -> None:
    if time.monotonic() > until:
        raise DriverError(Reason.TIMEOUT, "AWS answers too slowly to launch", retryable=True)


def _key_pair(ec2: "EC2Client", spec: LaunchSpec, token: str, marks: Mapping[str, str]) -> None:
    with allowing("InvalidKeyPair.Duplicate"):
        ec2.import_key_pair(
            KeyName=name_of(token),
            PublicKeyMaterial=spec.public_key.encode(),
            TagSpecifications=tag_specifications(marks, "key-pair"),
        )


def _group_made(
    ec2: "EC2Client", token: str, marks: Mapping[str, str], network: Mapping[str, Any]
) -> str:
    """The id of the launch's group, which an earlier call may have made."""
    try:
        return ec2.create_security_group(
            GroupName=name_of(token),
            Description="SSH to a machine that is being measured",
            TagSpecifications=tag_specifications(marks, "security-group"),
            **network,
        )["GroupId"]
    except ClientError as error:
        if code(error) != "InvalidGroup.Duplicate":
            raise
    return _group_named(ec2, token)


def _group_named(ec2: "EC2Client", token: str) -> str:
    named = filters(**{"group-name": name_of(token)})
    groups = ec2.describe_security_groups(Filters=named)["SecurityGroups"]
    if not groups:
        detail = "the security group is not shown yet"
        raise DriverError(Reason.UNSUPPORTED, detail, retryable=True)
    return groups[0]["GroupId"]
