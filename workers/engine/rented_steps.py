"""Steps of a machine that is rented for the run: from the budget to its first login, and its end.
Nothing here knows one provider from another.

Whatever happens between a call and what is written of it, the step is done again with the same
launch token and the same specification: no call makes a second machine.
"""

import asyncio
import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import methodcaller

from django.conf import settings

from backend.benchmarks.models import (
    HostState,
    Resource,
    ResourceState,
    Run,
    RunState,
    Step,
)
from backend.benchmarks.services.leases import claim_of, fence
from backend.benchmarks.services.results import boot_store
from backend.benchmarks.services.steps import step_wake
from backend.core import clock
from backend.foundation.errors import DriverError, Reason
from backend.measure.readers.boot import BootTimes, UnknownBootTime, boot_seconds, boot_times
from backend.providers import machines
from backend.providers.base import ProviderRecord
from backend.providers.host_keys import host_key
from backend.providers.registry import provider as provider_record
from backend.rentals.services.budgets import BudgetExceeded, QuotaReached, resource_reserve
from backend.rentals.services.resources import (
    ledger_record,
    pin_rental_host,
    resource_mark_gone,
    resource_mark_unplaced,
)
from workers.engine import steps
from workers.engine.launching import QUOTA_RETRY_S, arm, launch, request_machine, store_handle
from workers.engine.steps import Move, Wait, failing, failure_fields, jitter
from workers.remote import ssh
from workers.remote.driver import HostKeyChanged
from workers.remote.greeting import Greeting, greet
from workers.rentals.provider_calls import NoCallLeft, ProviderCalls
from workers.rentals.surplus import surplus_book
from workers.time_limits import step_seconds

# How soon the provider is asked again whether it is done, at first and at most: calls come from a bucket.
LOOK_S = (1.0, 10.0)
LOGIN_S = 20
# Of the time to boot, within which a machine that runs has its address.
NO_ADDRESS_SHARE = 3
NO_ADDRESS = "the machine runs without an IPv4 address that workers may log in to"
ADDRESS_ADVICE = (
    "Name a subnet that gives public IPv4 addresses, or set Address of the account to private"
)
# How long a part that costs nothing may outlast its machine before the reaper is left with it.
PARTS_S = 60


def _age_s(step: Step) -> float:
    return (clock.now() - step.created_at).total_seconds()


def _trouble_s(run: Run, step: Step) -> float:
    """How long the provider has been in trouble at most: a launch may have waited before it."""
    began = max(step.created_at, run.resource.called_at or step.created_at)
    return (clock.now() - began).total_seconds()


def _look_s(step: Step) -> float:
    """When to ask again: the longer it has taken, the later."""
    least, most = LOOK_S
    # A fifth of the age: looks add at most that share to what the run waits.
    return jitter(min(most, max(least, _age_s(step) / 5)))


def handle_of(resource: Resource) -> machines.ProviderResource:
    """The machine as the driver knows it."""
    return machines.ProviderResource(
        id=resource.provider_id,
        state=machines.ProviderResourceState.PENDING,
        token=str(resource.pk),
        region=resource.region,
        zone=resource.zone,
        launched_at=resource.launched_at,
    )


Handler = Callable[[Run, Step], Move | Wait]


def patient(handler: Handler) -> Handler:
    """Wait where the bucket is empty; before the first login, wait for a provider that is
    throttling us or out of order, for as long as a machine may take to boot."""

    def waiting(run: Run, step: Step) -> Move | Wait:
        try:
            return handler(run, step)
        except NoCallLeft as none:
            return Wait(jitter(none.seconds), str(none), is_progress=True)
        except DriverError as error:
            if step.state == RunState.TEARING_DOWN or not error.retryable:
                raise
            trouble_s = _trouble_s(run, step)
            # Not retryable from here on, so that the run fails and its budget is free again.
            if trouble_s > _boot_limit_s(run.resource):
                raise DriverError(error.reason, error.detail, retryable=False) from error
            return Wait(jitter(max(1, trouble_s / 2)), str(error), is_progress=True)

    return waiting


# --- up to the first login ------------------------------------------------------------------------


