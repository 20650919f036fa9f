"""A few offers side by side: facts, cost and every metric, each against one of them."""

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.catalog.models import Offer
from backend.catalog.selectors.data_changes import require_unchanged
from backend.catalog.selectors.data_version import DataStamp
from backend.catalog.selectors.offers import offers_visible
from backend.core.rest.parameters import InvalidParameters
from backend.foundation.texts import text as _
from backend.foundation.units import exact_decimal
from backend.measure.metrics import METRICS, Metric
from backend.measure.pairwise import are_apart
from backend.rankings.calc.comparison import delta_ratio
from backend.rankings.selectors.query import DEFAULT_SORT, RankingQuery
from backend.rankings.selectors.ranking import ranking
from backend.rankings.selectors.rows import RankingRow
from backend.rankings.selectors.scores import Score, for_reader, scores_of

MOST_OFFERS = 6
FACTS = "facts"
COST = "cost"
METRIC = "metrics"
# A value with the ends of its 95 % interval.
Interval = tuple[float, float, float]


@dataclass(frozen=True)
class ComparedCell:
    """An offer's cell in an item: of `text` and `value` one is set, none where unknown."""

    text: str | None = None
    value: Decimal | None = None
    ci95_low: Decimal | None = None
    ci95_high: Decimal | None = None
    delta_ratio: Decimal | None = None
    """Against the baseline; None for the baseline itself."""
    is_distinguishable: bool | None = None
    """None: this offer is the baseline, or one of the two has no figure."""
    n_instances: int | None = None
    n_repeats: int | None = None
    source: str | None = None
    measured_at: dt.datetime | None = None
    result_url: str | None = None
    licence: str | None = None
    flags: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        return self.text is not None or self.value is not None


@dataclass(frozen=True)
class ComparedItem:
    """A line of the comparison; a cell for each offer, in their order."""

    key: str
    label: str
    group: str
    unit: str
    better: str
    """higher, lower, or empty where neither is better."""
    cells: Sequence[ComparedCell]
    is_estimate: bool = False
    """True if figures have intervals; exact ones (a size, a price) are distinguishable when they differ."""

    @property
    def is_difference(self) -> bool:
        """True if the offers differ here by more than their intervals allow for."""
        if any(cell.is_known != self.cells[0].is_known for cell in self.cells):
            return True
        if len({(cell.text, cell.value) for cell in self.cells}) == 1:
            return False
        if self.cells[0].text is not None:
            return True
        return any(cell.is_distinguishable for cell in self.cells)


@dataclass(frozen=True)
class Comparison:
    """Offers under a query, the slug of the baseline among them, and what is compared."""

    rows: Sequence[RankingRow]
    base: str
    items: Sequence[ComparedItem]
    basis: Mapping[str, Any]
    data_version: int
    metric: Metric

    @property
    def licences(self) -> set[str | None]:
        """Licences of the figures compared."""
        return {cell.licence for item in self.items for cell in item.cells}


def slugs_to_compare(values: Sequence[str]) -> list[str]:
    """Slugs from repeated or comma-separated parameters, each once."""
    parts = [part.strip() for value in values for part in value.split(",")]
    return list(dict.fromkeys(part for part in parts if part))


def comparison(
    slugs: Sequence[str],
    query: RankingQuery,
    *,
    base: str = "",
    workspace_slug: str = DEFAULT_WORKSPACE,
    stamp: DataStamp | None = None,
) -> Comparison:
    """The offers in the order given, placed among all; `base` is else the first of them.

    Raises InvalidParameters for offers that are not there, for none, and for too many.
    """
    everyone = ranking(
        replace(query, filters=(), q="", sort=DEFAULT_SORT),
        workspace_slug=workspace_slug,
        stamp=stamp,
    )
    of_slug = {slug: row for slug in slugs if (row := everyone.row(slug))}
    _check(slugs, of_slug, base)
    rows = [of_slug[slug] for slug in slugs]
    base = base or slugs[0]
    offers = {offer.slug: offer for offer in offers_visible(workspace_slug).filter(slug__in=slugs)}
    if stamp:
        require_unchanged(stamp, [offer.pk for offer in offers.values()])
    scored = scores_of((offer.pk for offer in offers.values()), query.as_of)
    items = [
        *(fact for fact in _facts(rows, offers) if any(cell.is_known for cell in fact.cells)),
        *_costs(rows, everyone.metric),
        *_metrics(
            [
                {
                    score.metric.key: for_reader(score, offers[slug], workspace_slug)
                    for score in scored[offers[slug].pk]
                }
                for slug in slugs
            ]
        ),
    ]
    base_index = slugs.index(base)
    return Comparison(
        rows=rows,
        base=base,
        items=[_against(item, base_index) for item in items],
        basis={**everyone.basis, "base": base},
        data_version=everyone.data_version,
        metric=everyone.metric,
    )


def _check(slugs: Sequence[str], rows: Mapping[str, RankingRow], base: str) -> None:
    if len(slugs) > MOST_OFFERS:
        raise InvalidParameters([("o", f"{len(slugs)} offers are more than {MOST_OFFERS}")])
    errors = [("o", f"there is no offer {slug[:80]!r}") for slug in slugs if slug not in rows]
    if not slugs:
        errors.append(("o", "the slugs of two to six offers are needed"))
    if base and base not in slugs:
        errors.append(("base", f"{base[:80]!r} is not among the offers compared"))
    if errors:
        raise InvalidParameters(errors)


