"""The life of a rented machine, from its key pair to the end of its ledger.

Of a run's rows the step is locked before the run, the run before its resource. The lock under which
budgets are compared (services.budgets) comes last, so that nobody who holds it waits for a row.
"""

import datetime as dt
from decimal import Decimal

from django.db import transaction

from backend.accounts.services.audit import audit_record
from backend.benchmarks.calc.rented_parts import (
    LedgerKind,
    hourly_price_of_parts,
    parts_of,
    traffic_cost,
)
from backend.benchmarks.models import (
    Host,
    HostState,
    LedgerEntry,
    Resource,
    ResourceState,
    RunState,
)
from backend.benchmarks.services.login_keys import fresh_private_key, host_key_seal
from backend.core import clock
from backend.providers.registry import provider as provider_record
from backend.providers.rentals import charges, round_to_column


@transaction.atomic
def create_rental_key(*, host: Host) -> None:
    """A fresh key pair for a rented host, sealed; one that is there stays."""
    _lock_host(host)
    # A machine may have been launched with the first key; another one would lock us out of it.
    if host.sealed_private_key is None:
        host_key_seal(host=host, private_key=fresh_private_key())
        host.save(update_fields=["sealed_private_key"])


@transaction.atomic
def pin_rental_host(*, host: Host, address: str, port: int, username: str, host_key: str) -> None:
    """Trust the key that the machine presents and its console showed, at that address."""
    _lock_host(host)
    host.address, host.port, host.username = address, port, username
    host.host_key = host.scanned_key = host_key
    host.scanned_at = clock.now()
    host.state = HostState.TRUSTED
    host.save()
    audit_record(actor="console", action="host_approve", target=host, detail={"address": address})


@transaction.atomic
def resource_set_zones(*, resource: Resource, zones: list[str]) -> None:
    """Keep where it is to be tried."""
    _lock(resource)
    resource.zones = zones
    resource.save(update_fields=["zones"])


@transaction.atomic
def resource_retry(*, resource: Resource) -> None:
    """Every zone was full and nothing was made: they are tried once more."""
    _lock(resource)
    if resource.state == ResourceState.RESERVED:
        resource.tried_zones = []
        resource.rounds += 1
        resource.save(update_fields=["tried_zones", "rounds"])


@transaction.atomic
def resource_mark_called(*, resource: Resource, zone: str) -> None:
    """To be saved before the provider is asked to launch it; its time begins with the first call
    that may have been heard."""
    _lock(resource)
    if resource.state not in (ResourceState.RESERVED, ResourceState.CALLED):
        return
    # A retry is the same launch: its time is not extended.
    if resource.state == ResourceState.RESERVED:
        resource.called_at = clock.now()
        resource.expires_at = resource.called_at + dt.timedelta(seconds=resource.lifetime_s)
    resource.state = ResourceState.CALLED
    resource.zone = zone
    resource.save()


@transaction.atomic
def resource_mark_refused(
    *, resource: Resource, error: str, is_certain: bool, is_tried: bool = True
) -> None:
    """The provider says no, and the zone counts as tried unless another one would say the same.
    When it is certain that no earlier call was heard either, no machine exists, at most parts."""
    _lock(resource)
    if is_tried:
        resource.tried_zones = [*resource.tried_zones, resource.zone]
    resource.last_error = error[:2000]
    if is_certain and resource.state == ResourceState.CALLED:
        resource.state = ResourceState.RESERVED
    resource.save()


@transaction.atomic
def resource_mark_created(
    *, resource: Resource, provider_id: str, launched_at: dt.datetime | None, zone: str = ""
) -> None:
    """The provider named the machine. What it says first counts; one that is gone stays so."""
    _lock(resource)
    resource.seen_at = clock.now()
    is_new = not resource.provider_id
    if is_new:
        resource.provider_id = provider_id
        resource.zone = zone or resource.zone
        _unbook_surplus(resource, provider_id)
    resource.launched_at = resource.launched_at or launched_at
    if resource.state in (ResourceState.RESERVED, ResourceState.CALLED):
        resource.state = ResourceState.CREATED
    resource.save()
    if is_new:
        _audit(resource, "resource_launch")


@transaction.atomic
def resource_mark_unplaced(*, resource: Resource, error: str) -> None:
    """The provider accepted the launch and then had no place for the machine: it never ran, costs
    nothing, and its zone counts as tried."""
    _lock(resource)
    if resource.state != ResourceState.CREATED:
        return
    _audit(resource, "resource_gone")
    resource.ledger.exclude(kind=LedgerKind.SURPLUS).delete()
    resource.tried_zones = [*resource.tried_zones, resource.zone]
    resource.provider_id, resource.launched_at = "", None
    resource.last_error = error[:2000]
    resource.state = ResourceState.RESERVED
    resource.save()


@transaction.atomic
def resource_mark_gone(*, resource: Resource, ended_at: dt.datetime | None) -> None:
    """The provider says that nothing of it is left: the ledger is closed at `ended_at`, or now,
    and its key destroyed. Saying it twice changes nothing."""
    _lock(resource)
    if resource.state == ResourceState.GONE:
        return
    resource.gone_at = ended_at or clock.now()
    if resource.provider_id:
        # Where the provider never said when it began: rather an hour too much than one too few.
        resource.launched_at = resource.launched_at or resource.called_at
        _record(resource, resource.gone_at)
        _audit(resource, "resource_gone")
    resource.state = ResourceState.GONE
    resource.save()
    # The address goes back to the provider, who may give it to somebody else: nothing of ours logs
    # in there any more.
    hosts = Host.objects.filter(runs__resource=resource, is_rented=True)
    hosts.update(state=HostState.GONE, sealed_private_key=None, bastion=None)


