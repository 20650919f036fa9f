"""Asking for a rented machine: who we are, in which zones, one call after the other.

What is refused for want of capacity is asked for again, in the next zone and later; what may have been
heard is never asked for under another specification.
"""

import datetime as dt
import re
from collections.abc import Sequence
from operator import methodcaller

import asyncssh
from django.conf import settings
from django.db.models import Q

from backend.accounts.services.installation import installation_id
from backend.benchmarks.models import Resource, ResourcePurchase, ResourceState, Run, RunState, Step
from backend.benchmarks.services.leases import claim_of, fence
from backend.benchmarks.services.login_keys import host_private_key
from backend.core import clock
from backend.foundation.errors import DriverError, Reason
from backend.providers import machines
from backend.providers.machines import LaunchSpec
from backend.providers.rentals import next_zone, zones_to_try
from backend.rentals.selectors.resources import is_type_proven, resources_beside
from backend.rentals.services.resources import (
    create_rental_key,
    resource_mark_called,
    resource_mark_created,
    resource_mark_refused,
    resource_retry,
    resource_set_zones,
)
from workers.engine.steps import Move, Wait, failure_fields, jitter
from workers.rentals.provider_calls import ProviderCalls

# Our own machines fill it, and one may end at any moment.
QUOTA_RETRY_S = 10
# Between two rounds over the zones. Capacity comes back by minutes, not by seconds.
CAPACITY_RETRY_S = 120


def arm(run: Run, step: Step) -> Move:
    """See that the provider knows us, sells the type and would launch it, and make the key pair."""
    resource = run.resource
    provider = ProviderCalls(resource.account)
    # First: a refused login is named as such, and not as a type that is not sold.
    provider.ask(methodcaller("whoami"))
    offering = provider.ask(methodcaller("zones", resource.machine_type, resource.region))
    named = resource.account.settings.get("zones", {}).get(resource.region, [])
    zones = zones_to_try(named, offering)
    if zones is None:
        detail = f"{resource.machine_type} is sold in {', '.join(offering)} only"
        raise DriverError(Reason.UNSUPPORTED, detail, retryable=False)
    if not is_type_proven(resource):
        _rehearse(run, provider, zones)

    def stored() -> None:
        create_rental_key(host=run.host)
        resource_set_zones(resource=resource, zones=zones)

    return Move(RunState.LAUNCHING, effect=stored)


def _rehearse(run: Run, provider: ProviderCalls, zones: Sequence[str]) -> None:
    """Refused for good before anything is made: another plan or policy of the account is needed."""
    spec = _spec(
        run,
        zone=next(iter(zones), ""),
        expires_at=clock.now() + dt.timedelta(seconds=run.resource.lifetime_s),
        # Nothing is ever logged in to with it.
        private_key=asyncssh.generate_private_key("ssh-ed25519"),
    )
    try:
        provider.ask(lambda driver: driver.rehearse(spec))
    except DriverError as error:
        # The launch itself knows other zones and times.
        if not error.retryable:
            raise


def launch(run: Run, step: Step) -> Move | Wait:
    """Ask for the machine."""
    made = request_machine(run, step)
    if isinstance(made, Move | Wait):
        return made
    return Move(RunState.BOOTING, effect=lambda: store_handle(run.resource, made))


