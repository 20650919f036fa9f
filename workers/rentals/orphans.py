"""Which of the resources that carry our tag at a provider nobody needs any more, and why."""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from backend.providers.machines import OVER, ProviderResource, ResourceKind

# Of clocks: a machine that is past its time ends by itself, this is for the one that did not.
MARGIN = dt.timedelta(minutes=5)


@dataclass(frozen=True)
class Launch:
    """A launch of ours, by its token."""

    is_over: bool
    """Its run has ended, or all of it was seen to be gone."""
    provider_id: str
    """Id of its machine; "" while it has none."""
    lifetime: dt.timedelta


@dataclass(frozen=True)
class Orphan:
    """A resource that has to go, and why, in words for a person."""

    thing: ProviderResource
    why: str


def orphans(
    listed: Sequence[ProviderResource],
    launches: Mapping[str, Launch],
    *,
    now: dt.datetime,
    settle: dt.timedelta,
) -> list[Orphan]:
    """Resources to end, of everything that the provider lists; machines first.

    `launches` by token must have been read after the provider was asked: a token is saved before
    it is used, so one that is missing here was never given out. Parts of a machine (key pair,
    disk, …) stay until it is gone and they are older than `settle`.
    """
    present = [thing for thing in listed if thing.state not in OVER]
    machines = [thing for thing in present if thing.kind == ResourceKind.MACHINE]
    parts = [thing for thing in present if thing.kind != ResourceKind.MACHINE]
    living = {machine.token for machine in machines}
    reasons = [
        *(
            (machine, _of_machine(machine, launches.get(machine.token), now))
            for machine in machines
        ),
        *((part, _of_part(part, launches.get(part.token), living, now - settle)) for part in parts),
    ]
    return [Orphan(thing, why) for thing, why in reasons if why]


def _of_machine(machine: ProviderResource, launch: Launch | None, now: dt.datetime) -> str:
    """Why it has to go; "" when it may stay."""
    if launch is None:
        return "no launch of ours is known for it"
    if launch.is_over:
        return "its run has ended"
    # Both carry the launch's token; the run knows one, so nobody would ever end the other.
    if launch.provider_id and launch.provider_id != machine.id:
        return "a second machine of one launch"
    # Both ends are the provider's word, and the later one counts: a worker's clock may be wrong.
    ends = [machine.expires_at, machine.launched_at and machine.launched_at + launch.lifetime]
    known = [end for end in ends if end is not None]
    return "it is past its time" if known and max(known) + MARGIN < now else ""


def _of_part(
    part: ProviderResource, launch: Launch | None, living: Collection[str], settled: dt.datetime
) -> str:
    if (part.token and part.token in living) or (launch is not None and not launch.is_over):
        return ""
    # Key pair and group are made before their machine, which is not listed yet.
    if part.launched_at is not None and part.launched_at > settled:
        return ""
    return "its machine is gone"
