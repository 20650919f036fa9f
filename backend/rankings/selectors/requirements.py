"""From a requirement to fleets of offers: what the ranking knows of them, solved in whole servers.

What a server costs in a month of so many hours is what the ranking says under the same parameters.
Traffic is that of the fleet: it is priced for all its servers together, where they stand.
"""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.catalog.models import Offer, PriceObservation
from backend.catalog.selectors.data_version import DataStamp
from backend.catalog.selectors.extras import Tariffs, tariffs, tariffs_of
from backend.catalog.selectors.rates import rate_table
from backend.core.rest.parameters import InvalidParameters, boolean
from backend.core.work import calculation
from backend.foundation.errors import InvalidDocument, UnknownRate
from backend.foundation.texts import text as _
from backend.foundation.units import BYTES_PER_GB, EXACT, exact_decimal
from backend.measure.credits import STANDARD
from backend.measure.metrics import CPU_METRICS, METRICS
from backend.measure.stats import UNFIT
from backend.money.money import RateTable
from backend.money.pricing.extras import DISK, EGRESS, Included, Tariff, Tiers, inclusions_of
from backend.rankings.calc.conclusions import name_list
from backend.rankings.calc.fleet_search import InfeasibleOffer, Solution, solve
from backend.rankings.calc.fleets import (
    Fleet,
    FleetTarget,
    Requirement,
    Rule,
    ServerFigure,
    ServerType,
    rule_of,
)
from backend.rankings.calc.requirement_document import RequirementDocument
from backend.rankings.selectors.on_sale import WORDS, asks_for_burstable, reasons
from backend.rankings.selectors.prices import ONCE
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.ranking import Ranking, query_from, ranking
from backend.rankings.selectors.rows import RankingRow
from backend.rankings.selectors.scores import Score, scores_by_metric

VCPU, RAM, DISK_GB = "vcpu", "ram_gib", "disk_gb"
# What an offer and a search take, in steps of a simulation.
STEPS_PER_OFFER, STEPS_MIXED = 2_000, 10_000_000
BURSTABLE = "burstable"
# Parameters of a ranking that mean nothing here.
OVERRIDDEN = ("metric", "weights", "base", "period", "sort", "cols", "page", "per_page")


@dataclass(frozen=True)
class FleetLine:
    """A fleet with the rows of its offers. Costs are of a month and of one of its hours.

    `score` is what it gives of the first target; sizes are None where a server's is not known.
    `headroom` is what it gives over what is asked for, by demand.
    """

    rank: int
    servers: tuple[tuple[RankingRow, int], ...]
    fleet: Fleet
    cost_per_hour: Decimal
    score: Decimal | None
    ram_gib: Decimal | None
    disk_gb: Decimal | None
    headroom: Mapping[str, Decimal]

    @property
    def cost_per_month(self) -> Decimal:
        return self.fleet.cost


@dataclass(frozen=True)
class RequirementAnswer:
    """The fleets shown, how many there are, and what fails and why.

    `floor` is a cost of a month that no fleet is below, where the cheapest one is not proven.
    """

    asked: RequirementDocument
    query: RankingQuery
    requirement: Requirement
    fleets: Sequence[FleetLine]
    fleet_count: int
    failures: Sequence[InfeasibleOffer]
    floor: Decimal | None
    basis: Mapping[str, Any]
    data_version: int
    warnings: Sequence[str]


def requirement_answered(
    asked: RequirementDocument,
    *,
    workspace_slug: str = DEFAULT_WORKSPACE,
    stamp: DataStamp | None = None,
) -> RequirementAnswer:
    """The cheapest fleets that reach what is asked for. Raises InvalidDocument."""
    query, warnings = _query(asked, workspace_slug)
    first = next(iter(asked.targets), query.metric)
    query = replace(query, metric=first)
    main = ranking(query, workspace_slug=workspace_slug, stamp=stamp)
    rows = {row.offer_id: row for row in (*main.rows, *main.unscored)}
    requirement = _requirement(asked)
    servers = _servers(rows, asked, query)
    steps = STEPS_PER_OFFER * len(servers) + (STEPS_MIXED if asked.mixed else 0)
    with calculation(steps, advice="filter the offers, or mix no types") as check:
        solution = solve(servers, requirement, is_mixed=asked.mixed, check=check)
    return RequirementAnswer(
        asked=asked,
        query=query,
        requirement=requirement,
        fleets=_lines(solution, rows, asked, requirement, query),
        fleet_count=len(solution.fleets),
        failures=solution.failures,
        floor=solution.floor,
        basis=_basis(main),
        data_version=main.data_version,
        warnings=warnings,
    )