def request_machine(run: Run, step: Step) -> machines.ProviderResource | Move | Wait:
    """The machine as its provider names it; its launch token is saved before."""
    resource = run.resource
    zone = _zone(resource)
    if zone is None:
        return _no_capacity(run, step)
    expiry = resource.expires_at if resource.state == ResourceState.CALLED else None
    # Past its own expiry the machine would end at once, and a later expiry would be another
    # specification.
    if expiry is not None and expiry < clock.now():
        detail = f"no machine within {resource.lifetime_s} s: {step.last_error}"
        return Move(RunState.TEARING_DOWN, failure_fields(run, Reason.TIMEOUT, detail))
    provider = ProviderCalls(resource.account)
    # Refused at the first call nothing can have been made; later an earlier call may have been heard.
    is_first = resource.state == ResourceState.RESERVED
    # Before the call: a worker that dies during it leaves a row that says that a machine may exist.
    with fence(claim_of(step)):
        resource_mark_called(resource=resource, zone=zone)
    # Stored with the call: computed anew it would differ, and the provider would refuse the token.
    if resource.expires_at is None:
        raise ValueError("the resource was not saved as called")
    key = asyncssh.import_private_key(host_private_key(host=run.host))
    spec = _spec(run, zone=resource.zone, expires_at=resource.expires_at, private_key=key)
    token = str(resource.pk)
    try:
        made: machines.ProviderResource = provider.ask(methodcaller("launch", spec, token))
    except DriverError as error:
        is_full = error.reason == Reason.CAPACITY
        # A launch that lasts is asked for several times before its provider says no.
        is_first |= error.proves_none
        is_over_quota = error.reason == Reason.QUOTA
        if is_full or not error.retryable:
            with fence(claim_of(step)):
                resource_mark_refused(
                    resource=resource,
                    error=str(error),
                    is_certain=is_first,
                    is_tried=not is_over_quota,
                )
        if is_full:
            why = f"{zone or resource.region}: {error.detail}"
            # At once in the next zone: each has a capacity of its own.
            return Wait(0, why, is_progress=True)
        is_ours = is_over_quota and is_first and not _is_waited_for(run)
        if is_ours and resources_beside(resource).exists():
            # It is our own machines that fill the quota, and they end.
            return Wait(jitter(QUOTA_RETRY_S), str(error), is_progress=True)
        raise
    return made


def _zone(resource: Resource) -> str | None:
    """Where to try it: the zone of a call that may have been heard, else one that is not tried."""
    if resource.state == ResourceState.CALLED and resource.zone not in resource.tried_zones:
        return resource.zone
    return next_zone(resource.zones, resource.tried_zones)


def _no_capacity(run: Run, step: Step) -> Move | Wait:
    """Every zone is full: another round later, unless that has lasted too long or an earlier call
    may have been heard."""
    resource = run.resource
    waited_s = (clock.now() - step.created_at).total_seconds()
    # A call that may have been heard cannot be made under another specification, so no further round
    # either.
    is_called = resource.state != ResourceState.RESERVED
    if waited_s >= settings.CAPACITY_WAIT_S or is_called or _is_waited_for(run):
        return Move(
            RunState.TEARING_DOWN, failure_fields(run, Reason.CAPACITY, resource.last_error)
        )
    with fence(claim_of(step)):
        resource_retry(resource=resource)
    why = f"waiting for a free machine: {resource.last_error}"
    return Wait(jitter(CAPACITY_RETRY_S), why, is_progress=True)


def _is_waited_for(run: Run) -> bool:
    """True if the other machine of a pair is paid for meanwhile."""
    pair = Run.objects.filter(Q(client=run) | Q(server=run), resource__called_at__isnull=False)
    return pair.exists()


def store_handle(resource: Resource, made: machines.ProviderResource) -> None:
    """Keep what the provider named."""
    resource_mark_created(
        resource=resource, provider_id=made.id, launched_at=made.launched_at, zone=made.zone
    )


def _spec(
    run: Run, *, zone: str, expires_at: dt.datetime, private_key: asyncssh.SSHKey
) -> LaunchSpec:
    """The same for every call of a round."""
    resource = run.resource
    return LaunchSpec(
        machine_type=resource.machine_type,
        region=resource.region,
        zone=zone,
        arch=resource.arch,
        lifetime_s=resource.lifetime_s,
        expires_at=expires_at,
        public_key=private_key.export_public_key("openssh").decode().strip(),
        tag=str(resource.workspace_id),
        labels={
            "run": str(run.pk),
            "owner": _label(run.requested_by),
            machines.INSTALLATION: installation_id(),
        },
        is_spot=resource.purchase_model == ResourcePurchase.SPOT,
        credit_mode=resource.credit_mode,
        round=resource.rounds,
    )


def _label(text: str) -> str:
    # Google Cloud allows the least in a label: small letters, digits and dashes, at most 63 of
    # them.
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "unknown"
