"""Cost of a bill's machines elsewhere, at the prices and scores of the ranking."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from backend.bills.calc.beside import NO_SUPPLY, NOTHING_BESIDE, Beside
from backend.bills.calc.classes import ChargeKind
from backend.bills.calc.elsewhere import Alternative, alternatives, today_cost
from backend.bills.calc.replacing import Assumptions, Destination, Replacement, Work
from backend.bills.calc.volumes import BillVolume
from backend.bills.models import Bill
from backend.bills.selectors.metric import bill_metric
from backend.bills.selectors.supplies import Supplies
from backend.bills.selectors.works import BilledMachines, Uncompared, bill_months, figure
from backend.catalog.models import Offer, VcpuKind
from backend.catalog.selectors.data_version import DataStamp
from backend.catalog.selectors.rates import rate_table
from backend.core.rest.parameters import InvalidParameters
from backend.foundation.errors import UnknownRate
from backend.measure.credits import STANDARD, UNLIMITED
from backend.measure.metrics import METRICS
from backend.providers.registry import provider
from backend.rankings.selectors.basis_table import SCORES
from backend.rankings.selectors.query import BURST, RankingQuery
from backend.rankings.selectors.ranking import query_from, ranking, ratios_under_load
from backend.rankings.selectors.rows import RankingRow

# Forty hours of moving, an hour a month and server, at 60 an hour, in US dollars: to be changed.
DEFAULTS = Assumptions(moving_cost=2400, staff_per_server=60, spares=1, staff_hour=60)
DEFAULT_CURRENCY = "USD"
# Significant digits of a default in another currency: it is an assumption of that size.
DIGITS = 3
TARGETS: Mapping[str, Destination] = {
    "cloud": Destination.CLOUD,
    "vps": Destination.VPS,
    "dedicated": Destination.DEDICATED,
    "onprem": Destination.OWN,
}
# Ways to buy a year of a machine; the cheapest that an offer has counts.
COMMITMENTS = ("savings_1y", "reserved_1y", "committed_1y")


@dataclass(frozen=True)
class Elsewhere:
    """The machines of a bill that have a score, and where they could go."""

    metric: str
    currency: str
    assumed: Assumptions
    today: float
    """Monthly cost of the compared parts: those machines, with fees of commitments for those that
    were committed, disks, traffic, and services that may be run by oneself."""
    works: Sequence[Work]
    beside: Beside
    uncompared: Sequence[Uncompared]
    alternatives: Sequence[Alternative]


def default_assumptions(currency: str) -> Assumptions:
    """Defaults in the bill's currency, at the newest stored rate; as they are where it has none."""
    try:
        rate, _ = rate_table().rate(DEFAULT_CURRENCY, currency)
    except UnknownRate:
        return DEFAULTS
    names = ("moving_cost", "staff_per_server", "staff_hour")
    amounts: dict[str, Any] = {
        name: float(f"{getattr(DEFAULTS, name) * float(rate):.{DIGITS}g}") for name in names
    }
    return replace(DEFAULTS, **amounts)


def elsewhere(
    bill: Bill, stamp: DataStamp, *, metric: str = "", assumed: Assumptions | None = None
) -> Elsewhere:
    """The comparison of a bill, in a state of the data.

    InvalidParameters for a metric that is none, or of which less is better, and for a currency
    without an exchange rate.
    """
    assumed = assumed or default_assumptions(bill.currency)
    workspace_slug = bill.workspace.slug
    chosen = metric or bill_metric(bill, stamp)
    if chosen not in METRICS or METRICS[chosen].better != "higher":
        raise InvalidParameters([("metric", "a metric of which more is better is needed")])
    params = {"metric": [chosen], "period": ["month"], "currency": [bill.currency]}
    query, _ = query_from(params | {"available": ["TRUE"]}, workspace_slug=workspace_slug)
    ranked = ranking(query, workspace_slug=workspace_slug, stamp=stamp)
    fit = [row for row in ranked.rows if row.score and row.ram_gib and not row.is_unfit]
    rows = _at_list_prices(fit, query, stamp, workspace_slug)
    works, licence_cost, uncompared = BilledMachines(bill.estate, rows, assumed).works()
    beside = _beside(bill.estate, licence_cost)
    candidates = _candidates(
        rows,
        works,
        supplies=Supplies(rows, query) if beside != NOTHING_BESIDE else None,
        committed=_commitment_prices(query, stamp, workspace_slug),
    )
    return Elsewhere(
        metric=chosen,
        currency=bill.currency,
        assumed=assumed,
        today=today_cost(works, assumed, beside),
        works=works,
        beside=beside,
        uncompared=uncompared,
        alternatives=alternatives(works, candidates, assumed, beside),
    )