def _query(asked: RequirementDocument, workspace_slug: str) -> tuple[RankingQuery, list[str]]:
    """The ranking that the filters ask for, its prices those of a month."""
    unread = {*OVERRIDDEN, BURSTABLE}
    kept = {name: values for name, values in asked.params.items() if name not in unread}
    try:
        query, warnings = query_from(kept, workspace_slug=workspace_slug)
    except InvalidParameters as error:
        errors = [
            (f"/{name}" if name in asked.own else f"/filters/{name}", detail)
            for name, detail in error.errors
        ]
        raise InvalidDocument(errors) from None
    warnings += [
        _("parameter {name} means nothing to a requirement and was ignored", name=name)
        for name in asked.params
        if name in OVERRIDDEN
    ]
    if asked.egress_gb_per_month and EGRESS in query.basis:
        query = replace(query, basis=tuple(part for part in query.basis if part != EGRESS))
        warnings.append(_("traffic is that of the whole fleet, so the basis is without egress"))
    return replace(query, period="month"), warnings


def _requirement(asked: RequirementDocument) -> Requirement:
    demands = [
        FleetTarget(metric, amount, rule_of(METRICS[metric]))
        for metric, amount in asked.targets.items()
    ]
    demands += [
        FleetTarget(name, amount)
        for name in (VCPU, RAM, DISK_GB)
        if (amount := getattr(asked, name)) is not None
    ]
    return Requirement(tuple(demands), asked.egress_gb_per_month or Decimal(0), asked.max_servers)


def _basis(main: Ranking) -> dict[str, Any]:
    """Basis of the prices; what a ranking says of its metric is said of each target."""
    named = (
        "term",
        "basis",
        "hours_per_month",
        "hours_run",
        "setup_months",
        "currency",
        "as_of",
        "operating_system",
        "tenancy",
    )
    further = ("basis_disk_gb", "basis_ipv4", "tax_rate")
    return {name: main.basis[name] for name in (*named, *further) if name in main.basis}


# --- servers --------------------------------------------------------------------------------------


def _servers(
    rows: Mapping[str, RankingRow], asked: RequirementDocument, query: RankingQuery
) -> list[ServerType]:
    further = [key for key in asked.targets if key != query.metric]
    needs_extras = asked.egress_gb_per_month is not None or asked.disk_gb is not None
    offers = _offers() if further or needs_extras else {}
    scores = _scores(further, offers, query.as_of) if further else {}
    extras = _Extras(rows.values(), offers, query) if needs_extras else None
    refusals = _refusals(rows, asked, query)
    return [
        _server(row, scores.get(row.offer_id, {}), asked, query, extras=extras, refusals=refusals)
        for row in rows.values()
    ]


def _refusals(
    rows: Mapping[str, RankingRow], asked: RequirementDocument, query: RankingQuery
) -> Mapping[str, str]:
    """Slug → why an offer stays out of any answer, for those that do."""
    listing = list(rows.values())
    has_burstable = _allows_burstable(asked) or asks_for_burstable(query)
    return {
        listing[at].offer_id: WORDS[reason][0]
        for reason, marks in reasons(listing, query, has_burstable=has_burstable)
        for at in np.flatnonzero(marks).tolist()
    }


def _allows_burstable(asked: RequirementDocument) -> bool:
    """By its own field, or among the filters as the answer takes it."""
    text = "".join(asked.filters.get(BURSTABLE, ())[-1:])
    try:
        return asked.burstable or (text != "" and boolean(text))
    except ValueError as error:
        raise InvalidDocument([(f"/filters/{BURSTABLE}", str(error))]) from None


def _offers() -> dict[str, Offer]:
    """Parts that every offer is joined by, by slug."""
    rows = Offer.objects.order_by().only("slug", "provider_id", "region_id")
    return {offer.slug: offer for offer in rows}