def reserve(run: Run, step: Step) -> Move | Wait:
    """Take its place in the account and what it may cost from the budgets."""
    # Before anything is paid for: the peer's key cannot be approved while a machine waits.
    if run.peer is not None and run.server is None and run.peer.state != HostState.TRUSTED:
        detail = f"the host key of {run.peer.name} is not approved"
        return Move(RunState.FAILED, failure_fields(run, Reason.AUTH, detail))
    client: Run | None = getattr(run, "client", None)
    if (why := _too_short(run)) is not None:
        return Move(RunState.FAILED, failure_fields(run, Reason.UNSUPPORTED, why))
    try:
        # Both of a pair or none: a machine that waits for a place of the other one costs money.
        with fence(claim_of(step)):
            for run_of_pair in filter(None, (run, client)):
                resource_reserve(run=run_of_pair)
    except BudgetExceeded as error:
        return Move(RunState.FAILED, failure_fields(run, Reason.QUOTA, str(error)))
    except QuotaReached as error:
        return Wait(jitter(QUOTA_RETRY_S), str(error), is_progress=True)
    begin_too = partial(step_wake, run=client) if client is not None else None
    return Move(RunState.BUDGET_RESERVED, {"started_at": clock.now()}, effect=begin_too)


def _too_short(run: Run) -> str | None:
    """Why the machine's life does not hold what is to be measured; None when it does."""
    # Any port: how long the network tests take depends on whether they run, not on the port.
    port = 1 if run.peer is not None else None
    needed_s = math.ceil(steps.plan_of(run, peer_port=port).likely_s)
    life_s, last_login_s = run.resource.lifetime_s, _record(run.resource).last_login_s
    if needed_s + last_login_s <= life_s:
        return None
    return (
        f"measuring takes about {needed_s} s and the machine lives {life_s} s, of which the last "
        f"{last_login_s} s are for its end: lifetime_s must be larger"
    )


def _record(resource: Resource) -> ProviderRecord:
    return provider_record(resource.account.provider)


def boot(run: Run, step: Step) -> Move | Wait:
    """Until the first login, in another zone where the provider had no place in the first."""
    if not run.resource.provider_id:
        return _launch_again(run, step)
    provider = ProviderCalls(run.resource.account)
    machine = provider.described(handle_of(run.resource))
    if machine.refusal is not None:
        return _try_next_zone(run, step, machine)
    return _log_in(run, step, provider, machine)


def _log_in(
    run: Run, step: Step, provider: ProviderCalls, machine: machines.ProviderResource
) -> Move | Wait:
    """The machine runs, and its console shows the key that it presents."""
    resource = run.resource
    why = _end_reason(resource, machine)
    if why is not None:
        return failing(run, Reason.INTERRUPTED, why)
    if machine.state != machines.ProviderResourceState.ABSENT:
        with fence(claim_of(step)):
            store_handle(resource, machine)
    if machine.state != machines.ProviderResourceState.RUNNING:
        return _not_yet(resource, step, "the machine starts")
    if not machine.address:
        return _without_address(resource, step)
    try:
        return _first_login(run, step, provider, machine)
    except HostKeyChanged:
        # It has the reason auth as well, but another key than the pinned one is never waited out.
        raise
    except DriverError as error:
        # The key pair of a machine that boots is not yet let in.
        if not error.retryable and error.reason != Reason.AUTH:
            raise
        return _not_yet(resource, step, str(error))


def _try_next_zone(run: Run, step: Step, machine: machines.ProviderResource) -> Move | Wait:
    """The machine never ran. Where capacity was missing another zone may have some."""
    resource = run.resource
    why = f"{resource.zone or resource.region}: {machine.detail}"
    if machine.refusal != Reason.CAPACITY:
        return failing(run, machine.refusal or Reason.UNSUPPORTED, why)
    # Until then it stands in the provider's lists, and would count as a machine of the next launch.
    if machine.state not in machines.OVER:
        return _not_yet(resource, step, why)
    with fence(claim_of(step)):
        resource_mark_unplaced(resource=resource, error=why)
    return Wait(0, why, is_progress=True)


def _launch_again(run: Run, step: Step) -> Move | Wait:
    """In the next zone, or later in all of them, as the launch itself does."""
    made = request_machine(run, step)
    if isinstance(made, Move | Wait):
        return made
    with fence(claim_of(step)):
        store_handle(run.resource, made)
    return Wait(_look_s(step), "the machine starts", is_progress=True)


def _not_yet(resource: Resource, step: Step, why: str) -> Wait:
    """Later; DriverError when the machine should have been there by now."""
    if _is_late(resource):
        detail = f"no login within {_boot_limit_s(resource)} s: {why}"
        raise DriverError(Reason.TIMEOUT, detail, retryable=False)
    return Wait(_look_s(step), why, is_progress=True)


def _without_address(resource: Resource, step: Step) -> Wait:
    """An address comes with the machine, so it is waited for less long than a login."""
    if _call_duration_s(resource) > _boot_limit_s(resource) / NO_ADDRESS_SHARE:
        raise DriverError(Reason.UNSUPPORTED, f"{NO_ADDRESS}. {ADDRESS_ADVICE}", retryable=False)
    return Wait(_look_s(step), NO_ADDRESS, is_progress=True)


