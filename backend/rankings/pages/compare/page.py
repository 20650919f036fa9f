"""A comparison as its page shows it: cells in words, links that change it, and small charts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backend.rankings.calc.conclusions import Conclusion, best_value
from backend.rankings.selectors.compare import (
    COST,
    FACTS,
    METRIC,
    ComparedCell,
    ComparedItem,
    Comparison,
)
from backend.rankings.selectors.rows import RankingRow
from backend.site import charts, figures, lines, state, words
from backend.site.conclusions import contender
from backend.site.language import _, lazy

GROUPS = {FACTS: lazy("What it is"), COST: lazy("What it costs"), METRIC: lazy("What was measured")}
UNKNOWN = {FACTS: lazy("not stated"), COST: "unknown", METRIC: lazy("not measured")}
# As many as can be looked through; the table above them has every metric.
MOST_CHARTS = 24
WORDS: Mapping[str, Callable[[str], str]] = {
    "provider": words.provider,
    "kind": words.kind,
    "price_term": words.term,
    "price_basis": words.holds,
}


@dataclass(frozen=True)
class ShownCell:
    """A cell: text, the full figure for its title, and the difference from the baseline."""

    # Label of its column, which a narrow screen has no head for.
    offer: str
    text: str
    # Words in place of the text where nothing is known.
    unknown: str = ""
    title: str = ""
    interval: str = ""
    delta: str = ""
    # better or worse; `too close to call` where errors could explain the difference.
    outcome: str = ""
    tone: str = ""
    origin: str = ""
    url: str | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class ComparedLine:
    """A row of the table."""

    key: str
    label: str
    unit: str
    is_metric: bool
    cells: Sequence[ShownCell]


@dataclass(frozen=True)
class OfferColumn:
    """An offer at the head of the table, with the links that move, remove and choose it."""

    row: RankingRow
    label: str
    is_base: bool
    base_url: str
    left_url: str
    right_url: str
    without_url: str


def conclusion(comparison: Comparison) -> Conclusion | None:
    """Which of the offers is the best value; None of a single one."""
    if len(comparison.rows) < 2:
        return None
    return best_value([contender(row) for row in comparison.rows])


def columns(comparison: Comparison, params: state.Params, path: str) -> list[OfferColumn]:
    """The heads; `params` are those of the page, so that links keep all but what they change."""
    slugs = [row.offer_id for row in comparison.rows]

    def url(order: Sequence[str], base: str = comparison.base) -> str:
        # A baseline that is taken out is not replaced here: which is the next is the comparison's choice.
        kept = base if base in order else None
        return path + state.query(params, o=",".join(order) or None, base=kept)

    def swapped(n: int, other: int) -> str:
        order = list(slugs)
        order[n], order[other] = order[other], order[n]
        return url(order)

    return [
        OfferColumn(
            row=row,
            label=charts.row_label(row),
            is_base=row.offer_id == comparison.base,
            base_url=url(slugs, row.offer_id),
            left_url=swapped(n, n - 1) if n else "",
            right_url=swapped(n, n + 1) if n + 1 < len(slugs) else "",
            without_url=url([slug for slug in slugs if slug != row.offer_id]),
        )
        for n, row in enumerate(comparison.rows)
    ]


def groups(
    items: Sequence[ComparedItem], labels: Sequence[str]
) -> list[tuple[str, list[ComparedLine]]]:
    """The lines under the words of their group; `labels` are those of the columns."""
    lines_by_group = [
        (words_of, [_line(item, labels) for item in items if item.group == group])
        for group, words_of in GROUPS.items()
    ]
    return [(words_of, shown) for words_of, shown in lines_by_group if shown]


def _line(item: ComparedItem, labels: Sequence[str]) -> ComparedLine:
    known = [cell.value for cell in item.cells if cell.value is not None]
    # One unit for the line: figures side by side must not change from MiB to GiB in between.
    scale = figures.scale(item.unit, known)
    return ComparedLine(
        key=item.key,
        label=item.label,
        unit=scale.unit,
        is_metric=item.group == METRIC,
        cells=[
            _show_cell(label, cell, item, scale)
            for label, cell in zip(labels, item.cells, strict=True)
        ],
    )


def _show_cell(
    label: str, cell: ComparedCell, item: ComparedItem, scale: figures.UnitScale
) -> ShownCell:
    if cell.value is None:
        unknown = "" if cell.text is not None else UNKNOWN[item.group]
        return ShownCell(label, WORDS.get(item.key, str)(cell.text or ""), unknown)
    is_measure = item.is_estimate or item.key == "price"
    outcome, tone = _outcome(cell, item)
    return ShownCell(
        offer=label,
        # Facts are exact numbers such as 8 vCPU; only measured figures are rounded to their digits.
        text=scale.text(cell.value) if is_measure else figures.quantity(scale.shown(cell.value)),
        title=f"{figures.plain(cell.value)} {item.unit}".strip(),
        interval=figures.ends(scale, cell.ci95_low, cell.ci95_high),
        delta=figures.percent_change(cell.delta_ratio),
        outcome=outcome,
        tone=tone,
        origin=_origin(cell),
        url=lines.own_path(cell.result_url),
        flags=cell.flags,
    )


def _outcome(cell: ComparedCell, item: ComparedItem) -> tuple[str, str]:
    """The difference in a word, and the tone of its mark."""
    if cell.delta_ratio is None or not item.better:
        return "", ""
    # An estimate's difference within its error is said; of a plain fact an equal value says nothing.
    if not cell.is_distinguishable:
        return (_("too close to call"), "") if item.is_estimate else ("", "")
    is_better = (cell.delta_ratio > 0) == (item.better == "higher")
    return ("better", "good") if is_better else ("worse", "bad")


def _origin(cell: ComparedCell) -> str:
    if cell.source is None:
        return ""
    day = f" {cell.measured_at:%Y-%m-%d}" if cell.measured_at else ""
    count = f", n = {cell.n_instances} × {cell.n_repeats}" if cell.n_instances else ""
    return f"{cell.source}{day}{count}"


# --- small charts -----------------------------------------------------------------------------


def small_charts(comparison: Comparison, items: Sequence[ComparedItem]) -> list[dict[str, Any]]:
    """A bar for each offer and metric that at least two of them have; data of the page's script."""
    # A single bar compares nothing.
    drawn = [item for item in items if item.is_estimate and len(list(_cells_with_value(item))) > 1]
    return [_chart(item, comparison) for item in drawn[:MOST_CHARTS]]


