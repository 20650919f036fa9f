"""Amounts of a plain table against the list prices of its machines."""

from decimal import Decimal

from backend.accounts.models import Workspace
from backend.benchmarks.services.current_data import current_stamp
from backend.bills.calc.estate import Estate
from backend.bills.calc.unit_prices import refuse_unclear
from backend.bills.services.reading import Reading
from backend.core.rest.parameters import InvalidParameters
from backend.foundation.units import HOURS_PER_MONTH
from backend.rankings.selectors.ranking import query_from, ranking


def check_prices(reading: Reading, estate: Estate, workspace: Workspace) -> None:
    """UnclearPrice where list prices contradict how the amounts of a table were read."""
    unclear = [machine for machine, sums in reading.prices.items() if sums[0] != sums[1]]
    if not unclear:
        return
    prices = _list_prices(estate.currency, workspace)
    hours = {machines.key: machines.hours for machines in estate.machines}
    for machine in unclear:
        hourly = prices.get((machine.provider, machine.machine_type.lower()))
        if hourly is None or machine not in hours:
            continue
        of_unit, of_line = reading.prices[machine]
        refuse_unclear(
            machine.machine_type,
            of_unit=of_unit,
            of_line=of_line,
            listed=hourly * hours[machine],
            is_unit=reading.is_price_of_unit,
            currency=estate.currency,
        )


def _list_prices(currency: str, workspace: Workspace) -> dict[tuple[str, str], Decimal]:
    """The lowest list price of an hour by provider and type; {} without an exchange rate."""
    params = {"period": ["month"], "currency": [currency], "available": ["TRUE"]}
    prices: dict[tuple[str, str], Decimal] = {}
    try:
        query, _ = query_from(params, workspace_slug=workspace.slug)
        rows = ranking(query, workspace_slug=workspace.slug, stamp=current_stamp()).everyone
    except InvalidParameters:
        return prices
    for row in rows:
        if row.price is not None:
            key, hourly = (row.provider, row.offer.lower()), row.price / HOURS_PER_MONTH
            prices[key] = min(prices.get(key, hourly), hourly)
    return prices