def _boot_limit_s(resource: Resource) -> int:
    return _record(resource).boot_limit_s(resource.machine_type, settings.BOOT_LIMIT_S)


def _is_late(resource: Resource) -> bool:
    """True if somebody should have logged in by now."""
    return _call_duration_s(resource) > _boot_limit_s(resource)


def _call_duration_s(resource: Resource) -> float:
    called_at = resource.called_at or clock.now()
    return (clock.now() - called_at).total_seconds()


def _first_login(
    run: Run, step: Step, provider: ProviderCalls, machine: machines.ProviderResource
) -> Move | Wait:
    resource, host = run.resource, run.host
    if host.state != HostState.TRUSTED:
        shown = provider.ask(methodcaller("console_fingerprint", machine))
        if shown is None:
            return _not_yet(resource, step, "the console does not show the host key yet")
        presented = asyncio.run(
            ssh.scan(
                machine.address,
                machine.port,
                is_private_allowed=settings.SSH_ALLOW_PRIVATE,
                first_type=shown.type,
                via=steps.target_of(host.bastion) if host.bastion else None,
            )
        )
        # Nothing was sent yet: whoever answers at the address has not shown that it is our machine.
        if (key := host_key(presented)) != shown:
            detail = f"it presents the host key {key}, but its console shows {shown}"
            if not _is_late(resource):
                # It may have shown its new keys before its SSH server took them over.
                return Wait(_look_s(step), detail, is_progress=True)
            return failing(run, Reason.AUTH, detail)
        with fence(claim_of(step)):
            pin_rental_host(
                host=host,
                address=machine.address,
                port=machine.port,
                username=machine.username,
                host_key=presented,
            )
    greeting = steps.on_host(
        host,
        lambda transport: greet(transport, timeout_s=LOGIN_S),
        seconds=min(LOGIN_S, step_seconds()),
    )
    waited_s = (clock.now() - (resource.called_at or step.created_at)).total_seconds()
    detail = f"the first login came {waited_s:.1f} s after the machine was asked for"
    try:
        seconds, times = _boot_seconds(resource, greeting)
    except UnknownBootTime as error:
        return Move(RunState.REACHABLE, events=(("boot", f"{detail}; boot time unknown: {error}"),))
    detail = f"ready {seconds:.1f} s after its launch, by its own clock; {detail}"
    return Move(
        RunState.REACHABLE,
        effect=lambda: boot_store(run=run, seconds=seconds, kernel_s=times.ready_s),
        events=(("boot", detail),),
    )


def _boot_seconds(resource: Resource, greeting: Greeting) -> tuple[float, BootTimes]:
    """Raises UnknownBootTime."""
    if resource.launched_at is None:
        raise UnknownBootTime("the provider does not say when it was launched")
    times = boot_times(greeting.text)
    seconds = boot_seconds(
        times,
        launched_at=resource.launched_at,
        asked_at=greeting.asked_at,
        answered_at=greeting.answered_at,
    )
    return seconds, times


# --- while it runs --------------------------------------------------------------------------------


def _end_reason(resource: Resource, machine: machines.ProviderResource) -> str | None:
    """Why the machine is no more, by the provider's word; None while it may live."""
    known = resource.launched_at or resource.called_at
    settled = dt.timedelta(seconds=settings.PROVIDER_SETTLE_S)
    if machine.state == machines.ProviderResourceState.ABSENT:
        # Providers list what they make only after a while; before that its absence means nothing.
        if known is not None and clock.now() > known + settled:
            return "the provider does not know the machine"
        return None
    if machine.state in (
        machines.ProviderResourceState.ENDING,
        machines.ProviderResourceState.GONE,
    ):
        return f"the provider ended the machine: {machine.detail or machine.state}"
    return None


def why_ended(run: Run) -> str | None:
    """Asks the provider why the machine is no more; None while it lives or nobody knows."""
    resource = run.resource
    if resource.state == ResourceState.GONE:
        return "the machine is gone"
    try:
        machine = ProviderCalls(resource.account).described(handle_of(resource))
    # No word is no proof: the run goes on as if the host were only silent.
    except (NoCallLeft, DriverError):
        return None
    return _end_reason(resource, machine)


def look_after(run: Run, step: Step) -> Move | Wait:
    """A running run whose host fell silent: it is over at once when the machine is no more."""
    why = why_ended(run)
    if why is None:
        return Wait(0, step.last_error, is_progress=True)
    return failing(run, Reason.INTERRUPTED, why)


# --- its end --------------------------------------------------------------------------------------