def _at_list_prices(
    rows: Sequence[RankingRow], query: RankingQuery, stamp: DataStamp, workspace_slug: str
) -> Sequence[RankingRow]:
    """The rows, those that rank with unlimited CPU credits as they are without: at the price that a
    bill shows for them, with the speed that they hold for it."""
    unlimited = {row.offer_id for row in rows if row.credit_mode == UNLIMITED}
    if not unlimited:
        return rows
    listed = ranking(replace(query, load=BURST), workspace_slug=workspace_slug, stamp=stamp)
    prices = {row.offer_id: row.price for row in listed.rows if row.offer_id in unlimited}
    keys = dict(Offer.objects.filter(slug__in=unlimited).values_list("slug", "pk"))
    ratios = ratios_under_load([*keys.values()], query.metric, workspace_slug=workspace_slug)
    return [
        _slow_row(row, prices[row.offer_id], ratios[keys[row.offer_id]])
        if row.offer_id in unlimited
        else row
        for row in rows
    ]


def _slow_row(row: RankingRow, price: Decimal | None, ratio: float) -> RankingRow:
    figures = {name: getattr(row, name) for name in SCORES}
    slowed = {name: value and value * ratio for name, value in figures.items()}
    return replace(row, price=price, credit_mode=STANDARD, **slowed)


def _beside(estate: Mapping[str, Any], licence_cost: float) -> Beside:
    """A month of it; `licence_cost` is for licences within the prices of machines. Bills that were
    imported before volumes were read have none."""
    months = bill_months(estate)

    def monthly(amount: Any) -> float:
        # What was credited back more than it was used is nothing to move.
        return max(float(Decimal(amount) / months), 0.0)

    kinds = {row["kind"]: row["cost"] for row in estate["by_kind"]}

    volumes = {row["volume"]: row for row in estate.get("volumes", [])}
    disk, egress = volumes.get(BillVolume.DISK), volumes.get(BillVolume.EGRESS)
    return Beside(
        disk_gb=monthly(disk["gb"]) if disk else 0.0,
        disk_cost=monthly(disk["cost"]) if disk else 0.0,
        egress_gb=monthly(egress["gb"]) if egress else 0.0,
        egress_cost=monthly(egress["cost"]) if egress else 0.0,
        managed_cost=monthly(kinds.get(ChargeKind.MANAGED, 0)),
        licence_cost=monthly(kinds.get(ChargeKind.LICENCE, 0)) + licence_cost,
    )


def _commitment_prices(
    query: RankingQuery, stamp: DataStamp, workspace_slug: str
) -> Mapping[str, Decimal]:
    """Slug of an offer → a month of it by the cheapest commitment of a year, where it has one."""
    prices: dict[str, Decimal] = {}
    for term in COMMITMENTS:
        # Without the charge for running on after the CPU credits.
        asked = replace(query, term=term, load=BURST)
        ranked = ranking(asked, workspace_slug=workspace_slug, stamp=stamp)
        for row in ranked.rows:
            if row.price is not None:
                prices[row.offer_id] = min(prices.get(row.offer_id, row.price), row.price)
    return prices


def _is_single(row: RankingRow) -> bool:
    # A fleet of one lot of an auction cannot be bought.
    single = provider(row.provider).single
    return single is not None and single.match(row.offer) is not None


def _candidates(
    rows: Sequence[RankingRow],
    works: Sequence[Work],
    *,
    supplies: Supplies | None,
    committed: Mapping[str, Decimal],
) -> Iterator[Replacement]:
    providers = {work.provider for work in works}
    for row in rows:
        target = TARGETS.get(row.kind)
        if target is None or row.price is None or _is_single(row):
            continue
        if target is Destination.CLOUD and row.provider in providers:
            target = Destination.SAME_PROVIDER
        by_commitment = committed.get(row.offer_id)
        yield Replacement(
            slug=row.offer_id,
            name=row.offer,
            provider=row.provider,
            target=target,
            score=figure(row),
            ram_gib=float(row.ram_gib or 0),
            cost_per_month=float(row.price),
            committed_per_month=None if by_commitment is None else float(by_commitment),
            is_burstable=row.vcpu_kind == VcpuKind.BURSTABLE,
            arch=row.arch or "",
            supply=supplies.of(row) if supplies else NO_SUPPLY,
            # One's own servers stand where one wants them.
            region_group="" if target is Destination.OWN else row.region_group or "",
        )
