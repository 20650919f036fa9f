"""Two machines that are rented to measure the network between them, each for a run of its own.

The server's run begins first and reserves for both, so that no machine is paid for while the other one
has no place. It waits in `prepared` until the client's run has measured. Neither outlives the other one's
failure, and nobody waits for capacity while a machine is paid for.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import methodcaller

from django.db import transaction

from backend.benchmarks.models import TERMINAL_STATES, Resource, Run, RunState, Step
from backend.benchmarks.services.runs import run_cancel, run_failure_record
from backend.benchmarks.services.steps import step_wake
from backend.foundation.errors import Reason
from workers.engine import rented_steps
from workers.engine.rented_steps import Handler, handle_of, patient
from workers.engine.steps import Move, Wait, failing, failure_fields, jitter
from workers.rentals.provider_calls import ProviderCalls

# How often a run looks whether the other one is ready or over; whose step comes to its end wakes it.
LOOK_S = 5
# The machine of a server that waits may be taken away, which its provider is asked about this often.
ASK_S = 20
OVER = frozenset({RunState.TEARING_DOWN, RunState.VERIFIED_GONE, *TERMINAL_STATES})
MEASURED = OVER | {RunState.COLLECTING, RunState.PARSED}
ENGINE = "engine"


def handlers_of(run: Run) -> Mapping[RunState, Handler]:
    """Handlers of each state for the run's rented machine."""
    return HANDLERS if other_of(run) is not None else rented_steps.HANDLERS


def other_of(run: Run) -> Run | None:
    """The run of the other machine; None for a run that is no part of a pair."""
    # Where the other side of a one-to-one relation has no row, Django raises an AttributeError.
    client: Run | None = getattr(run, "client", None)
    return run.server or client


def _together(handler: Handler) -> Handler:
    """The same, unless the other run is over: then there is nothing left to measure."""

    def working(run: Run, step: Step) -> Move | Wait:
        other = other_of(run)
        # The server's machine is needed until the client has measured, the client's while the
        # server's is there.
        if other is not None and other.state in (MEASURED if other.server else OVER):
            return _over(run, other)
        return handler(run, step)

    return working


def _over(run: Run, other: Run) -> Move:
    """To the end that the other run is heading for or has come to."""
    outcome = RunState(other.state if other.is_finished else other.outcome)
    if other.failure_reason:
        detail = f"the other machine of the pair, {other.host.name}: {other.failure_detail}"
        fields = failure_fields(run, Reason(other.failure_reason), detail)
    else:
        fields = {"outcome": outcome}
    if run.state != RunState.QUEUED:
        return Move(RunState.TEARING_DOWN, fields)
    # Nothing was reserved or made for it yet, so there is nothing that a teardown would clean.
    is_cancelled = outcome == RunState.CANCELLED
    return Move(RunState.CANCELLED if is_cancelled else RunState.FAILED, fields)


def _begin(run: Run, step: Step) -> Move | Wait:
    """The server's run is the first one, and reserves for both."""
    if run.server is not None and run.server.state == RunState.QUEUED:
        return Wait(LOOK_S, "the other machine of the pair comes first", is_progress=True)
    return rented_steps.HANDLERS[RunState.QUEUED](run, step)


def _meet(run: Run, step: Step) -> Move | Wait:
    """Once the server's machine can be logged in to, too: it lets the client's in, nobody else."""
    server = run.server
    if server is None:  # the server's own look at its machine
        return rented_steps.HANDLERS[RunState.REACHABLE](run, step)
    if server.state != RunState.PREPARED:
        why = f"the other machine of the pair, {server.host.name}, is not ready yet"
        return Wait(LOOK_S, why, is_progress=True)
    at, comes_from = _addresses(run.resource, server.resource)
    provider = ProviderCalls(server.resource.account)
    said = provider.ask(methodcaller("let_in", handle_of(server.resource), comes_from))
    moved = rented_steps.HANDLERS[RunState.REACHABLE](run, step)
    if isinstance(moved, Wait):
        return moved
    run.live = {**run.live, "peer_address": at}
    fields = {**moved.fields, "live": run.live}
    met = f"{_ends(run.resource, server.resource)}; {said}"
    return replace(moved, fields=fields, events=(*moved.events, ("peer", met)))


def _ends(client: Resource, server: Resource) -> str:
    """Ends that the figures are between, in words."""
    zones = [
        (machine.account.provider, machine.zone or machine.region) for machine in (client, server)
    ]
    kind = "zone" if client.zone and server.zone else "region"
    same = f"in one {kind}" if zones[0] == zones[1] else f"not in one {kind}"
    named = (
        f"{machine.machine_type} in {machine.zone or machine.region}"
        for machine in (client, server)
    )
    return f"{' to '.join(named)}, {same}"


def _addresses(client: Resource, server: Resource) -> tuple[str, str]:
    """Where the client reaches the server, and from where it comes: within the network that both
    are in, where they are, else by their public addresses."""
    if (client.account_id, client.region) == (server.account_id, server.region):
        shown = [
            ProviderCalls(machine.account).described(handle_of(machine)).private_address
            for machine in (server, client)
        ]
        if all(shown):
            return shown[0], shown[1]
    return server.run.host.address, client.run.host.address


def _serve(run: Run, step: Step) -> Move | Wait:
    """The server's machine is there for the client's run, whose steps use it."""
    if run.server is not None:
        return rented_steps.HANDLERS[RunState.PREPARED](run, step)
    # Its first look at the machine was a moment ago, and each further one is a call.
    why = rented_steps.why_ended(run)
    if why is not None:
        return failing(run, Reason.INTERRUPTED, why)
    return Wait(jitter(ASK_S), "the other machine of the pair measures", is_progress=True)


def _end(run: Run, step: Step) -> Move | Wait:
    """Its own end, of which the other run is told first."""
    other = other_of(run)
    if other is not None and other.state not in OVER:
        if other.server is not None and other.state == RunState.RUNNING:
            _end_client(other, run)
        step_wake(run=other)
    return rented_steps.HANDLERS[RunState.TEARING_DOWN](run, step)


def _end_client(client: Run, server: Run) -> None:
    """Its runner is ended and what it has measured is kept; a worker that dies here does it again."""
    if client.is_cancel_requested:
        return
    detail = f"the other machine of the pair, {server.host.name}, has ended"
    fields = failure_fields(
        client, Reason.INTERRUPTED, f"{detail}: {server.failure_detail}".rstrip(": ")
    )
    with transaction.atomic():
        client = run_cancel(run=client, actor=ENGINE)
        run_failure_record(run=client, fields=fields)


_SPECIAL: Mapping[RunState, Callable[[Run, Step], Move | Wait]] = {
    RunState.QUEUED: _begin,
    RunState.REACHABLE: patient(_meet),
    RunState.PREPARED: patient(_serve),
}
HANDLERS: Mapping[RunState, Handler] = {
    state: _together(_SPECIAL.get(state, handler)) if state not in MEASURED else handler
    for state, handler in rented_steps.HANDLERS.items()
} | {RunState.TEARING_DOWN: _end}
