"""Spending of a cloud account this month, and its machines."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Case, IntegerField, Q, QuerySet, Sum, Value, When

from backend.accounts.models import CloudAccount
from backend.benchmarks.models import LedgerEntry, Resource, ResourceState
from backend.benchmarks.selectors.costs import DEFAULT_CURRENCY, Cost, part_of
from backend.benchmarks.selectors.rental_prices import parts_without_price
from backend.catalog.selectors.rates import rate_table
from backend.core import clock
from backend.foundation.errors import UnknownRate
from backend.foundation.units import EXACT
from backend.money.money import Money
from backend.providers.rentals import Budget
from backend.rentals.selectors.leaks import RENTS

# States in which a machine counts in its account and its budgets.
COUNTED = (ResourceState.RESERVED, ResourceState.CALLED, ResourceState.CREATED)


def month_budget(account: CloudAccount) -> Budget | None:
    """The most that a calendar month may cost there; None = no cap but those of the runs."""
    if account.budget_amount is None:
        return None
    return Budget(account.budget_amount, account.budget_currency)


def account_month(account: CloudAccount) -> Cost:
    """Amount spent or reserved in this calendar month (UTC), in the budget's currency.

    `unknown` names the currencies that no rate converts, and parts of machines without a price.
    """
    currency = account.budget_currency or DEFAULT_CURRENCY
    rates = rate_table()
    unknown: dict[str, None] = {}
    known = EXACT.create_decimal(0)
    for money in month_amounts(account):
        try:
            known = EXACT.add(known, rates.convert(money, currency).amount)
        except UnknownRate:
            unknown[money.currency] = None
    unknown |= dict.fromkeys(_parts_without_price(account))
    return Cost(known, currency, tuple(unknown))


def month_ledger(account: CloudAccount, first: dt.date, end: dt.date) -> dict[str, Money]:
    """By token of the launch, what the ledger has from the first day to the day before `end` (UTC)."""
    entries = LedgerEntry.objects.filter(
        resource__account=account,
        period_start__gte=dt.datetime.combine(first, dt.time(), dt.UTC),
        period_start__lt=dt.datetime.combine(end, dt.time(), dt.UTC),
    )
    sums = entries.values_list("resource_id", "currency").annotate(Sum("amount"))
    return {str(token): Money(amount, currency) for token, currency, amount in sums.order_by()}


@dataclass(frozen=True)
class AccountFigures:
    """Figures of an account where machines are rented, for the monitoring."""

    account: str
    """Its id: a name may say more than a monitoring should know."""
    provider: str
    look_age_s: float
    """Since its machines were last listed; before the first time since it was made."""
    failed_looks: int
    spent: Decimal
    """Amount spent or reserved in this calendar month (UTC)."""
    budget: Decimal | None
    currency: str


def account_figures() -> Iterator[AccountFigures]:
    now = clock.now()
    for account in CloudAccount.objects.filter(RENTS).order_by("created_at"):
        month, budget = account_month(account), month_budget(account)
        yield AccountFigures(
            account=str(account.pk),
            provider=account.provider,
            look_age_s=(now - (account.reaped_at or account.created_at)).total_seconds(),
            failed_looks=account.failed_looks,
            spent=month.known,
            budget=budget.amount if budget else None,
            currency=month.currency,
        )


def machines_rented(account: CloudAccount) -> QuerySet[Resource]:
    """The account's machines with their runs and offers: those that may exist first, then the
    newest."""
    is_gone = Case(
        When(state=ResourceState.GONE, then=Value(1)),
        default=Value(0),
        output_field=IntegerField(),
    )
    machines = account.resources.select_related("run__host", "offer", "account")
    return machines.order_by(is_gone, "-created_at")


def month_amounts(account: CloudAccount) -> list[Money]:
    """Spent and reserved amounts of the account's budget in this calendar month (UTC)."""
    return machine_amounts(account.resources.all(), since=_month_start())


def _month_start() -> dt.datetime:
    now = clock.now().astimezone(dt.UTC)
    return now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def _parts_without_price(account: CloudAccount) -> Iterator[str]:
    """Parts without a known price, of the machines that `month_amounts` adds up."""
    gone = Q(ledger__period_start__gte=_month_start(), state=ResourceState.GONE)
    counted = account.resources.filter(gone | Q(state__in=COUNTED)).order_by()
    columns = ("parts", "machine_type", "state", "provider_id")
    for resource in counted.only(*columns).distinct("machine_type", "parts"):
        for kind in parts_without_price(resource):
            yield part_of(kind, resource.machine_type)


def machine_amounts(
    machines: QuerySet[Resource], *, since: dt.datetime | None = None
) -> list[Money]:
    """Costs of the machines: of those that are gone the final one, since then; of the others the
    reserved amount, or the cost so far where that is more."""
    spent = LedgerEntry.objects.filter(
        Q() if since is None else Q(period_start__gte=since),
        resource__in=machines.filter(state=ResourceState.GONE).order_by(),
    )
    sums = spent.order_by().values_list("currency").annotate(Sum("amount"))
    # A living machine counts as a whole, whenever it began: it may still spend all that is
    # reserved. One that does not go away costs more than that.
    alive = machines.filter(state__in=COUNTED).order_by().annotate(charged=Sum("ledger__amount"))
    return [
        *(Money(amount, currency) for currency, amount in sums),
        *(
            Money(max(reserved or Decimal(0), charged or Decimal(0)), currency)
            for reserved, charged, currency in alive.values_list(
                "reserved_amount", "charged", "currency"
            )
        ),
    ]