def _scores(
    metrics: Iterable[str], offers: Mapping[str, Offer], as_of: dt.date | None
) -> dict[str, dict[str, Score]]:
    """The scores of further targets by slug and metric."""
    slugs = {offer.pk: slug for slug, offer in offers.items()}
    by_slug: dict[str, dict[str, Score]] = {}
    for key, scored in scores_by_metric(metrics, as_of).items():
        for offer_id, score in scored.items():
            by_slug.setdefault(slugs[offer_id], {})[key] = score
    return by_slug


def _server(
    row: RankingRow,
    scores: Mapping[str, Score],
    asked: RequirementDocument,
    query: RankingQuery,
    *,
    extras: "_Extras | None",
    refusals: Mapping[str, str],
) -> ServerType:
    figures = {key: _further_figure(key, score, row, query) for key, score in scores.items()}
    unfit = [key for key, score in scores.items() if score.is_unfit]
    if asked.targets and row.score is not None:
        interval = row.score_ci95_low, row.score_ci95_high
        figures[query.metric] = _figure(query.metric, row.score, *interval)
        unfit += [] if UNFIT.isdisjoint(row.flags.split()) else [query.metric]
    fills = extras.fills(row) if extras and asked.disk_gb is not None else {}
    # Beside a disk that can be bought, an unknown one counts as none, as in the ranking.
    disk_gb = _disk_gb(row, query) or 0 if fills else _disk_gb(row, query)
    for name, size in ((VCPU, row.vcpu), (RAM, row.ram_gib), (DISK_GB, disk_gb)):
        if size is not None:
            figures[name] = ServerFigure(exact_decimal(size), exact_decimal(size))
    has_traffic = extras is not None and asked.egress_gb_per_month is not None
    bill = extras.bill(row, asked) if extras and has_traffic else _NO_BILL
    return ServerType(
        offer_id=row.offer_id,
        provider=row.provider,
        location=f"{row.provider} {row.region}",
        price=row.price or Decimal(0),
        figures=figures,
        refusal=refusals.get(row.offer_id) or _refusal(row, asked, unfit),
        included_gb=bill[0],
        tiers=bill[1],
        fills=fills,
    )


def _refusal(row: RankingRow, asked: RequirementDocument, unfit: Sequence[str]) -> str:
    """Reason that rules an offer out before its figures are looked at."""
    if asked.kinds and row.kind not in asked.kinds:
        return _("its kind is {kind}", kind=row.kind)
    if row.period == ONCE:
        return _("it is bought once and has no price of a month")
    if row.price is None:
        missing = [name for name in row.missing.split() if name not in {"price", "score"}]
        names = [name for name in missing if name not in METRICS] or ["price"]
        return (
            _("{name} is not known", name=names[0])
            if len(names) == 1
            else _("{names} are not known", names=name_list(names, len(names)))
        )
    if not unfit:
        return ""
    return _("its {metric} was measured disturbed or from a cache", metric=unfit[0])


def _further_figure(
    metric: str, score: Score, row: RankingRow, query: RankingQuery
) -> ServerFigure:
    """A figure beside the one that the row is ranked by, in the row's mode of CPU credits."""
    of, ratio = score.summary, 1.0
    if row.credit_mode == STANDARD and metric in CPU_METRICS:
        ratio = float(row.cpu_baseline_ratio or 1)
        if query.metric in CPU_METRICS and row.score and row.burst_score:
            ratio = row.score / row.burst_score
    return _figure(metric, of.value * ratio, of.ci95_low * ratio, of.ci95_high * ratio)


def _figure(metric: str, score: float, low: float | None, high: float | None) -> ServerFigure:
    worst = low if METRICS[metric].is_higher_better else high
    return ServerFigure(exact_decimal(score), None if worst is None else exact_decimal(worst))


def _disk_gb(row: RankingRow, query: RankingQuery) -> float | None:
    """The disk of one server; a basis with disk fills it up to its amount."""
    if DISK not in query.basis:
        return row.disk_gb
    return max(float(row.disk_gb or 0), float(query.basis_disk_gb))


# --- extras ---------------------------------------------------------------------------------------

_Bill = tuple[Decimal, Tiers | None]
_NO_BILL: _Bill = (Decimal(0), None)


