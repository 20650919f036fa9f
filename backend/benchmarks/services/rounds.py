"""The runs of a round, made some hundreds at a time: the workspace is locked for each part alone, so
that nobody waits for ten thousand. What is still to be made is written down with the part that was;
whoever comes next, such as the tick after a crash, goes on there.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from uuid import UUID

from django.db import transaction

from backend.benchmarks.models import Campaign, Host, HostState, RoundStart
from backend.benchmarks.selectors.costs import PAIR_PROBES, host_probes
from backend.benchmarks.selectors.rentals import Rental, rentals
from backend.benchmarks.services.queue_lock import schedule_lock
from backend.benchmarks.services.run_batches import RunRequest, analyze, check_ends, runs_create
from backend.benchmarks.services.run_completion import campaign_end_if_over
from backend.catalog.models import Offer
from backend.measure.profiles import INSTALL_TOOLS, RENTED_ONLY, rental_parameters

# The lock is there for a fraction of a second then.
BATCH = 200
# As few need no new statistics of the tables.
ANALYZE_RUNS = 1000
# A host or a machine to rent, and the other end of a network pair, which is of the same kind.
Machine = tuple[Host | Rental, Host | Rental | None]
# Host, offer to rent, other end: a host or an offer.
Key = tuple[str | None, str | None, str | None]


def round_begin(*, campaign: Campaign, machines: Sequence[Machine], actor: str) -> None:
    """Note what the round is to measure, in this order; `round_continue` makes the runs. The
    workspace is locked. Raises InvalidValue for ends that cannot measure each other."""
    named_peer = _peer_of(campaign)
    for machine, peer in machines:
        end = peer or named_peer
        if not isinstance(end, Rental):
            check_ends(machine if isinstance(machine, Host) else None, end)
    keys = [_key(machine, peer) for machine, peer in machines]
    RoundStart.objects.create(campaign=campaign, requests=keys, actor=actor)


def round_continue(*, campaign: Campaign, seconds: float | None = None) -> list[UUID]:
    """Make what is still to be made of the round, or as much as can be begun within the seconds.
    Returns the ids of the runs, in their order."""
    begun_s, made = time.monotonic(), list[UUID]()
    while RoundStart.objects.filter(pk=campaign.pk).exists():
        made += _part_create(campaign)
        if seconds is not None and time.monotonic() - begun_s >= seconds:
            break
    if len(made) >= ANALYZE_RUNS:
        analyze()
    return made


@transaction.atomic
def _part_create(campaign: Campaign) -> list[UUID]:
    schedule_lock(workspace_id=campaign.workspace_id)
    # Read under the lock: somebody else may make the same round, or have cancelled it.
    start = RoundStart.objects.select_related("campaign__workspace").filter(pk=campaign.pk).first()
    if start is None:
        return []
    campaign = start.campaign
    keys = start.requests[start.made_count : start.made_count + BATCH]
    start.made_count += len(keys)
    requests = list(_requests(campaign, keys))
    made = runs_create(campaign=campaign, requests=requests, actor=start.actor)
    if start.made_count < len(start.requests):
        start.save(update_fields=["made_count"])
    else:
        start.delete()
        campaign_end_if_over(campaign)  # those made before may have ended, and none be added
    return made


# --- what is noted of a machine, and made of the note -----------------------------------------------


def _key(machine: Host | Rental, peer: Host | Rental | None) -> Key:
    end = None if peer is None else str(peer.pk if isinstance(peer, Host) else peer.offer.pk)
    if isinstance(machine, Host):
        return str(machine.pk), None, end
    return None, str(machine.offer.pk), end


def _requests(campaign: Campaign, keys: Sequence[Key]) -> Iterator[RunRequest]:
    """Without those of hosts that were removed or distrusted meanwhile."""
    ends = {end for host, _, peer in keys for end in (host, peer) if end}
    hosts = Host.objects.select_related("offer").filter(pk__in=ends, state=HostState.TRUSTED)
    machines: dict[str, Host | Rental] = {str(host.pk): host for host in hosts}
    if of_offers := {end for _, offer, peer in keys if offer for end in (offer, peer) if end}:
        offers = campaign_offers(campaign)
        again = [offer for offer in offers if str(offer.pk) in of_offers]
        machines |= {
            str(campaign_rental.offer.pk): campaign_rental
            for campaign_rental in campaign_rentals(campaign, again)
        }
    named_peer = _peer_of(campaign)
    for host, offer, peer in keys:
        machine, end = machines.get(host or offer or ""), machines.get(peer or "")
        if isinstance(machine, Rental) and isinstance(end, Rental):
            yield from _pair_requests(campaign, machine, end)
        elif machine is not None and (peer is None or end is not None):
            yield _request(campaign, machine, end if isinstance(end, Host) else None, named_peer)


def _request(
    campaign: Campaign, machine: Host | Rental, peer: Host | None, named_peer: Host | None
) -> RunRequest:
    """A run of the machine by itself, with the peer that the parameters may name, or of a pair."""
    host, rental = (machine, None) if isinstance(machine, Host) else (None, machine)
    # Purchase and lifetime are settings of machines to rent, and refused for any other run.
    parameters: dict[str, object] = {
        name: value
        for name, value in campaign.parameters.items()
        if rental is not None or name not in RENTED_ONLY
    }
    # Nothing stated stays so: what is usual differs for machines that are rented.
    if campaign.install_tools or (rental is not None and campaign.install_tools is not None):
        parameters[INSTALL_TOOLS] = campaign.install_tools
    if rental is not None:
        parameters = rental_parameters(parameters)
    if peer is not None:
        return RunRequest(host, peer, PAIR_PROBES, {**parameters, "peer": str(peer.pk)})
    return RunRequest(host, named_peer, host_probes(campaign), parameters, rental)


def _pair_requests(campaign: Campaign, client: Rental, server: Rental) -> list[RunRequest]:
    """A run of each machine: first the one that serves, which the other one needs."""
    serving = replace(_request(campaign, server, None, None), probes=PAIR_PROBES)
    return [serving, replace(serving, rental=client, server=serving)]


def campaign_offers(campaign: Campaign) -> list[Offer]:
    """The machines that the campaign rents, with provider and region."""
    return list(campaign.offers.select_related("provider", "region"))


def campaign_rentals(campaign: Campaign, offers: Sequence[Offer]) -> list[Rental]:
    """How they are rented now; raises InvalidValue by their place among these."""
    return rentals(
        workspace=campaign.workspace,
        offers=offers,
        parameters=campaign.parameters,
        field="/offers/{}",
    )


def _peer_of(campaign: Campaign) -> Host | None:
    """The peer of all runs of the campaign, where its parameters name one."""
    named = campaign.parameters.get("peer")
    if named is None:
        return None
    return Host.objects.get(workspace=campaign.workspace_id, pk=str(named))
