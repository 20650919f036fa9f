"""Machines that are rented for a run: made with it, paid from budgets, closed in the ledger.

Of a run's rows the step is locked before the run, the run before its resource. The lock under which
budgets are compared comes last, so that nobody who holds it waits for a row.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from uuid import UUID

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from django.db import connection, transaction

from backend.accounts.models import CloudAccount, Workspace
from backend.accounts.services.audit import audit_record
from backend.benchmarks.models import (
    Campaign,
    Host,
    HostState,
    LedgerEntry,
    Resource,
    ResourcePurchase,
    ResourceState,
    Run,
)
from backend.benchmarks.selectors.costs import rental_prices
from backend.benchmarks.selectors.rentals import (
    check_currency,
    rentals,
    rented_host,
    rented_resource,
)
from backend.benchmarks.selectors.spending import COUNTED, account_taken, machines_cost
from backend.benchmarks.services.hosts import host_key_seal
from backend.benchmarks.services.queue_lock import schedule_lock
from backend.benchmarks.services.runs import run_peer, run_queue
from backend.catalog.models import Offer
from backend.catalog.selectors.rates import rate_table
from backend.common import clock
from backend.domain.errors import DomainError
from backend.domain.money import Money
from backend.domain.profiles import checked_parameters, checked_probes, profile_named
from backend.domain.rentals import Budget, Cap, charges, refusal, stored
from backend.providers.registry import provider as provider_record

LOCK_CLASS = 0x7261636B
"""Of the advisory locks; the second number is of the workspace."""


class BudgetExceeded(DomainError):
    """A launch does not fit into a budget; the text holds the figures."""


class QuotaReached(DomainError):
    """As many machines live as the account allows; later there may be room."""


# --- runs by offer --------------------------------------------------------------------------------


@transaction.atomic
def rented_run_create(
    *,
    workspace: Workspace,
    offer: Offer,
    profile: str,
    probes: Sequence[object] | None,
    parameters: Mapping[str, object],
    budget: Budget | None,
    actor: str,
    campaign: Campaign | None = None,
    round: int = 0,  # noqa: A002
) -> Run:
    """A run on a machine of the offer that is rented for it and ends with it.

    Raises InvalidValue for an offer that cannot be rented and for what the profile does not know.
    Whether the budgets allow it is seen when it begins.
    """
    profile_named(profile)
    chosen = checked_probes(probes)
    values = checked_parameters(parameters)
    check_currency(budget)
    schedule_lock(workspace_id=workspace.pk)
    (rental,) = rentals(
        workspace=workspace,
        offers=[Offer.objects.select_related("provider", "region").get(pk=offer.pk)],
        purchase_model=str(values.get("purchase_model", ResourcePurchase.ON_DEMAND)),
    )
    run = Run(
        workspace=workspace,
        peer=run_peer(workspace, None, values, chosen),
        campaign=campaign,
        round=round,
        offer=rental.offer,
        price_id=rental.price.observation_id,
        profile=profile,
        probes=chosen,
        parameters=values,
        requested_by=actor,
    )
    run.host = rented_host(run)
    run.host.save()
    run.save()
    rented_resource(run, rental, budget).save()
    run_queue(run=run, actor=actor, detail={"offer": offer.slug, "profile": profile})
    return run


# --- budgets --------------------------------------------------------------------------------------


@transaction.atomic
def resource_reserve(*, run: Run) -> None:
    """Reserve what the run's machine may cost at most, and its place in the account.

    At the price in force now, which becomes the run's. What is reserved already stays. Raises
    BudgetExceeded, and QuotaReached where it is worth trying again.
    """
    run = Run.objects.select_for_update(of=("self",)).select_related("campaign").get(pk=run.pk)
    resource = Resource.objects.select_for_update(of=("self",)).select_related("offer").get(run=run)
    if resource.state != ResourceState.WANTED:
        return
    is_spot = resource.purchase_model == ResourcePurchase.SPOT
    price = rental_prices([resource.offer_id], is_spot=is_spot).get(resource.offer_id)
    if price is None:
        raise BudgetExceeded(f"no price is known for {resource.offer} any more")
    _lock_budgets(run.workspace_id)
    account = CloudAccount.objects.get(pk=resource.account_id)
    cost = price.reserved(account.provider, resource.lifetime_s)
    _check_quota(account)
    _check_budgets(run, resource, account, cost)
    Resource.objects.filter(pk=resource.pk).update(
        state=ResourceState.RESERVED,
        price_id=price.observation_id,
        hourly_amount=price.hourly,
        reserved_amount=cost.amount,
        currency=cost.currency,
    )
    Run.objects.filter(pk=run.pk).update(price_id=price.observation_id)


def _lock_budgets(workspace_id: UUID) -> None:
    """Until the end of the transaction nobody else reserves; each sees what the one before took."""
    with connection.cursor() as cursor:
        key = workspace_id.int & 0x7FFF_FFFF
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [LOCK_CLASS, key])


def _check_quota(account: CloudAccount) -> None:
    if not account.is_enabled:
        raise QuotaReached(f"the account {account.name} is not in use at present")
    count = account.resources.filter(state__in=COUNTED).count()
    if count >= account.max_machines:
        raise QuotaReached(
            f"{count} machines of the account {account.name} may exist, "
            f"all of the {account.max_machines} that are allowed"
        )


def _check_budgets(run: Run, resource: Resource, account: CloudAccount, cost: Money) -> None:
    rates = rate_table()
    refusals = (refusal(cap, cost, rates) for cap in _caps(run, resource, account))
    why = next(filter(None, refusals), None)
    if why is not None:
        raise BudgetExceeded(why)


def _caps(run: Run, resource: Resource, account: CloudAccount) -> list[Cap]:
    """Every budget that the machine is paid from."""
    caps = []
    if resource.budget_amount is not None:
        own = Budget(resource.budget_amount, resource.budget_currency)
        caps.append(Cap("budget of the run", own))
    campaign = run.campaign
    if campaign is not None and campaign.budget_amount is not None:
        of_round = Resource.objects.filter(run__campaign=campaign, run__round=run.round)
        budget = Budget(campaign.budget_amount, campaign.budget_currency)
        caps.append(Cap("budget of the campaign's round", budget, machines_cost(of_round)))
    if account.budget_amount is not None:
        budget = Budget(account.budget_amount, account.budget_currency)
        name = f"month's budget of the account {account.name}"
        caps.append(Cap(name, budget, account_taken(account)))
    return caps


# --- the life of a machine --------------------------------------------------------------------------


@transaction.atomic
def rented_key_create(*, host: Host) -> None:
    """A fresh key pair for a rented host, sealed; one that is there stays."""
    _lock_host(host)
    if host.sealed_private_key is None:
        key = ed25519.Ed25519PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption(),
        )
        host_key_seal(host=host, private_key=key)
        host.save(update_fields=["sealed_private_key"])


@transaction.atomic
def rented_host_pin(*, host: Host, address: str, port: int, username: str, host_key: str) -> None:
    """Trust the key that the machine presents and its console showed, at that address."""
    _lock_host(host)
    host.address, host.port, host.username = address, port, username
    host.host_key = host.scanned_key = host_key
    host.scanned_at = clock.now()
    host.state = HostState.TRUSTED
    host.save()
    audit_record(
        workspace=host.workspace,
        actor="console",
        action="host_approve",
        target=host,
        detail={"address": address},
    )


@transaction.atomic
def resource_called(*, resource: Resource, zone: str) -> None:
    """To be saved before the provider is asked to launch it; its time begins with the first call
    that may have been heard."""
    _lock(resource)
    if resource.state not in (ResourceState.RESERVED, ResourceState.CALLED):
        return
    if resource.state == ResourceState.RESERVED:
        resource.called_at = clock.now()
        resource.expires_at = resource.called_at + dt.timedelta(seconds=resource.lifetime_s)
    resource.state = ResourceState.CALLED
    resource.zone = zone
    resource.save()


@transaction.atomic
def resource_refused(*, resource: Resource, error: str, is_certain: bool) -> None:
    """The provider says no, and the zone counts as tried. When it is certain that no earlier call
    was heard either, no machine exists, at most parts of it."""
    _lock(resource)
    resource.tried_zones = [*resource.tried_zones, resource.zone]
    resource.last_error = error[:2000]
    if is_certain and resource.state == ResourceState.CALLED:
        resource.state = ResourceState.RESERVED
    resource.save()


@transaction.atomic
def resource_created(
    *, resource: Resource, provider_id: str, launched_at: dt.datetime | None, zone: str = ""
) -> None:
    """The provider named the machine. What it says first counts; one that is gone stays so."""
    _lock(resource)
    resource.seen_at = clock.now()
    is_new = not resource.provider_id
    if is_new:
        resource.provider_id = provider_id
        resource.zone = zone or resource.zone
    resource.launched_at = resource.launched_at or launched_at
    if resource.state in (ResourceState.RESERVED, ResourceState.CALLED):
        resource.state = ResourceState.CREATED
    resource.save()
    if is_new:
        _audit(resource, "resource_launch")


@transaction.atomic
def resource_gone(*, resource: Resource, ended_at: dt.datetime | None) -> None:
    """The provider says that nothing of it is left: the ledger is closed at `ended_at`, or now,
    and its key destroyed. Saying it twice changes nothing."""
    _lock(resource)
    if resource.state == ResourceState.GONE:
        return
    resource.gone_at = ended_at or clock.now()
    if resource.provider_id:
        resource.launched_at = resource.launched_at or resource.called_at
        _record(resource, resource.gone_at)
        _audit(resource, "resource_gone")
    resource.state = ResourceState.GONE
    resource.save()
    hosts = Host.objects.filter(runs__resource=resource, is_rented=True)
    hosts.update(state=HostState.GONE, sealed_private_key=None)


def _audit(resource: Resource, action: str) -> None:
    audit_record(
        workspace=resource.workspace,
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
    LedgerEntry.objects.bulk_create(
        [
            LedgerEntry(
                resource=resource,
                period_start=charge.period_start,
                seconds=charge.seconds,
                amount=stored(charge.amount),
                currency=resource.currency,
            )
            for charge in charges(
                provider_record(resource.account.provider).increment,
                resource.hourly_amount,
                resource.launched_at,
                until,
            )
        ],
        update_conflicts=True,
        unique_fields=["resource", "period_start"],
        update_fields=["seconds", "amount", "currency"],
    )
    resource.ledger.filter(period_start__gte=until).delete()
