"""Lists of EC2: machines and other things, page by page, and what a region sells."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from backend.providers.aws.api import Login
from backend.providers.aws.request import filters
from backend.providers.machines import MachineListing, unsupported_error

if TYPE_CHECKING:
    from types_boto3_ec2 import EC2Client


def pages(ec2: "EC2Client", operation: Any, items: str, **query: Any) -> Iterator[Any]:
    """The items of every page of an answer."""
    # DescribeKeyPairs and DescribeAddresses have no pages, and boto3 raises for a paginator of them.
    if ec2.can_paginate(operation):
        for page in ec2.get_paginator(operation).paginate(**query):
            yield from page[items]
    else:
        yield from getattr(ec2, operation)(**query)[items]


def instances(ec2: "EC2Client", **query: Any) -> Iterator[Any]:
    for reservation in pages(ec2, "describe_instances", "Reservations", **query):
        yield from reservation["Instances"]


def offers(at: Login, *, region: str) -> list[MachineListing]:
    rows = _offerings(at, region, LocationType="region")
    return [MachineListing(row["InstanceType"], region) for row in rows]


def zones(at: Login, *, machine_type: str, region: str) -> list[str]:
    typed = filters(**{"instance-type": machine_type})
    rows = _offerings(at, region, LocationType="availability-zone", Filters=typed)
    if zones := sorted(row["Location"] for row in rows):
        return zones
    raise unsupported_error(f"{region} does not sell {machine_type}")


def _offerings(at: Login, region: str, **query: Any) -> Iterator[Any]:
    ec2 = at.ec2(region)
    return pages(ec2, "describe_instance_type_offerings", "InstanceTypeOfferings", **query)
