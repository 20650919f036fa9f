"""Launch requests to EC2: names, tags and parameters; and tags read back. Nothing is called here."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from backend.foundation.errors import Reason
from backend.providers.aws import CREDIT_FAMILIES, RECORD, VOLUME
from backend.providers.machines import INSTALLATION, PEER_PORTS, LaunchSpec

WORKSPACE, TOKEN, EXPIRES_AT = "rackrate-workspace", "rackrate-token", "rackrate-expires-at"
MADE_BY = f"rackrate-{INSTALLATION}"
# cloud-init comes to the user data only near the end of the boot, and shutdown counts from then on: without
# this a machine would outlive its lifetime.
LATE_S = 60
# What EC2 says of a machine that ends while it is pending, mostly because of the key of its disk
# (aws.amazon.com/premiumsupport/knowledge-center/encrypted-volumes-stops-immediately).
REFUSED_KEYS = ("Client.InternalError", "Client.InvalidKMSKey")
KEY_ADVICE = (
    "If disks are encrypted with a key of your own, allow the identity to use it: kms:CreateGrant, "
    "kms:Decrypt, kms:DescribeKey, kms:GenerateDataKeyWithoutPlaintext and kms:ReEncrypt*, in its "
    "policy and in the key's."
)


# Codes of a machine that EC2 ends between its launch and its first second of running
# (docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StateReason.html).
REFUSALS: Mapping[str, Reason] = {
    "Server.InsufficientInstanceCapacity": Reason.CAPACITY,
    "Server.InternalError": Reason.CAPACITY,
    "Client.VolumeLimitExceeded": Reason.QUOTA,
}


def refusal_of(instance: Mapping[str, Any]) -> Reason | None:
    return REFUSALS.get(instance.get("StateReason", {}).get("Code", ""))


def client_token(token: str, round_number: int) -> str:
    """EC2 remembers a launch by it, in each zone apart, also one whose machine never ran."""
    return f"{token}.{round_number}" if round_number else token


def reason_of(message: str) -> str:
    """EC2's reason for a state, with advice where it names none."""
    return f"{message}. {KEY_ADVICE}" if message.startswith(REFUSED_KEYS) else message


def user_data(lifetime_s: int) -> str:
    """First-boot script of the machine: before anything else it sets its own end."""
    # Whole minutes are all that shutdown takes, and +0 would end the machine before its first login.
    return f"#!/bin/sh\nshutdown -h +{max(1, (lifetime_s - LATE_S) // 60)}\n"


def name_of(token: str) -> str:
    """Name of the launch's key pair and of its group."""
    return f"rackrate-{token}"


def tags(spec: LaunchSpec, token: str, further: Mapping[str, str]) -> dict[str, str]:
    """Tags of everything that belongs to a launch; `further` are the account's own."""
    return {
        # What the console lists it by; the account may name it otherwise.
        "Name": name_of(token),
        # Before ours: no tag of the account's own may replace one by which machines are counted and ended.
        **further,
        **{f"rackrate-{name}": value for name, value in spec.labels.items()},
        WORKSPACE: spec.tag,
        TOKEN: token,
        EXPIRES_AT: spec.expires_at.astimezone(dt.UTC).isoformat(timespec="seconds"),
    }


def tag_specifications(marks: Mapping[str, str], *kinds: Any) -> list[Any]:
    """The tags of things of these kinds, as the call that makes them states them."""
    listed = [{"Key": key, "Value": value} for key, value in marks.items()]
    return [{"ResourceType": kind, "Tags": listed} for kind in kinds]


def ssh_rule(port: int, networks: Sequence[str]) -> Any:
    """The one rule that a launch's security group is made with: SSH, from where workers may be."""
    # From anywhere unless the account says otherwise: workers may run anywhere, and only the run's own key
    # logs in.
    ranges = [{"CidrIp": network} for network in networks or ("0.0.0.0/0",)]
    return {"IpProtocol": "tcp", "FromPort": port, "ToPort": port, "IpRanges": ranges}


