"""Writes of hosts and runs: what a person, the API or a command asks for."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from django.db import transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.benchmarks.calc.labels import check_labels
from backend.benchmarks.models import Campaign, Host, HostState, Run, RunState, Step
from backend.benchmarks.selectors.hosts import fingerprint
from backend.benchmarks.services.hosts import ARCHIVE_DRIVER, HostNotTrusted
from backend.benchmarks.services.queue_lock import schedule_lock
from backend.benchmarks.services.run_completion import run_ended
from backend.benchmarks.services.summaries import summaries_refresh
from backend.benchmarks.services.transitions import move, next_queued_due
from backend.catalog.selectors.current_prices import current_price
from backend.catalog.services.data_version import data_version_bump
from backend.core import clock
from backend.core.queue import Task, enqueue
from backend.foundation.errors import InvalidValue
from backend.measure.probes import NETWORK
from backend.measure.profiles import (
    CAREFUL,
    RENTED_ONLY,
    Value,
    check_own,
    check_parameters,
    check_probes,
    may_measure,
    profile_named,
)

# --- runs -------------------------------------------------------------------------------------


@transaction.atomic
def run_create(
    *,
    host: Host,
    profile: str,
    probes: Sequence[object] | None,
    parameters: dict[str, object],
    actor: str,
    labels: Mapping[str, object] = MappingProxyType({}),
    campaign: Campaign | None = None,
    round: int = 0,  # noqa: A002
) -> Run:
    """A run of a profile on a trusted host; it waits while another one involves that or its peer.

    `round` is the campaign's. Raises InvalidValue for what the profile does not know,
    HostNotTrusted with the fingerprint.
    """
    profile_named(profile)
    chosen = check_probes(probes)
    check_own(chosen)
    if is_shared(host):
        # Not for the caller to choose.
        parameters = parameters | {CAREFUL: True}
    values, named = check_parameters(parameters), check_labels(labels)
    for index, probe in enumerate(chosen or ()):
        if not may_measure(probe, values):
            detail = f"{probe} uses the disk, which belongs to others on a host in production"
            raise InvalidValue(f"/probes/{index}", detail)
    for name in RENTED_ONLY:
        if name in values:
            raise InvalidValue(f"/parameters/{name}", "only a machine that is rented has it")
    schedule_lock(workspace_id=host.workspace_id)
    # Read again under the lock: it may have been removed or distrusted meanwhile.
    host = Host.objects.select_related("offer").get(pk=host.pk)
    if host.driver == ARCHIVE_DRIVER:
        raise InvalidValue("/host", f"{host.name} came with an archive: nothing can run on it")
    if host.is_rented:
        raise InvalidValue("/host", f"{host.name} is rented for one run, and ends with it")
    if host.state != HostState.TRUSTED:
        raise HostNotTrusted(fingerprint(host.scanned_key) or None)
    peer = run_peer(host.workspace, host, values, chosen)
    # The network tests load both ends alike.
    if is_shared(peer):
        values = check_parameters(values | {CAREFUL: True})
    run = Run.objects.create(
        workspace=host.workspace,
        host=host,
        peer=peer,
        campaign=campaign,
        round=round,
        offer=host.offer,
        price=current_price(host.offer),
        profile=profile,
        probes=chosen,
        parameters=values,
        labels=named,
        requested_by=actor,
    )
    run_queue(run=run, actor=actor, detail={"host": host.name, "profile": profile})
    return run


def is_shared(*hosts: Host | None) -> bool:
    """True if others need one of the hosts: its runs have to be careful."""
    return any(host is not None and host.is_in_production for host in hosts)


def run_queue(*, run: Run, actor: str, detail: dict[str, object]) -> None:
    """Let a run that was just saved wait for its turn; the workspace is locked."""
    Step.objects.create(run=run, state=RunState.QUEUED)
    run.events.create(kind="created", detail=f"{run.profile} by {actor}")
    audit_record(actor=actor, action="run_create", target=run, detail=detail)
    _wake_next(run)


def run_peer(
    workspace: Workspace,
    host: Host | None,
    values: Mapping[str, Value],
    probes: Sequence[str] | None,
) -> Host | None:
    """The other end of the network tests; None where nothing is measured with one."""
    if "peer" not in values:
        if probes is not None and NETWORK in probes:
            raise InvalidValue("/probes", f"{NETWORK} needs a peer: the parameter peer names it")
        return None
    peer = Host.objects.filter(workspace=workspace, is_rented=False, pk=str(values["peer"])).first()
    if peer is None:
        raise InvalidValue("/parameters/peer", f"no host has the id {values['peer']}")
    if host is not None and peer.pk == host.pk:
        raise InvalidValue("/parameters/peer", "a host cannot be its own peer")
    if peer.state != HostState.TRUSTED:
        raise InvalidValue("/parameters/peer", f"the host key of {peer.name} is not approved")
    check_pair(host, peer)
    return peer


def check_pair(host: Host | None, peer: Host | None) -> None:
    """A worker has to reach both ends; raises InvalidValue for two machines of workers."""
    if host is None or peer is None or not (host.worker and peer.worker):
        return
    names = f"{host.name} and {peer.name}"
    if not (host.address or peer.address):
        detail = (
            f"{names} are both machines of workers, which cannot log in to each other: add one of "
            "them as a host over SSH"
        )
    elif host.worker != peer.worker:
        detail = f"{names} are reached by different workers only: {host.worker}, {peer.worker}"
    else:
        return
    raise InvalidValue("/parameters/peer", detail)


@transaction.atomic
def run_cancel(*, run: Run, actor: str) -> Run:
    """Ask for the end of a run; one that has not begun ends here. Ended runs stay as they are."""
    schedule_lock(workspace_id=run.workspace_id)
    # Steps before their run, as the workers do. A step that is made meanwhile is under way, and
    # whoever works on it sees the wish.
    steps = [step.pk for step in run.steps.select_for_update().order_by("id")]
    run = Run.objects.select_for_update().get(pk=run.pk)
    if run.is_finished or run.is_cancel_requested:
        return run
    run.is_cancel_requested = True
    run.save(update_fields=["is_cancel_requested"])
    audit_record(actor=actor, action="run_cancel", target=run)
    open_steps = run.steps.filter(pk__in=steps, finished_at=None)
    if run.state == RunState.QUEUED:
        open_steps.update(finished_at=clock.now(), next_due_at=None, lease_until=None)
        run_finish(run=run, state=RunState.CANCELLED)
    else:  # whoever waits for its next attempt looks at once
        open_steps.filter(lease_until=None).update(next_due_at=clock.now())
        enqueue(Task.TICK)
    return run


@transaction.atomic
def run_finish(*, run: Run, state: RunState, **fields: object) -> None:
    """End a run in a terminal state and let others on its hosts begin. Raises StaleState.

    A caller that holds a row of the run has called schedule_lock before it.
    """
    schedule_lock(workspace_id=run.workspace_id)
    move(run, state, **fields)
    run.events.create(kind="finished", detail=f"{state} {run.failure_reason}".strip())
    if run.samples.exists():
        data_version_bump()
        # Afterwards: whoever ends a run goes on to lock others.
        transaction.on_commit(summaries_refresh, robust=True)
    run_ended(run)
    _wake_next(run)


def run_failure_record(*, run: Run, fields: Mapping[str, object]) -> None:
    """Why a run that goes on to its end has failed; its state does not change yet."""
    Run.objects.filter(pk=run.pk).update(**fields)


def _wake_next(run: Run) -> None:
    """Make due what may begin now."""
    if next_queued_due(run):
        enqueue(Task.TICK)