def _audit(resource: Resource, action: str) -> None:
    audit_record(
        actor=resource.run.requested_by,
        action=action,
        target=resource,
        detail={
            "run": str(resource.run_id),
            "account": resource.account.name,
            "machine_type": resource.machine_type,
            "region": resource.region,
            "provider_id": resource.provider_id,
        },
    )


def _lock(resource: Resource) -> None:
    """Read it anew and keep it until the end of the transaction."""
    resource.refresh_from_db(from_queryset=Resource.objects.select_for_update())


def _lock_host(host: Host) -> None:
    host.refresh_from_db(from_queryset=Host.objects.select_for_update())


# --- ledger -----------------------------------------------------------------------------------------


@transaction.atomic
def ledger_record(*, resource: Resource, until: dt.datetime) -> None:
    """Write down what the machine has cost up to that time, each hour of its life once.

    A later look corrects an earlier one; what is gone has been closed and stays.
    """
    _lock(resource)
    if resource.state != ResourceState.GONE:
        _record(resource, until)


def _record(resource: Resource, until: dt.datetime) -> None:
    if resource.launched_at is None or resource.hourly_amount is None:
        return
    # Step and reaper write the same hours, perhaps at once: the row of an hour is overwritten,
    # never added to.
    hourly = {LedgerKind.MACHINE: resource.hourly_amount}
    hourly |= {
        part.kind: part.hourly for part in parts_of(resource.parts) if part.hourly is not None
    }
    LedgerEntry.objects.bulk_create(
        [
            LedgerEntry(
                resource=resource,
                kind=kind,
                period_start=charge.period_start,
                seconds=charge.seconds,
                amount=round_to_column(charge.amount),
                currency=resource.currency,
            )
            for kind, amount in hourly.items()
            for charge in charges(
                provider_record(resource.account.provider).increment,
                amount,
                resource.launched_at,
                until,
            )
        ],
        update_conflicts=True,
        unique_fields=["resource", "kind", "period_start"],
        update_fields=["seconds", "amount", "currency"],
    )
    _record_traffic(resource, resource.launched_at)
    # An earlier look was by a clock that ran ahead, or the provider dates the end before it.
    late = resource.ledger.filter(period_start__gte=until)
    late.exclude(kind=LedgerKind.SURPLUS).delete()


@transaction.atomic
def surplus_record(
    *, resource: Resource, provider_id: str, since: dt.datetime, until: dt.datetime, is_over: bool
) -> None:
    """Write down what a further machine of the launch has cost up to that time. A later look corrects
    an earlier one, until one saw that it is over. A launch that is not answered yet has further ones only;
    the one that its answer names is taken out again."""
    _lock(resource)
    # Its run may have named it since it was seen.
    if provider_id == resource.provider_id or resource.surplus.get(provider_id, {}).get("is_over"):
        return
    life = {"since": since.isoformat(), "until": until.isoformat(), "is_over": is_over}
    resource.surplus[provider_id] = life
    resource.save(update_fields=["surplus"])
    if resource.hourly_amount is not None:
        _record_surplus(
            resource, resource.hourly_amount + hourly_price_of_parts(parts_of(resource.parts))
        )


def _unbook_surplus(resource: Resource, provider_id: str) -> None:
    """It is the machine of the launch itself, and was seen before that was known."""
    if resource.surplus.pop(provider_id, None) is None:
        return
    resource.ledger.filter(kind=LedgerKind.SURPLUS).delete()
    if resource.surplus and resource.hourly_amount is not None:
        _record_surplus(
            resource, resource.hourly_amount + hourly_price_of_parts(parts_of(resource.parts))
        )


def _record_surplus(resource: Resource, hourly: Decimal) -> None:
    lives = [
        (dt.datetime.fromisoformat(life["since"]), dt.datetime.fromisoformat(life["until"]))
        for life in resource.surplus.values()
    ]
    increment = provider_record(resource.account.provider).increment
    charged = [charge for life in lives for charge in charges(increment, hourly, *life)]
    LedgerEntry.objects.update_or_create(
        resource=resource,
        kind=LedgerKind.SURPLUS,
        # One entry, whenever each was made: of several that begin at once none is to be missing.
        period_start=resource.called_at or lives[0][0],
        defaults={
            "seconds": sum(charge.seconds for charge in charged),
            "amount": sum((round_to_column(charge.amount) for charge in charged), Decimal(0)),
            "currency": resource.currency,
        },
    )


def _record_traffic(resource: Resource, launched_at: dt.datetime) -> None:
    """Record the traffic that its run has sent, once that is known; all that it may send, where it
    never will be."""
    parts = parts_of(resource.parts)
    if not any(part.per_gb is not None for part in parts):
        return
    resource.run.refresh_from_db(fields=["sent_bytes"])
    sent = resource.run.sent_bytes
    if sent is None:
        client = getattr(resource.run, "client", resource.run)
        states = set(client.steps.values_list("state", flat=True))
        # Its results were never fetched: rather too much than too little.
        sent = None if RunState.RUNNING in states and RunState.PARSED not in states else 0
    LedgerEntry.objects.update_or_create(
        resource=resource,
        kind=LedgerKind.TRAFFIC,
        period_start=launched_at,
        defaults={
            "seconds": 0,
            "amount": round_to_column(traffic_cost(parts, sent)),
            "currency": resource.currency,
        },
    )
