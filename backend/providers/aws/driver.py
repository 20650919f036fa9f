"""Amazon EC2: one machine with a key pair and a security group of its own for each launch.

Everything is tagged in the call that makes it. The names of key pair and group come from the
launch's token, which is the client token as well, so that a launch may be asked for again.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from botocore.exceptions import ClientError

from backend.foundation.errors import DriverError, Reason
from backend.providers.aws import api as aws_api
from backend.providers.aws.api import Login, code, failure, is_unknown, login
from backend.providers.aws.launching import let_in, prepare_launch
from backend.providers.aws.listings import instances, offers, pages, zones
from backend.providers.aws.preflight import preflight_lines, try_launch
from backend.providers.aws.request import (
    EXPIRES_AT,
    MADE_BY,
    TOKEN,
    WORKSPACE,
    filters,
    marks_of,
    moment,
    reason_of,
    refusal_of,
)
from backend.providers.console import console_host_key
from backend.providers.host_keys import HostKey
from backend.providers.machines import (
    Access,
    Inventory,
    LaunchSpec,
    MachineListing,
    Preflight,
    ProviderResource,
    ProviderResourceState,
    ResourceKind,
)

if TYPE_CHECKING:
    from types_boto3_ec2 import EC2Client

logger = logging.getLogger(__name__)
T = TypeVar("T")

# Of Debian's own images at EC2.
USERNAME = "admin"
# "User initiated (2026-11-20 10:11:12 GMT)": the only place where EC2 says when a machine ended.
ENDED_AT = re.compile(r"\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?:GMT|UTC)\)")

# Any other one is on its way out, or stopped: it may still cost money.
STATES = {
    "pending": ProviderResourceState.PENDING,
    "running": ProviderResourceState.RUNNING,
    "terminated": ProviderResourceState.GONE,
}


@dataclass(frozen=True)
class _Part:
    """How the API calls things of one kind that is not a machine."""

    listing: str
    items: str
    id: str
    ids: str
    end: str


# In the order in which they can go: a group is refused while a machine is in it.
PARTS: Mapping[ResourceKind, _Part] = {
    ResourceKind.DISK: _Part(
        "describe_volumes", "Volumes", "VolumeId", "VolumeIds", "delete_volume"
    ),
    ResourceKind.ADDRESS: _Part(
        "describe_addresses", "Addresses", "AllocationId", "AllocationIds", "release_address"
    ),
    ResourceKind.KEY_PAIR: _Part(
        "describe_key_pairs", "KeyPairs", "KeyName", "KeyNames", "delete_key_pair"
    ),
    ResourceKind.SECURITY_GROUP: _Part(
        "describe_security_groups", "SecurityGroups", "GroupId", "GroupIds", "delete_security_group"
    ),
}


# --- the driver -----------------------------------------------------------------------------------


class AwsDriver:
    """An AWS account, in the regions of `settings["regions"]`."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._settings = access.settings
        self._regions: tuple[str, ...] = tuple(access.settings.get("regions", ()))

    async def whoami(self) -> str:
        region = aws_api.home(self._access)
        return await self._do(lambda at: at.sts(region).get_caller_identity()["Arn"])

    async def offers(self) -> Sequence[MachineListing]:
        lists = await asyncio.gather(*(self._do(partial(offers, region=r)) for r in self._regions))
        return [listing for listings in lists for listing in listings]

    async def zones(self, machine_type: str, region: str) -> Sequence[str]:
        # A zone beside a subnet of another one would be a contradiction that EC2 refuses.
        if self._access.in_region("subnet_id", region):  # it lies in one zone
            return ()
        return await self._do(partial(zones, machine_type=machine_type, region=region))

    async def preflight(self, region: str, tag: str) -> Sequence[Preflight]:
        return await self._do(partial(preflight_lines, access=self._access, region=region, tag=tag))

    async def rehearse(self, spec: LaunchSpec) -> None:
        await self._do(partial(try_launch, access=self._access, spec=spec))

    async def launch(self, spec: LaunchSpec, token: str) -> ProviderResource:
        return await self._do(partial(self._launch, spec=spec, token=token))

    async def describe(self, resource: ProviderResource) -> ProviderResource:
        return await self._do(partial(self._describe, resource=resource))

    async def terminate(self, resource: ProviderResource) -> None:
        await self._do(partial(self._end, resource=resource))

    async def inventory(self, tag: str, *, token: str = "", region: str = "") -> Inventory:
        """Machines; of one launch also those that are over, after those that live: the answer to it
        may have been lost, and then nobody knows yet that there is something to pay."""
        marks = {f"tag:{WORKSPACE}": tag, **({f"tag:{TOKEN}": token} if token else {})}
        regions = (region,) if region else self._regions
        answers = await asyncio.gather(
            *(self._do(partial(self._resources, region=name, marks=marks)) for name in regions),
            # A region that the account has not opted into would else end every look at the account, for
            # ever.
            return_exceptions=True,
        )
        listed = Inventory()
        for answered in zip(regions, answers, strict=True):
            listed.add(*answered)
        # A launch that is looked for may be in just the region that is silent, so nothing is concluded
        # then.
        for refusal in listed.unread.values():
            if token or len(listed.unread) == len(regions):
                raise refusal
        return listed

    async def let_in(self, resource: ProviderResource, address: str) -> str:
        return await self._do(partial(let_in, resource=resource, address=address))

    async def console_fingerprint(self, resource: ProviderResource) -> HostKey | None:
        console = await self._do(partial(self._console, resource=resource))
        return console_host_key(console)

    async def _do(self, work: Callable[[Login], T]) -> T:
        return await asyncio.to_thread(self._done, work)

    def _done(self, work: Callable[[Login], T]) -> T:
        try:
            return work(login(self._access))
        except aws_api.ERRORS as error:
            # From None: the original holds the signed request.
            raise failure(error, self._access) from None

    # --- launch -------------------------------------------------------------------------------

    def _launch(self, at: Login, *, spec: LaunchSpec, token: str) -> ProviderResource:
        ec2 = at.ec2(spec.region)
        asked = prepare_launch(at, self._access, spec, token)
        try:
            made: Sequence[Any] = ec2.run_instances(**asked)["Instances"]
        except ClientError as error:
            if code(error) != "IdempotentParameterMismatch":
                raise
            made = _of_launch(ec2, token)
        machine, *surplus = sorted(made, key=_rank)
        if surplus:
            self._end_surplus(ec2, surplus)
        return self._machine(machine, spec.region)

    def _end_surplus(self, ec2: "EC2Client", surplus: Sequence[Any]) -> None:
        """More than one was made although one was asked for. Those that stay nevertheless carry
        our tags: the end of the run, or the reaper, ends them."""
        ids = [instance["InstanceId"] for instance in surplus]
        logger.warning("AWS made more machines than one, ending %s", ", ".join(ids))
        try:
            ec2.terminate_instances(InstanceIds=ids)
        except aws_api.ERRORS as error:
            logger.warning("they were not ended: %s", failure(error, self._access))

    # --- what is there ------------------------------------------------------------------------

    def _machine(self, instance: Mapping[str, Any], region: str) -> ProviderResource:
        marks = marks_of(instance)
        state = STATES.get(instance["State"]["Name"], ProviderResourceState.ENDING)
        ended = ENDED_AT.search(instance.get("StateTransitionReason", ""))
        return ProviderResource(
            id=instance["InstanceId"],
            state=state,
            token=marks.get(TOKEN, ""),
            installation=marks.get(MADE_BY, ""),
            region=region,
            zone=instance.get("Placement", {}).get("AvailabilityZone", ""),
            # A machine with a public address has a private one too; only one of them is reached from the
            # workers.
            address=instance.get(
                "PrivateIpAddress" if self._access.is_private else "PublicIpAddress", ""
            ),
            private_address=instance.get("PrivateIpAddress", ""),
            port=self._access.ssh_port,
            username=str(self._settings.get("username") or USERNAME),
            launched_at=instance.get("LaunchTime"),
            # A stopped machine has such a text as well, and goes on costing its disks.
            ended_at=moment(ended[1]) if ended and state == ProviderResourceState.GONE else None,
            expires_at=moment(marks.get(EXPIRES_AT)),
            detail="; ".join(
                filter(
                    None,
                    (
                        reason_of(instance.get("StateReason", {}).get("Message", "")),
                        # Who, and when.
                        instance.get("StateTransitionReason", ""),
                    ),
                )
            ),
            refusal=refusal_of(instance),
        )

    def _describe(self, at: Login, *, resource: ProviderResource) -> ProviderResource:
        ec2 = at.ec2(resource.region)
        try:
            if resource.kind == ResourceKind.MACHINE:
                for instance in instances(ec2, InstanceIds=[resource.id]):
                    return self._machine(instance, resource.region)
            else:
                part = PARTS[resource.kind]
                for thing in pages(ec2, part.listing, part.items, **{part.ids: [resource.id]}):
                    return _thing(thing, resource.kind, resource.region)
        except ClientError as error:
            if not is_unknown(error):
                raise
        return replace(resource, state=ProviderResourceState.ABSENT)

    def _resources(
        self, at: Login, *, region: str, marks: Mapping[str, str]
    ) -> list[ProviderResource]:
        ec2, marked = at.ec2(region), filters(**marks)
        machines = [self._machine(row, region) for row in instances(ec2, Filters=marked)]
        parts = [
            _thing(thing, kind, region)
            for kind, part in PARTS.items()
            for thing in pages(ec2, part.listing, part.items, Filters=marked)
        ]
        # One that never ran costs nothing, and is no machine of the launch.
        over = [
            row
            for row in machines
            if row.state == ProviderResourceState.GONE and row.refusal is None
        ]
        alive = [row for row in machines if row.state != ProviderResourceState.GONE]
        return [*alive, *parts, *(over if f"tag:{TOKEN}" in marks else ())]

    def _console(self, at: Login, *, resource: ProviderResource) -> str:
        """Present console output of the machine; "" while there is none."""
        ec2 = at.ec2(resource.region)
        try:
            # Latest: read from the hypervisor at once. Without it EC2 shows a copy that lags by minutes.
            # Xen types do not have it.
            answer = ec2.get_console_output(InstanceId=resource.id, Latest=True)
        except ClientError as error:
            if code(error) == "UnsupportedOperation":
                # Older kinds of machine show it only some minutes after the boot.
                answer = ec2.get_console_output(InstanceId=resource.id)
            elif self._is_absent(at, resource, error):
                return ""
            else:
                raise
        return answer.get("Output", "")

    # --- the end ------------------------------------------------------------------------------

    def _end(self, at: Login, *, resource: ProviderResource) -> None:
        ec2 = at.ec2(resource.region)
        try:
            if resource.kind == ResourceKind.MACHINE:
                ec2.terminate_instances(InstanceIds=[resource.id])
            else:
                part = PARTS[resource.kind]
                getattr(ec2, part.end)(**{part.id: resource.id})
        except ClientError as error:
            if not self._is_absent(at, resource, error):
                raise

    def _is_absent(self, at: Login, resource: ProviderResource, error: ClientError) -> bool:
        """True if a refusal means that there is no such thing: a policy that asks for our tag
        refuses what has none because it is not there."""
        if code(error) != "UnauthorizedOperation":
            return is_unknown(error)
        described = self._describe(at, resource=resource)
        return described.state in {ProviderResourceState.ABSENT, ProviderResourceState.GONE}


