"""What the machines of a bill would cost elsewhere, at the prices and scores of the ranking."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from backend.bills.models import Bill
from backend.bills.selectors.supplies import Supplies
from backend.catalog.models import VcpuKind
from backend.catalog.selectors.data_version import DataStamp
from backend.common.rest.parameters import InvalidParameters
from backend.domain.bills.beside import NO_SUPPLY, NOTHING_BESIDE, Beside
from backend.domain.bills.classes import ChargeKind, Purchase
from backend.domain.bills.elsewhere import Alternative, alternatives, today_cost
from backend.domain.bills.replacing import Assumptions, Destination, Figure, Replacement, Work
from backend.domain.bills.volumes import BillVolume
from backend.domain.metrics import METRICS
from backend.domain.units import HOURS_PER_MONTH
from backend.providers.registry import provider
from backend.rankings.selectors.default_metric import default_metric
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.ranking import query_from, ranking
from backend.rankings.selectors.rows import RankingRow

# Forty hours of moving, an hour a month and server, at 60 an hour, in whatever currency: to be
# changed.
DEFAULTS = Assumptions(moving_cost=2400, staff_per_server=60, spares=1)
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
    """What is compared costs a month: those machines, with fees of commitments for those that were
    committed, disks, traffic, and services that may be run by oneself."""
    works: Sequence[Work]
    beside: Beside
    uncompared: Sequence[tuple[str, Decimal]]
    """Types without a score or memory in the catalogue, and what they were billed with."""
    alternatives: Sequence[Alternative]


def elsewhere(
    bill: Bill, stamp: DataStamp, *, metric: str = "", assumed: Assumptions = DEFAULTS
) -> Elsewhere:
    """Of a bill, in a state of the data.

    InvalidParameters for a metric that is none, or of which less is better, and for a currency
    without an exchange rate.
    """
    workspace_slug = bill.workspace.slug
    chosen = metric or default_metric(stamp, workspace_slug)
    if chosen not in METRICS or METRICS[chosen].better != "higher":
        raise InvalidParameters([("metric", "a metric of which more is better is needed")])
    params = {"metric": [chosen], "period": ["month"], "currency": [bill.currency]}
    query, _ = query_from(params | {"available": ["TRUE"]}, workspace_slug=workspace_slug)
    ranked = ranking(query, workspace_slug=workspace_slug, stamp=stamp)
    rows = [row for row in ranked.rows if row.score and row.ram_gib and not row.is_unfit]
    works, uncompared = _works(bill.estate, rows, is_spread=assumed.spread_commitments)
    beside = _beside(bill.estate)
    candidates = _candidates(
        rows,
        works,
        supplies=Supplies(rows, query) if beside != NOTHING_BESIDE else None,
        committed=_committed(query, stamp, workspace_slug),
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


def _works(
    estate: Mapping[str, Any], rows: Sequence[RankingRow], *, is_spread: bool
) -> tuple[list[Work], list[tuple[str, Decimal]]]:
    known: dict[tuple[str, str], dict[str | None, RankingRow]] = {}
    for row in rows:
        known.setdefault((row.provider, row.offer.lower()), {})[row.region] = row
    fees = _fees_an_hour(estate)
    works, uncompared = [], []
    for one in estate["machines"]:
        regions = known.get((one["provider"], one["type"].lower()), {})
        own = regions.get(one["region"]) or next(iter(regions.values()), None)
        hours, mean = Decimal(one["hours"]), float(one["count"])
        # Hours that were credited back more than they ran are no machine.
        if own is None or mean <= 0:
            uncompared.append((one["type"], Decimal(one["cost"])))
            continue
        cost = Decimal(one["effective_cost"] if is_spread else one["cost"])
        if one["purchase"] == Purchase.COMMITTED and not is_spread:
            cost += fees * hours
        month = cost * HOURS_PER_MONTH / Decimal(estate["hours"])
        works.append(
            Work(
                name=own.offer,
                provider=own.provider,
                mean=mean,
                # Machines are whole, also where the bill only says for how long.
                peak=math.ceil(round(max(one["peak"] or 0, mean), 6)),
                score=_figure(own),
                ram_gib=float(own.ram_gib or 0),
                cost_per_month=float(month),
                week=one["week"],
                base=min(one["week"], default=one["always_on"] if one["peak"] else mean),
                is_burstable=own.vcpu_kind == VcpuKind.BURSTABLE,
                arch=own.arch or "",
            )
        )
    return works, uncompared


def _fees_an_hour(estate: Mapping[str, Any]) -> Decimal:
    """What commitments cost for each hour of a machine that was committed."""
    fees = [Decimal(one["cost"]) for one in estate["by_kind"] if one["kind"] == "commitment"]
    hours = [
        Decimal(one["hours"]) for one in estate["machines"] if one["purchase"] == Purchase.COMMITTED
    ]
    total = sum(hours, Decimal(0))
    return sum(fees, Decimal(0)) / total if total else Decimal(0)


def _figure(row: RankingRow) -> Figure:
    value = row.score or 0.0
    return Figure(value, row.score_ci95_low or value, row.score_ci95_high or value)


def _beside(estate: Mapping[str, Any]) -> Beside:
    """A month of it. Bills that were imported before volumes were read have none."""
    month = Decimal(HOURS_PER_MONTH) / Decimal(estate["hours"] or 1)

    def monthly(amount: Any) -> float:
        # What was credited back more than it was used is nothing to move.
        return max(float(Decimal(amount) * month), 0.0)

    volumes = {one["volume"]: one for one in estate.get("volumes", [])}
    disk, egress = volumes.get(BillVolume.DISK), volumes.get(BillVolume.EGRESS)
    managed = [one["cost"] for one in estate["by_kind"] if one["kind"] == ChargeKind.MANAGED]
    return Beside(
        disk_gb=monthly(disk["gb"]) if disk else 0.0,
        disk_cost=monthly(disk["cost"]) if disk else 0.0,
        egress_gb=monthly(egress["gb"]) if egress else 0.0,
        egress_cost=monthly(egress["cost"]) if egress else 0.0,
        managed_cost=monthly(managed[0]) if managed else 0.0,
    )


def _committed(query: RankingQuery, stamp: DataStamp, workspace_slug: str) -> Mapping[str, Decimal]:
    """Slug of an offer → a month of it by the cheapest commitment of a year, where it has one."""
    prices: dict[str, Decimal] = {}
    for term in COMMITMENTS:
        ranked = ranking(replace(query, term=term), workspace_slug=workspace_slug, stamp=stamp)
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
    providers = {one.provider for one in works}
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
            score=_figure(row),
            ram_gib=float(row.ram_gib or 0),
            cost_per_month=float(row.price),
            committed_per_month=None if by_commitment is None else float(by_commitment),
            is_burstable=row.vcpu_kind == VcpuKind.BURSTABLE,
            arch=row.arch or "",
            supply=supplies.of(row) if supplies else NO_SUPPLY,
        )