def _cells_with_value(item: ComparedItem) -> Iterator[ComparedCell]:
    return (cell for cell in item.cells if cell.value is not None)


def _chart(item: ComparedItem, comparison: Comparison) -> dict[str, Any]:
    scale = figures.scale(item.unit, [cell.value for cell in _cells_with_value(item) if cell.value])
    # The region is needed only where the same type stands there twice, and labels are narrow.
    are_types_distinct = len({row.offer for row in comparison.rows}) == len(comparison.rows)
    bars = [
        charts.bar(
            row.offer_id,
            row.offer if are_types_distinct else charts.row_label(row),
            row.provider,
            scale,
            (cell.value, cell.ci95_low, cell.ci95_high),
        )
        for row, cell in zip(comparison.rows, item.cells, strict=True)
        if cell.value is not None
    ]
    bars = charts.distinct_labels(bars)
    base = next(
        cell
        for row, cell in zip(comparison.rows, item.cells, strict=True)
        if row.offer_id == comparison.base
    )
    said = "; ".join(f"{bar['label']} {figures.figure(bar['value'])}" for bar in bars)
    return {
        "id": f"small-{item.key}",
        "title": item.label,
        "unit": scale.unit,
        "bars": bars,
        # The line across the chart is the baseline, in the place where a ranking has its median.
        "median": scale.shown(base.value),
        "medianLabel": "",
        "summary": _(
            "Bars of {label} in {unit}, {better} is better: {said}.",
            label=item.label,
            unit=scale.unit,
            better=item.better,
            said=said,
        ),
    }