class _Extras:
    """Traffic that servers include, and prices of traffic and disks where they stand (three
    queries)."""

    def __init__(
        self, rows: Iterable[RankingRow], offers: Mapping[str, Offer], query: RankingQuery
    ) -> None:
        self.offers, self.currency = offers, query.currency
        self.factor = 1 + (query.tax_rate or Decimal(0))
        self.rates: RateTable = rate_table(query.as_of)
        self.tariffs: Tariffs = tariffs(query.as_of)
        self.included = _price_inclusions({row.price_id for row in rows if row.price_id})

    def bill(self, row: RankingRow, asked: RequirementDocument) -> _Bill:
        """GB that one server includes, at most all that is asked for; and the tiers beyond, None
        where no price or no rate is known."""
        included = self.included.get(row.price_id) if row.price_id else None
        requested = asked.egress_gb_per_month or Decimal(0)
        gb = Decimal(0)
        if included and included.is_traffic_unlimited:
            gb = requested
        elif included:
            traffic = EXACT.divide(Decimal(included.traffic_bytes or 0), Decimal(BYTES_PER_GB))
            gb = min(requested, traffic)
        tariff = (included and included.egress) or self._tariff(row, EGRESS)
        return gb, None if tariff is None else self._convert(tariff)

    def fills(self, row: RankingRow) -> Mapping[str, Tiers]:
        """The price of a GB of disk and month where the server stands, as the ranking adds it."""
        tariff = self._tariff(row, DISK)
        tiers = None if tariff is None else self._convert(tariff)
        return {} if tiers is None else {DISK_GB: tiers}

    def _tariff(self, row: RankingRow, extra: str) -> Tariff | None:
        offer = self.offers[row.offer_id]
        return tariffs_of(self.tariffs, offer.provider_id, offer.region_id).get(extra)

    def _convert(self, tariff: Tariff) -> Tiers | None:
        try:
            rate, _ = self.rates.rate(tariff.currency, self.currency)
        except UnknownRate:
            return None
        factor = EXACT.multiply(rate, self.factor)
        return tuple((bound, EXACT.multiply(price, factor)) for bound, price in tariff.tiers)


def _price_inclusions(price_ids: set[UUID]) -> dict[UUID, Included]:
    """Stated inclusions of the prices; those that say nothing left out."""
    rows = PriceObservation.objects.filter(pk__in=price_ids).exclude(included={})
    return {
        price_id: inclusions_of(included, None, currency)
        for price_id, included, currency in rows.values_list("pk", "included", "currency")
    }


# --- lines ----------------------------------------------------------------------------------------


def _lines(
    solution: Solution,
    rows: Mapping[str, RankingRow],
    asked: RequirementDocument,
    requirement: Requirement,
    query: RankingQuery,
) -> list[FleetLine]:
    lines: list[FleetLine] = []
    for number, fleet in enumerate(solution.fleets[: asked.limit], start=1):
        is_tied = bool(lines) and lines[-1].fleet.cost == fleet.cost
        servers = tuple((rows[offer_id], count) for offer_id, count in fleet.servers)
        lines.append(
            FleetLine(
                rank=lines[-1].rank if is_tied else number,
                servers=servers,
                fleet=fleet,
                cost_per_hour=EXACT.divide(fleet.cost, query.hours_per_month),
                score=next((fleet.given[key] for key in asked.targets), None),
                ram_gib=_sum((row.ram_gib, count) for row, count in servers),
                disk_gb=fleet.given.get(DISK_GB, _own_disk_gb(servers, query)),
                headroom=_headroom(fleet, requirement),
            )
        )
    return lines


def _own_disk_gb(servers: Sequence[tuple[RankingRow, int]], query: RankingQuery) -> Decimal | None:
    return _sum((_disk_gb(row, query), count) for row, count in servers)


def _sum(sizes: Iterable[tuple[float | None, int]]) -> Decimal | None:
    total = Decimal(0)
    for size, count in sizes:
        if size is None:
            return None
        total = EXACT.add(total, EXACT.multiply(exact_decimal(size), count))
    return total


def _headroom(fleet: Fleet, requirement: Requirement) -> dict[str, Decimal]:
    """Given over asked for, 1 and more; asked for over given where less is better."""
    ratios = {}
    for demand in requirement.targets:
        pair = (fleet.given[demand.name], demand.amount)
        over, under = pair[::-1] if demand.rule is Rule.AT_MOST else pair
        ratios[demand.name] = EXACT.divide(over, under)
    return ratios
