"""What a region of the faked AWS has to offer: zones that sell a type, networks, a quota."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPES

from tests.fakes.aws_calls import Answer, Call, Refused, xml
from tests.fakes.aws_machines import Rented

SUBNET = r"(NetworkInterface\.\d+\.)?SubnetId"
# describe-instance-types with free-tier-eligible=true (github.com/RhinoSecurityLabs/cloudgoat/issues/375).
FREE_TYPES = (
    *("t3.micro", "t3.small", "t4g.micro", "t4g.small"),
    *("c7i-flex.large", "m7i-flex.large"),
)
VCPU_LIMIT = (
    "You have requested more vCPU capacity than your current vCPU limit allows for the instance "
    "bucket that the specified instance type belongs to."
)


class AwsRegions:
    def __init__(self, backend: Callable[[str], Any]) -> None:
        self._backend = backend
        self.vcpu_quota: int | None = None
        """Of running on-demand standard instances in a region, counted in vCPUs
        (docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-on-demand-instances.html)."""
        self.disk_key: str | None = None
        """With which new disks are encrypted by default; None: not at all
        (docs.aws.amazon.com/ebs/latest/userguide/encryption-by-default.html)."""
        self.is_key_usable = True
        """Whether who launches may use that key. A launch that is only tried does not show it."""
        self.is_free_plan = False
        """Of accounts made since July 2025, until they are upgraded."""
        self.sold_out: dict[str, tuple[str, ...]] = {}
        """By type, zones that do not offer it
        (docs.aws.amazon.com/AWSEC2/latest/UserGuide/troubleshooting-launch.html)."""

    def zones(self, region: str) -> list[str]:
        """Those with a default subnet."""
        return sorted(self._backend(region).get_default_subnets())

    def remove_network(self, region: str, *zones: str) -> None:
        """Without default subnets in these zones, or in any, as accounts of organisations often are
        (docs.aws.amazon.com/vpc/latest/userguide/work-with-default-vpc.html)."""
        backend = self._backend(region)
        for subnet in backend.describe_subnets():
            if not zones or subnet.availability_zone in zones:
                backend.delete_subnet(subnet.id)

    def check(self, call: Call) -> None:
        """Whether the zone of a launch sells the type and has a subnet."""
        kind = call.parameters.get("InstanceType", "m1.small")
        if self.is_free_plan and kind not in FREE_TYPES:
            # github.com/kubernetes-sigs/karpenter/issues/9004
            raise Refused(
                "InvalidParameterCombination",
                "The specified instance type is not eligible for Free Tier. For a list of Free Tier"
                " instance types, run 'describe-instance-types' with the filter 'free-tier-eligible=true'.",
            )
        if call.zone in self.sold_out.get(kind, ()):
            raise Refused(
                "Unsupported",
                f"Your requested instance type ({kind}) is not supported in your requested "
                f"Availability Zone ({call.zone}). Please retry your request by not specifying an "
                "Availability Zone or choosing another one.",
            )
        if call.zone and not call.first(SUBNET) and call.zone not in self.zones(call.region):
            raise Refused("MissingInput", f"No default subnet for availability zone: {call.zone!r}")

    def check_group(self, call: Call) -> None:
        """A group without a network goes into the default one
        (docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html)."""
        if not call.parameters.get("VpcId") and not self.zones(call.region):
            raise Refused("VPCIdNotSpecified", "No default VPC for this user")

    def tried(self, call: Call) -> Refused:
        """The answer to a launch that nobody forbids and that is not meant
        (docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RunInstances.html)."""
        self.check(call)
        detail = "Request would have succeeded, but DryRun flag is set."
        return Refused("DryRunOperation", detail, 412)

    def quota(self, call: Call, _environ: Any, _body: bytes) -> Answer:
        """Of Service Quotas (docs.aws.amazon.com/servicequotas/2019-06-24/apireference/
        API_GetServiceQuota.html)."""
        value = 32 if self.vcpu_quota is None else self.vcpu_quota
        quota = {**call.parameters, "Value": float(value), "Unit": "None"}
        document = json.dumps({"Quota": quota}).encode()
        return [document], "200 OK", [("Content-Type", "application/x-amz-json-1.1")]

    def encryption(self, call: Call, _environ: Any, _body: bytes) -> Answer:
        is_on = str(self.disk_key is not None).lower()
        return xml(
            f"{call.action}Response", f"<ebsEncryptionByDefault>{is_on}</ebsEncryptionByDefault>"
        )

    def default_key(self, call: Call, _environ: Any, _body: bytes) -> Answer:
        return xml(f"{call.action}Response", f"<kmsKeyId>{self.disk_key}</kmsKeyId>")

    def is_full(self, call: Call, rented: Sequence[Rented]) -> bool:
        if self.vcpu_quota is None:
            return False
        living = [one for one in rented if one.region == call.region and one.ended_at is None]
        types = [
            call.parameters.get("InstanceType", "m1.small"),
            *(one.machine_type for one in living),
        ]
        counts = [INSTANCE_TYPES[kind]["VCpuInfo"]["DefaultVCpus"] for kind in types]
        return sum(counts) > self.vcpu_quota