DRIVER = AwsDriver


# --- calls ----------------------------------------------------------------------------------------


def _rank(instance: Any) -> tuple[bool, int]:
    """Sort key: the first machine that lives is the launch's."""
    return instance["State"]["Name"] == "terminated", instance["AmiLaunchIndex"]


def _of_launch(ec2: "EC2Client", token: str) -> list[Any]:
    """Machine of an earlier launch with this token; the parameters have changed since, such as the
    image that a name stands for."""
    known = instances(ec2, Filters=filters(**{f"tag:{TOKEN}": token}))
    made = [resource for resource in known if refusal_of(resource) is None]
    if not made:
        raise DriverError(Reason.TIMEOUT, "the machine is made, not shown yet", retryable=True)
    return made


def _thing(thing: Mapping[str, Any], kind: ResourceKind, region: str) -> ProviderResource:
    marks = marks_of(thing)
    # Volumes alone have such states; what has none exists.
    is_ending = thing.get("State") in {"deleting", "deleted"}
    return ProviderResource(
        id=thing[PARTS[kind].id],
        state=ProviderResourceState.ENDING if is_ending else ProviderResourceState.RUNNING,
        kind=kind,
        token=marks.get(TOKEN, ""),
        installation=marks.get(MADE_BY, ""),
        region=region,
        zone=thing.get("AvailabilityZone", ""),
        expires_at=moment(marks.get(EXPIRES_AT)),
    )
