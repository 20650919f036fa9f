"""Rows of a frozen ranking or comparison in words, for the page and for the sheet of paper.

From the stored cells alone: nothing of today's data may change what was frozen.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from backend.foundation.attributions import attributions
from backend.rankings.calc.comparison import delta_ratio
from backend.rankings.calc.conclusions import Conclusion, Contender, best_value, name_list
from backend.rankings.selectors.on_sale import holds_its_score
from backend.reports.pages.sheet import Sheet, SheetColumn, bar_chart
from backend.site import charts, figures, state, words
from backend.site.language import _, lazy
from backend.site.lines import own_path

# Each is an address of a line or two; the page has all of them.
MOST_SOURCES = 4
INTERVALS = lazy("Intervals are 95%; ranks in brackets are the range that the data allow.")
Cells = Mapping[str, Any]


@dataclass(frozen=True)
class ReportLine:
    """A frozen row as it reads; empty strings are unknown."""

    cells: Cells
    rank: str
    score: str
    score_interval: str
    price: str
    value: str
    value_interval: str
    price_delta: str
    # Against the baseline of a comparison; empty in a ranking and for the baseline itself.
    value_delta: str
    evidence_url: str | None


class RankedReport:
    """Frozen rows with the scales that they share; `base` is the row that a comparison is against."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        basis = self.basis = document["basis"]
        self.count: int = document["count"]
        self.top: int = document["top"]
        self.rows: Sequence[Cells] = document["rows"]
        # A purchase is paid once, whatever the period.
        is_once = basis["term"] == "purchase"
        cost = basis["currency"] if is_once else f"{basis['currency']}/{basis['period']}"
        scores = (row["score"] for row in self.rows if row["score"] is not None)
        self.scale = figures.scale(basis["unit"], scores)
        values = (row["value_per_cost"] for row in self.rows)
        self.value_scale = figures.value_scale(self.scale, basis["better"], cost, values)
        self.units = {"score": self.scale.unit, "price": cost, "value": self.value_scale.unit}
        bases = (row for row in self.rows if row["offer_id"] == basis.get("base"))
        self.base: Cells = next(bases, {})
        self.base_label = _label(self.base) if self.base else ""
        self.metric = words.metric(basis["metric"])
        self.attributions = attributions(row["licence"] for row in self.rows)
        self.lines = [self._line(row) for row in self.rows]
        self.chart = self._chart()

    @property
    def conclusion(self) -> Conclusion:
        """Which of all frozen offers is the best value."""
        return best_value([_contender(row) for row in self.rows])

    def _line(self, row: Cells) -> ReportLine:
        rank = "" if row["rank"] is None else str(row["rank"])
        if row["rank_low"] != row["rank_high"]:
            rank = f"{rank} ({row['rank_low']}–{row['rank_high']})"
        return ReportLine(
            cells=row,
            rank=rank,
            score=self.scale.text(row["score"]),
            score_interval=figures.ends(self.scale, *_interval(row, "score")[1:]),
            price=figures.money(_decimal(row["price"]), row["period"]),
            value=self.value_scale.text(row["value_per_cost"]),
            value_interval=figures.ends(self.value_scale, *_interval(row, "value_per_cost")[1:]),
            price_delta=self._delta(row, "price"),
            value_delta=self._delta(row, "value_per_cost"),
            evidence_url=own_path(row["result_url"]),
        )

    def _delta(self, row: Cells, column: str) -> str:
        value, of_base = _decimal(row[column]), _decimal(self.base.get(column))
        if row is self.base or value is None or of_base is None:
            return ""
        return figures.percent_change(delta_ratio(value, of_base))

    def _chart(self) -> dict[str, Any] | None:
        """The best offers by value per cost as bars with intervals; None where none has a rank."""
        ranked = (row for row in self.rows if row["rank"] is not None)
        best = sorted(ranked, key=lambda row: row["rank"])[: self.top]
        if not best:
            return None
        scale = self.value_scale
        bars = charts.distinct_labels(
            [
                charts.bar(
                    row["offer_id"],
                    _label(row),
                    row["provider"],
                    scale,
                    _interval(row, "value_per_cost"),
                )
                for row in best
            ]
        )
        summary = _(
            "Bars of the best {shown} of {count} offers by value per cost. First is {best}"
            " with {value} {unit}.",
            shown=len(bars),
            count=self.count,
            best=bars[0]["label"],
            value=figures.figure(bars[0]["value"]),
            unit=scale.unit,
        )
        return bar_chart(_("Value per cost"), scale.unit, bars, summary)

    # --- on paper -------------------------------------------------------------------------------

    def sheet(self, params: state.Params) -> Sheet:
        """The first rows; `params` are those of the page that was frozen."""
        units = self.units
        return Sheet(
            conclusion=self.conclusion,
            chart=self.chart,
            columns=[
                SheetColumn(_("Rank"), 0.9),
                SheetColumn(_("Offer"), 3.2),
                SheetColumn(_("Score, {units}", units=units["score"]), 1.9, is_number=True),
                SheetColumn(_("Price, {units}", units=units["price"]), 1.5, is_number=True),
                SheetColumn(
                    _("Value per cost, {units}", units=units["value"]), 2.2, is_number=True
                ),
                SheetColumn(_("Source and notes"), 1.9),
            ],
            rows=[_texts(line) for line in self.lines[: self.top]],
            facts=list(self._facts(params)),
        )

    def _facts(self, params: state.Params) -> Iterator[tuple[str, str]]:
        basis, shown = self.basis, self.rows[: self.top]
        yield (
            _("Metric"),
            _(
                "{metric} in {unit}, {better} is better",
                metric=self.metric,
                unit=basis["unit"],
                better=basis["better"],
            ),
        )
        price_basis = shown[0]["price_basis"]
        yield (
            _("Prices"),
            _(
                "{term}; included: {included}; in {unit}, {hours} hours a month{as_of}",
                term=words.term(basis["term"]),
                included=words.holds(price_basis) if price_basis else _("not known"),
                unit=self.units["price"],
                hours=basis["hours_per_month"],
                as_of=_(", as of {day}", day=basis["as_of"]) if basis["as_of"] else "",
            ),
        )
        chips = state.chips(params, "")
        yield _("Filters"), "; ".join(f"{chip.label}: {chip.value}" for chip in chips) or "none"
        yield _("Offers"), f"{self._count_words(len(shown))} {INTERVALS}"
        for label, column in (
            (_("Measured or published at"), "result_url"),
            (_("Exchange rates"), "fx_date"),
        ):
            # Of the rows shown only: the sheet must name the source of every figure on it.
            known = sorted({str(row[column]) for row in shown if row[column]})
            if known:
                yield label, name_list(known, MOST_SOURCES)
        for attribution in self.attributions:
            yield attribution.figures, attribution.text

    def _count_words(self, shown: int) -> str:
        if self.base_label:
            return _(
                "Differences in percent are against {base}; ranks are among all offers.",
                base=self.base_label,
            )
        return _(
            "{shown} of {count} shown; {without_score} more had no figure for the metric.",
            shown=shown,
            count=self.count,
            without_score=self.basis["without_score_count"],
        )


