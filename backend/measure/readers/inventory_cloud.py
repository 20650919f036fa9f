"""Which provider a machine says it belongs to, from its firmware and from cloud-init.

Nothing is asked over the network. A machine may say nothing, and a provider that resells another's
machines shows the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass

# Words in the firmware's texts, lower case. The ones further up are the more telling ones.
FIRMWARE = (
    ("amazon", "aws"),
    ("google compute engine", "gcp"),
    # The asset tag that Azure gives its machines; Hyper-V elsewhere has the same maker.
    ("7783-7084-3265-9085-8269-3286-77", "azure"),
    ("oraclecloud", "oracle"),
    ("digitalocean", "digitalocean"),
    ("hetzner", "hetzner"),
    ("scaleway", "scaleway"),
    ("vultr", "vultr"),
    ("linode", "linode"),
    ("akamai", "linode"),
    ("alibaba", "alibaba"),
    ("tencent", "tencent"),
    ("upcloud", "upcloud"),
    ("exoscale", "exoscale"),
    ("openstack", "openstack"),
    ("ovh", "ovh"),
)
FIRMWARE_KEYS = (
    "sys_vendor",
    "product_name",
    "product_version",
    "board_vendor",
    "bios_vendor",
    "chassis_asset_tag",
)
# cloud-init's own names where they differ from ours.
CLOUD_INIT = {"gce": "gcp", "ec2": "aws", "aliyun": "alibaba"}
NO_CLOUD = ("none", "nocloud", "unknown", "configdrive")


@dataclass(frozen=True)
class Cloud:
    """None = not stated."""

    provider: str | None
    region: str | None
    zone: str | None
    instance_type: str | None


def cloud(values: Mapping[str, str], dmi: str) -> Cloud:
    """`values`: the lines of the section cloud; `dmi`: maker and product of the older section."""
    said = values.get("cloud-id", values.get("cloud_name", "")).lower()
    named = CLOUD_INIT.get(said, said)
    firmware = " ".join([*(values.get(key, "") for key in FIRMWARE_KEYS), dmi]).lower()
    shown = next((provider for word, provider in FIRMWARE if word in firmware), None)
    return Cloud(
        provider=shown if named in {"", *NO_CLOUD} else named,
        region=values.get("region"),
        zone=values.get("availability_zone"),
        instance_type=_first(
            values, "instance_type", "instance-type", "machine_type", "machine-type"
        ),
    )


def _first(values: Mapping[str, str], *keys: str) -> str | None:
    # Google's is a path that ends in the type.
    return next((values[key].rpartition("/")[2] for key in keys if key in values), None)