def peer_rules(address: str) -> list[Any]:
    """Rules for one other machine, for the network tests."""
    first, last = PEER_PORTS
    source = {"IpRanges": [{"CidrIp": f"{address}/32"}]}
    ports = [
        {"IpProtocol": protocol, "FromPort": first, "ToPort": last, **source}
        for protocol in ("tcp", "udp")
    ]
    # 8 is the echo request; every code of it (docs.aws.amazon.com/AWSEC2/latest/APIReference/
    # API_IpPermission.html).
    return [*ports, {"IpProtocol": "icmp", "FromPort": 8, "ToPort": -1, **source}]


def disk_of(disk: Any, *, is_root: bool) -> dict[str, Any]:
    """A disk of the image as the machine gets it: it ends with the machine."""
    ebs = {"VolumeSize": disk["Ebs"]["VolumeSize"], "DeleteOnTermination": True}
    if is_root:
        # Named, as an image may come with another type: figures of the disk differ by it.
        size = max(ebs["VolumeSize"], VOLUME.size_gib)
        ebs |= {"VolumeSize": size, "VolumeType": VOLUME.type}
    return {"DeviceName": disk["DeviceName"], "Ebs": ebs}


def request(
    spec: LaunchSpec,
    token: str,
    *,
    marks: Mapping[str, str],
    image: str,
    disks: list[Any],
    group: str,
    subnet: str,
    is_private: bool,
) -> dict[str, Any]:
    """The parameters of RunInstances."""
    # Stated, as the subnet's own setting would decide otherwise.
    network = {"DeviceIndex": 0, "Groups": [group], "AssociatePublicIpAddress": not is_private}
    asked: dict[str, Any] = {
        "MinCount": 1,
        "MaxCount": 1,
        # Asked for again with the same token EC2 answers with the machine that it made the first time.
        "ClientToken": client_token(token, spec.round),
        "ImageId": image,
        "InstanceType": spec.machine_type,
        "KeyName": name_of(token),
        "UserData": user_data(spec.lifetime_s),
        # With the shutdown of the user data: the machine ends itself, and its disks, also when nobody of us
        # lives.
        "InstanceInitiatedShutdownBehavior": "terminate",
        "BlockDeviceMappings": disks,
        "NetworkInterfaces": [
            {**network, "DeleteOnTermination": True, **({"SubnetId": subnet} if subnet else {})}
        ],
        "MetadataOptions": {
            "HttpEndpoint": "enabled",
            # IMDSv2 with one hop: nothing on the machine can be talked into handing out its metadata.
            "HttpTokens": "required",
            "HttpPutResponseHopLimit": 1,
        },
        "TagSpecifications": tag_specifications(marks, "instance", "volume", "network-interface"),
    }
    if spec.zone:
        asked["Placement"] = {"AvailabilityZone": spec.zone}
    if spec.is_spot:
        asked["InstanceMarketOptions"] = {"MarketType": "spot", "SpotOptions": _spot(spec)}
    if spec.machine_type.startswith(CREDIT_FAMILIES):
        # Named, as the default differs: t2 is standard, t3 and later are unlimited, and may cost beyond the
        # price. Never that unless it was reserved for.
        mode = spec.credit_mode or RECORD.credit_modes[0]
        asked["CreditSpecification"] = {"CpuCredits": mode}
    return asked


def _spot(spec: LaunchSpec) -> dict[str, Any]:
    # A request that stays open would start another machine after the first one was taken away.
    once = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
    if spec.max_price_per_hour is None:
        return once
    # Without an exponent, which a Decimal may print and EC2 refuses.
    return {**once, "MaxPrice": f"{spec.max_price_per_hour:f}"}


def filters(**values: str) -> list[Any]:
    return [{"Name": name, "Values": [value]} for name, value in values.items()]


def marks_of(thing: Mapping[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in thing.get("Tags", ())}


def moment(text: str | None) -> dt.datetime | None:
    """None for what is no time: a person may have changed the tag."""
    try:
        moment = dt.datetime.fromisoformat(text or "")
    except ValueError:
        return None
    # Ours always has a zone; what a person wrote without one is read as UTC.
    return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