def end(run: Run, step: Step) -> Move | Wait:
    """Terminate all that the launch made, and wait until the provider agrees that it is gone.

    The machine itself is not tidied up; the other end of the network tests is.
    """
    resource, left_behind = run.resource, ""
    if resource.state != ResourceState.GONE and resource.called_at is not None:
        provider = ProviderCalls(resource.account, is_end=True)
        machine, left = _machines_of(provider, resource, step)
        is_gone = machine is not None and machine.state == machines.ProviderResourceState.GONE
        unsettled_s = 0.0 if is_gone else _settling_s(resource, step)
        # The machine of a launch without an answer may not be listed before its parts are, and may end with
        # them: nobody would ever know of it, nor what it cost.
        if left and (resource.provider_id or unsettled_s <= 0):
            with fence(claim_of(step)):
                # It goes on costing until the provider says that it is over.
                ledger_record(resource=resource, until=clock.now())
            try:
                _terminate(provider, left)
            except DriverError as error:
                # What is in use for minutes, as groups of AWS may be, costs nothing; the reaper ends it.
                is_costless = all(resource.kind in machines.COSTLESS for resource in left)
                if not (is_gone and is_costless and _age_s(step) > PARTS_S):
                    raise
                left_behind = f"{_leftover_words(left)}, which costs nothing: {error}"
            else:
                return Wait(_look_s(step), _leftover_words(left), is_progress=True)
        if unsettled_s > 0:
            why = "the provider may not list it yet"
            return Wait(min(unsettled_s, LOOK_S[1]), why, is_progress=True)
        with fence(claim_of(step)):
            resource_mark_gone(resource=resource, ended_at=machine.ended_at if machine else None)
    moved = steps.tear_down(run, step)
    return Move(
        moved.target,
        event=left_behind,
        effect=lambda: resource_mark_gone(resource=resource, ended_at=None),
    )


def _machines_of(
    provider: ProviderCalls, resource: Resource, step: Step
) -> tuple[machines.ProviderResource | None, Sequence[machines.ProviderResource]]:
    """The machine as the provider describes it, and everything of the launch that is left."""
    tag, token = str(resource.workspace_id), str(resource.pk)
    region = resource.region
    listed = provider.listed(tag, token=token, region=region)
    by_id = {resource.id: resource for resource in listed if resource.token == token}
    rented = [
        resource for resource in by_id.values() if resource.kind == machines.ResourceKind.MACHINE
    ]
    if rented and not resource.provider_id:  # the answer to its launch was lost
        with fence(claim_of(step)):
            store_handle(resource, rented[0])
    for entry in rented:
        if entry.id != resource.provider_id:
            with fence(claim_of(step)):
                surplus_book(resource, entry, clock.now())
    described = None
    if resource.provider_id:
        described = provider.described(handle_of(resource))
        # The answer about one thing is newer than a list, which may lag.
        by_id[described.id] = described
    left = [resource for resource in by_id.values() if resource.state not in machines.OVER]
    return described, left


def _terminate(provider: ProviderCalls, left: Sequence[machines.ProviderResource]) -> None:
    """Ask for the end of each, also when one is refused; raises the first refusal then."""
    errors = []
    is_machine_left = any(resource.kind == machines.ResourceKind.MACHINE for resource in left)
    for resource in left:
        try:
            provider.ask(methodcaller("terminate", resource))
        except DriverError as error:
            # A group or a disk cannot go before the machine: the next look asks again.
            is_part = is_machine_left and resource.kind != machines.ResourceKind.MACHINE
            if not (is_part and error.retryable and error.reason == Reason.UNSUPPORTED):
                errors.append(error)
    if errors:
        raise errors[0]


def _leftover_words(left: Sequence[machines.ProviderResource]) -> str:
    names = ", ".join(f"{resource.kind} {resource.id} {resource.state}" for resource in left[:5])
    return f"still there: {names}"


def _settling_s(resource: Resource, step: Step) -> float:
    """Seconds for which "nothing is there" may only mean that the provider does not list it
    yet. A launch that was refused for certain made nothing; one that was not answered may have
    been heard until we gave it up."""
    if resource.state == ResourceState.RESERVED:
        return 0
    latest = resource.called_at or step.created_at
    if not resource.provider_id:
        latest = max(latest, step.created_at)
    elif resource.launched_at is not None:
        latest = max(latest, resource.launched_at)
    return settings.PROVIDER_SETTLE_S - (clock.now() - latest).total_seconds()


# Those of a machine that stands, with what is different for a rented one.
HANDLERS: Mapping[RunState, Handler] = {
    **steps.HANDLERS,
    RunState.QUEUED: reserve,
    RunState.BUDGET_RESERVED: patient(arm),
    RunState.LAUNCHING: patient(launch),
    RunState.BOOTING: patient(boot),
    RunState.RUNNING: look_after,
    RunState.TEARING_DOWN: patient(end),
}
