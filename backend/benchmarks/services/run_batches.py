"""Many runs of a campaign at once: made and cancelled with a few statements for all of them.

Each of these does to every run what its counterpart in services does to one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from uuid import UUID

from django.db import connection, transaction

from backend.accounts.services.audit import audit_record_all
from backend.benchmarks.models import (
    Campaign,
    Event,
    Host,
    HostState,
    Resource,
    Run,
    RunState,
    Step,
)
from backend.benchmarks.selectors.rentals import Rental, build_rental_host, build_resource
from backend.benchmarks.services.queue_lock import schedule_lock
from backend.benchmarks.services.run_completion import unlaunched_release
from backend.benchmarks.services.runs import check_pair, is_shared, run_cancel
from backend.benchmarks.services.transitions import campaign_queued_due, next_queued_due
from backend.catalog.selectors.current_prices import best_prices
from backend.catalog.selectors.price_choice import ON_DEMAND, PriceBasis
from backend.core import clock
from backend.core.queue import Task, enqueue
from backend.foundation.errors import InvalidValue
from backend.measure.profiles import CAREFUL, check_parameters, check_probes


@dataclass(frozen=True)
class RunRequest:
    """A run to be made, on a host or on a machine to rent: `peer` is the other end of its
    network tests."""

    host: Host | None
    peer: Host | None
    probes: list[str] | None
    parameters: Mapping[str, object]
    rental: Rental | None = None
    server: "RunRequest | None" = None
    """An earlier one, whose rented machine is the other end of this one's network tests."""


def runs_create(*, campaign: Campaign, requests: Sequence[RunRequest], actor: str) -> list[UUID]:
    """Queue the runs in this order, in the campaign's round; the hosts are trusted and the workspace
    is locked. Returns their ids."""
    prices = _prices({request.host.offer_id for request in requests if request.host is not None})
    runs: list[Run] = []
    made: dict[int, Run] = {}
    for request in requests:
        run = _run(campaign, request, prices, actor)
        if request.server is not None:
            run.server = made[id(request.server)]  # another repeat's is equal to it
            run.peer = run.server.host
            run.parameters["peer"] = str(run.peer.pk)
        made[id(request)] = run
        runs.append(run)
    Host.objects.bulk_create([run.host for run in runs if run.host.is_rented])
    Run.objects.bulk_create(runs)
    Resource.objects.bulk_create(
        [
            build_resource(run, request.rental, None)
            for run, request in zip(runs, requests, strict=True)
            if request.rental is not None
        ]
    )
    Step.objects.bulk_create([Step(run=run, state=RunState.QUEUED) for run in runs])
    _note(runs, "created", f"{campaign.profile} by {actor}")
    _audit(campaign, runs, "run_create", actor)
    if campaign_queued_due(campaign, runs):
        enqueue(Task.TICK)
    return [run.pk for run in runs]


def analyze() -> None:
    """Let PostgreSQL know how many rows there are now: until autovacuum looks, each end of a run
    would read all of them, with the workspace locked."""
    with connection.cursor() as cursor:
        for model in (Host, Run, Step):
            cursor.execute(f"ANALYZE {connection.ops.quote_name(model._meta.db_table)}")


def check_ends(host: Host | None, peer: Host | None) -> None:
    """Raises InvalidValue for a peer that is not trusted, or that the host cannot measure with."""
    if peer is not None and peer.state != HostState.TRUSTED:
        raise InvalidValue("/parameters/peer", f"the host key of {peer.name} is not approved")
    check_pair(host, peer)