# --- what is compared -------------------------------------------------------------------------


def _facts(rows: Sequence[RankingRow], offers: Mapping[str, Offer]) -> Iterator[ComparedItem]:
    def texts(key: str, label: str, of: Callable[[RankingRow], str | None]) -> ComparedItem:
        return ComparedItem(
            key, label, FACTS, "", "", [ComparedCell(text=of(row) or None) for row in rows]
        )

    def sizes(key: str, label: str, unit: str) -> ComparedItem:
        return ComparedItem(
            key, label, FACTS, unit, "", [_number(getattr(row, key)) for row in rows]
        )

    yield texts("provider", _("Provider"), lambda row: row.provider)
    yield texts("kind", _("Kind"), lambda row: row.kind)
    yield texts("region", _("Region"), lambda row: row.region)
    yield texts("arch", _("Architecture"), lambda row: row.arch)
    yield texts("cpu_model", _("Processor"), lambda row: offers[row.offer_id].cpu_model)
    yield sizes("vcpu", _("vCPU"), "")
    yield texts("vcpu_kind", _("vCPU kind"), lambda row: row.vcpu_kind)
    yield sizes("threads", _("Hardware threads"), "")
    yield sizes("ram_gib", _("RAM"), "GiB")
    yield sizes("disk_gb", _("Disk included"), "GB")
    yield texts("disk_kind", _("Disk kind"), lambda row: row.disk_kind)


def _costs(rows: Sequence[RankingRow], metric: Metric) -> Iterator[ComparedItem]:
    first = rows[0]
    price_unit = f"{first.currency}/{first.period}"

    def item(
        key: str, label: str, unit: str, better: str, cells: Sequence[ComparedCell]
    ) -> ComparedItem:
        return ComparedItem(key, label, COST, unit, better, cells)

    def texts(key: str, label: str) -> ComparedItem:
        cells = [
            ComparedCell(text=None if (v := getattr(r, key)) is None else str(v)) for r in rows
        ]
        return item(key, label, "", "", cells)

    yield item("price", _("Price"), price_unit, "lower", [_number(row.price) for row in rows])
    yield texts("price_term", _("Payment option"))
    yield texts("price_basis", _("Price includes"))
    yield texts("price_observed_on", _("Price observed on"))
    value_unit = (
        _("{unit} per {price}", unit=metric.unit, price=price_unit)
        if metric.is_higher_better
        else f"1 / ({metric.unit} × {price_unit})"
    )
    values = [
        ComparedCell(
            value=row.value_per_cost,
            ci95_low=row.value_per_cost_ci95_low,
            ci95_high=row.value_per_cost_ci95_high,
        )
        for row in rows
    ]
    label = _("Value per cost, {metric}", metric=metric.label)
    yield replace(item("value_per_cost", label, value_unit, "higher", values), is_estimate=True)
    yield item(
        "rank", _("Rank among all offers"), "", "", [ComparedCell(text=_rank(row)) for row in rows]
    )


def _rank(row: RankingRow) -> str | None:
    if row.rank is None or row.rank_low == row.rank_high:
        return None if row.rank is None else str(row.rank)
    return f"{row.rank} ({row.rank_low}–{row.rank_high})"


def _metrics(scored: Sequence[Mapping[str, Score]]) -> Iterator[ComparedItem]:
    for key, metric in METRICS.items():
        if any(key in scores for scores in scored):
            cells = [_score(scores.get(key)) for scores in scored]
            yield ComparedItem(
                key, metric.label, METRIC, metric.unit, metric.better, cells, is_estimate=True
            )


def _number(value: Decimal | float | None) -> ComparedCell:
    """A figure that is no estimate."""
    if value is None:
        return ComparedCell()
    return ComparedCell(value=exact_decimal(value) if isinstance(value, float) else Decimal(value))


def _score(score: Score | None) -> ComparedCell:
    if score is None:
        return ComparedCell()
    summary = score.summary
    return ComparedCell(
        value=exact_decimal(summary.value),
        ci95_low=exact_decimal(summary.ci95_low),
        ci95_high=exact_decimal(summary.ci95_high),
        n_instances=summary.n_instances,
        n_repeats=summary.n_repeats,
        source=score.source,
        measured_at=score.measured_at,
        result_url=score.result_url,
        licence=score.licence,
        flags=score.flags,
    )


# --- against the baseline ---------------------------------------------------------------------


def _against(item: ComparedItem, base_index: int) -> ComparedItem:
    base = item.cells[base_index]
    cells = [
        cell if n == base_index else _compare_cell(cell, base) for n, cell in enumerate(item.cells)
    ]
    return replace(item, cells=cells)


def _compare_cell(cell: ComparedCell, base: ComparedCell) -> ComparedCell:
    """Estimates by the rule of the ranking, exact figures when they differ."""
    if cell.value is None or base.value is None:
        return cell
    first, other = _interval(cell), _interval(base)
    is_apart = are_apart(first, other) if first and other else cell.value != base.value
    return replace(
        cell, delta_ratio=delta_ratio(cell.value, base.value), is_distinguishable=is_apart
    )


def _interval(cell: ComparedCell) -> Interval | None:
    """Value and ends; None for an exact figure."""
    if cell.value is None or cell.ci95_low is None or cell.ci95_high is None:
        return None
    return float(cell.value), float(cell.ci95_low), float(cell.ci95_high)