def _decimal(cell: str | None) -> Decimal | None:
    return None if cell is None else Decimal(cell)


def _interval(row: Cells, column: str) -> tuple[Any, Any, Any]:
    """A figure with the ends of its interval."""
    return row[column], row[f"{column}_ci95_low"], row[f"{column}_ci95_high"]


def _label(row: Cells) -> str:
    return f"{row['offer']} · {row['region']}" if row["region"] else row["offer"]


def _contender(row: Cells) -> Contender:
    ends = [float(bound) for bound in _interval(row, "value_per_cost") if bound is not None]
    is_sustained = holds_its_score(row["vcpu_kind"], row["cpu_baseline_ratio"], row["load"])
    # An interval without one of its ends decides nothing.
    value = (ends[0], ends[1], ends[2]) if len(ends) == 3 and is_sustained else None
    reason = _("no price") if row["price"] is None else _("no score that it can hold")
    return Contender(_label(row), _decimal(row["price"]), value, "" if value else reason)


def _texts(line: ReportLine) -> list[str]:
    """The cells of a row on paper."""
    cells = line.cells
    whose = (words.provider(cells["provider"]), cells["region"], words.kind(cells["kind"]))
    notes = ", ".join(str(words.flag(code)[0]) for code in cells["flags"].split())
    measured = f"{cells['source'] or _('not stated')} {(cells['measured_at'] or '')[:10]}"
    return [
        line.rank or _("unranked"),
        f"{cells['offer']}\n{', '.join(map(str, filter(None, whose)))}",
        f"{line.score}\n{line.score_interval or _('no interval')}",
        _join_lines(line.price or _("no price"), line.price_delta, cells["price_observed_on"]),
        _join_lines(line.value or _("unknown"), line.value_delta, line.value_interval),
        _join_lines(measured.strip(), notes),
    ]


def _join_lines(*parts: str | None) -> str:
    return "\n".join(filter(None, parts))