def _run(campaign: Campaign, request: RunRequest, prices: Mapping[UUID, UUID], actor: str) -> Run:
    peer = request.peer
    parameters = dict(request.parameters)
    if is_shared(request.host, peer):
        parameters[CAREFUL] = True
        parameters.pop("install_tools", None)  # meant for the campaign's other hosts
    run = Run(
        workspace_id=campaign.workspace_id,
        peer=peer,
        campaign=campaign,
        round=campaign.round,
        profile=campaign.profile,
        probes=check_probes(request.probes),
        parameters=check_parameters(parameters),
        requested_by=actor,
    )
    if request.rental is not None:
        run.offer = request.rental.offer
        run.price_id = request.rental.price.observation_id
        run.host = build_rental_host(run, request.rental)
    elif request.host is not None:
        run.offer_id = request.host.offer_id
        run.price_id = prices.get(request.host.offer_id)
        run.host = request.host
    return run


def _prices(offer_ids: Iterable[UUID]) -> dict[UUID, UUID]:
    """The observation in force of each offer; see catalog.selectors.current_price."""
    offers = list(offer_ids)
    bought = best_prices(PriceBasis(term="purchase"), offers)
    # A price by time wins: of a purchase no share can be charged to a run.
    chosen = {**bought, **best_prices(PriceBasis(term=ON_DEMAND), offers)}
    return {offer_id: choice.observation_id for offer_id, choice in chosen.items()}


@transaction.atomic
def runs_cancel(*, campaign: Campaign, actor: str) -> int:
    """Ask for the end of all unfinished runs of a cancelled campaign; returns how many there were.

    Those that wait end here; then whoever waited behind them may begin.
    """
    schedule_lock(workspace_id=campaign.workspace_id)
    # Steps before their runs, as the workers do: nobody begins one of these meanwhile.
    waiting = Step.objects.filter(
        run__campaign=campaign, run__state=RunState.QUEUED, finished_at=None
    )
    steps = list(waiting.select_for_update(of=("self",)).order_by("id"))
    queued = Run.objects.filter(
        pk__in=[step.run_id for step in steps], state=RunState.QUEUED, is_cancel_requested=False
    )
    runs = list(queued.order_by("created_at", "id"))
    _end_queued(runs, steps)
    _note(runs, "finished", RunState.CANCELLED)
    _audit(campaign, runs, "run_cancel", actor)
    others = Run.objects.filter(campaign=campaign, finished_at=None)
    asked = [run_cancel(run=run, actor=actor) for run in others]
    # Few hosts have others waiting: a look for each of thousands of runs would be as many queries.
    waited_for = _hosts_waited_for(campaign)
    woken = [
        next_queued_due(run)
        for run in {(run.host_id, run.peer_id): run for run in runs}.values()
        if not waited_for.isdisjoint((run.host_id, run.peer_id))
    ]
    if any(woken):
        enqueue(Task.TICK)
    return len(runs) + len(asked)


def _hosts_waited_for(campaign: Campaign) -> set[UUID]:
    """Hosts that the workspace's queued runs involve."""
    waiting = Run.objects.filter(workspace=campaign.workspace_id, state=RunState.QUEUED)
    pairs = waiting.order_by().values_list("host_id", "peer_id").distinct()
    return set(filter(None, chain.from_iterable(pairs)))


def _end_queued(runs: Sequence[Run], steps: Sequence[Step]) -> None:
    now = clock.now()
    ended = {run.pk for run in runs}
    Step.objects.filter(pk__in=[step.pk for step in steps if step.run_id in ended]).update(
        finished_at=now, next_due_at=None, lease_until=None
    )
    Run.objects.filter(pk__in=ended).update(
        state=RunState.CANCELLED, is_cancel_requested=True, finished_at=now
    )
    unlaunched_release(ended)
    for run in runs:
        run.state, run.is_cancel_requested, run.finished_at = RunState.CANCELLED, True, now


# --- histories ----------------------------------------------------------------------------------------


def _note(runs: Iterable[Run], kind: str, detail: str) -> None:
    Event.objects.bulk_create([Event(run=run, kind=kind, detail=detail) for run in runs])


def _audit(campaign: Campaign, runs: Iterable[Run], action: str, actor: str) -> None:
    audit_record_all(
        workspace=campaign.workspace,
        actor=actor,
        action=action,
        targets=runs,
        detail={"campaign": str(campaign.pk)},
    )
