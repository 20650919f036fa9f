"""What an account at a cloud has spent this month, and its machines."""

from django.db.models import Case, IntegerField, QuerySet, Value, When

from backend.accounts.models import CloudAccount
from backend.benchmarks.costs import DEFAULT_CURRENCY, Cost
from backend.benchmarks.models import Resource, ResourceState
from backend.benchmarks.resources import account_taken
from backend.catalog.selectors import rate_table
from backend.domain.errors import UnknownRate
from backend.domain.units import EXACT


def account_month(account: CloudAccount) -> Cost:
    """What of this calendar month (UTC) is spent or reserved, in the budget's currency.

    `unknown` names the currencies that no rate converts.
    """
    currency = account.budget_currency or DEFAULT_CURRENCY
    rates = rate_table()
    unknown: dict[str, None] = {}
    known = EXACT.create_decimal(0)
    for money in account_taken(account):
        try:
            known = EXACT.add(known, rates.convert(money, currency).amount)
        except UnknownRate:
            unknown[money.currency] = None
    return Cost(known, currency, tuple(unknown))


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
