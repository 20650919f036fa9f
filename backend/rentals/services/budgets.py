"""Budgets: a machine's highest cost is compared with each that it is paid from, before it is
rented."""

from decimal import Decimal
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q, Sum
from django.db.models.functions import Coalesce

from backend.accounts.models import CloudAccount
from backend.benchmarks.calc.rented_parts import kinds_without_price, parts_document
from backend.benchmarks.models import Resource, ResourcePurchase, ResourceState, Run
from backend.benchmarks.selectors.rental_prices import rental_price, rental_prices, run_sending
from backend.benchmarks.services.run_notes import event_record
from backend.catalog.models import Offer
from backend.catalog.selectors.extras import tariffs
from backend.catalog.selectors.rates import rate_table
from backend.foundation.errors import DomainError
from backend.money.money import Money
from backend.providers.rentals import Budget, Cap, refusal
from backend.rentals.selectors.spending import (
    COUNTED,
    machine_amounts,
    month_amounts,
    month_budget,
)

# The letters "rack": keeps these advisory locks apart from all others. The second number is the
# workspace's.
LOCK_CLASS = 0x7261636B


class BudgetExceeded(DomainError):
    """A launch does not fit into a budget; the text holds the figures."""


class QuotaReached(DomainError):
    """As many machines exist as the account allows; it is worth trying again later."""


@transaction.atomic
def resource_reserve(*, run: Run) -> None:
    """Reserve what the run's machine may cost at most, and count it in the account.

    At the price in force now, which becomes the run's. What is reserved already stays. Raises
    BudgetExceeded, and QuotaReached where it is worth trying again.
    """
    run = Run.objects.select_for_update(of=("self",)).select_related("campaign").get(pk=run.pk)
    locked = Resource.objects.select_for_update(of=("self",))
    resource = locked.select_related("offer__provider").get(run=run)
    if resource.state != ResourceState.REQUESTED:
        return
    is_spot = resource.purchase_model == ResourcePurchase.SPOT
    price = rental_prices([resource.offer_id], is_spot=is_spot).get(resource.offer_id)
    account = CloudAccount.objects.get(pk=resource.account_id)
    sending, mode = run_sending(run), resource.credit_mode
    price = rental_price(price, resource.offer, mode, account, tariffs(), sending=sending)
    if price is None:
        raise BudgetExceeded(f"no price is known for {resource.offer} any more")
    # Last of all locks, so that nobody who has it waits for a row (services.resources).
    _lock_budgets(run.workspace_id)
    account.refresh_from_db()
    cost = price.reserved(account.provider, resource.lifetime_s)
    _check_quota(account, run, resource.offer)
    _check_budgets(run, resource, account, cost)
    Resource.objects.filter(pk=resource.pk).update(
        state=ResourceState.RESERVED,
        price_id=price.observation_id,
        hourly_amount=price.hourly,
        parts=parts_document(price.parts),
        reserved_amount=cost.amount,
        currency=cost.currency,
    )
    if names := ", ".join(kinds_without_price(price.parts)):
        detail = f"{names}: no price is known in {resource.region}; no budget and no cost has it"
        event_record(run=run, kind="warning", detail=detail)
    Run.objects.filter(pk=run.pk).update(price_id=price.observation_id)


def _lock_budgets(workspace_id: UUID) -> None:
    """Until the end of the transaction nobody else reserves; each sees what the one before took."""
    with connection.cursor() as cursor:
        # The second key of an advisory lock is a signed number of 32 bits.
        key = workspace_id.int & 0x7FFF_FFFF
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [LOCK_CLASS, key])


def _check_quota(account: CloudAccount, run: Run, offer: Offer) -> None:
    # Worth trying again: whoever disables an account for a while does not mean to lose its runs.
    if not account.is_enabled:
        raise QuotaReached(f"the account {account.name} is not in use at present")
    count = account.resources.filter(state__in=COUNTED).count()
    if count >= account.max_machines:
        raise QuotaReached(
            f"{count} machines of the account {account.name} may exist, "
            f"all of the {account.max_machines} that are allowed"
        )
    if account.max_vcpus is not None:
        _check_vcpus(account, run, offer, account.max_vcpus)


def _check_vcpus(account: CloudAccount, run: Run, offer: Offer, most: int) -> None:
    # Both machines of a pair live at the same time.
    pair = Q(run__in=[run.pk, run.server_id]) | Q(run__server=run)
    offers = [resource.offer for resource in account.resources.filter(pair).select_related("offer")]
    names = " and ".join(offer.name for offer in offers)
    counts = [offer.vcpu_count for offer in offers if offer.vcpu_count is not None]
    needed = sum(counts, Decimal(0))
    if len(counts) < len(offers) or needed > most:
        known = "an unknown number" if len(counts) < len(offers) else f"{needed.normalize():f}"
        raise BudgetExceeded(
            f"vCPUs of {names}: {known} together, the account {account.name} allows {most} in all"
        )
    rented = account.resources.filter(state__in=COUNTED).aggregate(
        count=Coalesce(Sum("offer__vcpu_count"), Decimal(0))
    )["count"]
    own = offer.vcpu_count or Decimal(0)
    if rented + own > most:
        raise QuotaReached(
            f"machines with {rented.normalize():f} vCPUs of the account {account.name} may exist, "
            f"and {offer.name} has {own.normalize():f} of the {most} that are allowed"
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
        # Of a round: a campaign that repeats would else use its budget up and never run again.
        of_round = Resource.objects.filter(run__campaign=campaign, run__round=run.round)
        budget = Budget(campaign.budget_amount, campaign.budget_currency)
        caps.append(Cap("budget of the campaign's round", budget, machine_amounts(of_round)))
    monthly = month_budget(account)
    if monthly is not None:
        name = f"month's budget of the account {account.name}"
        caps.append(Cap(name, monthly, month_amounts(account)))
    return caps
