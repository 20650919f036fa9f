"""How the cells of the ranking read: one method per column that says more than its bare value."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from django.urls import reverse
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString

from backend.core.rest.table import ColumnType
from backend.measure.stats import LOWER_BOUND
from backend.rankings.pages.ranking.remembered import remember
from backend.rankings.selectors.columns import COLUMN, COLUMNS
from backend.rankings.selectors.listing import floats, value_counts
from backend.rankings.selectors.ranking import Ranking
from backend.rankings.selectors.ranking_column import ColumnScale, RankingColumn
from backend.rankings.selectors.rows import RankingRow
from backend.site import figures, lines, state, words
from backend.site.language import _
from backend.site.price_age import price_age

# Columns whose cells open what the figures of their row rest on.
EXPLAINED = frozenset({"price", "score", "value_per_cost"})
# Columns that lead to where a score comes from, so that what is opened need not do so, too.
LINKED = frozenset({"measured_at", "result_url"})
# Columns whose cells have a line of notes below their value. An element for each would be hundreds.
NOTED = frozenset({"rank", "vcpu", "value_per_cost", "measured_at"})
STRONG = frozenset({"rank", "value_per_cost"})
Render = Callable[[RankingRow], Any]


class Marked(SafeString):
    """The content of a cell whose element has classes, which saves an element within it."""

    classes = ""

    @classmethod
    def of(cls, content: str, classes: str) -> "Marked":
        made = cls(content)
        made.classes = classes
        return made


def empty_cell(name: str) -> Marked:
    """Words for an empty cell."""
    return Marked.of(conditional_escape(COLUMN[name].empty), "unknown")


def _note_cell(shown: Any, note: str) -> SafeString:
    """A value and on the line below it a note: columns in NOTED tell them apart by their lines."""
    return format_html("{}\n{}", shown, note) if note else format_html("{}", shown)


def is_own(row: RankingRow) -> bool:
    """True if the row is a machine of one's own that was measured, not a published figure."""
    return row.provider == "own" and row.source != "published"


class Cells:
    """The cells of one table: what all its rows share, and how each column reads.

    `sources` tells where the price of an offer was read, by its identifier.
    """

    def __init__(
        self,
        ranking: Ranking,
        params: state.Params,
        scale: figures.UnitScale,
        rows: Sequence[RankingRow],
        sources: Mapping[str, str],
    ) -> None:
        # Numbers of the rows on this page: short ids, where slugs would be repeated hundreds of times.
        self.indices = {row.offer_id: n for n, row in enumerate(rows)}
        self.scale = scale
        self.cost = state.cost(params)
        self.value_scale = figures.value_scale(
            scale, ranking.metric.better, self.cost, (row.value_per_cost for row in rows)
        )
        self.best_value = remember(
            ranking,
            "best value",
            lambda: float(np.nanmax(floats(ranking.rows, "value_per_cost"), initial=0)),
        )
        self.term = state.value(params, "term")
        self.basis = ranking.basis
        self.score_unit = ranking.metric.unit
        self.sources = sources
        self.age = remember(ranking, "price age", lambda: price_age(ranking.rows))
        self.tied = remember(ranking, "tied", lambda: value_counts(ranking.rows, "tie_group"))
        self.units: dict[str, str] = {
            **{column.name: unit for column in COLUMNS if (unit := self._unit(column))},
            "price": self.cost,
            "cup": _(
                "{currency}/h per {score_unit}",
                currency=state.value(params, "currency"),
                score_unit=self.score_unit,
            ),
        }

    def of(self, name: str) -> Render:
        """Renderer of a column's cells."""
        render = RENDERERS.get(name)
        return partial(render, self) if render else self._plain(name)

    def _plain(self, name: str) -> Render:
        shown = self._show(COLUMN[name])
        # Made once for the column and not for each of hundreds of rows.
        nothing = empty_cell(name)

        def render(row: RankingRow) -> Any:
            value = getattr(row, name)
            return nothing if value in (None, "") else shown(value)

        return render

    def _show(self, column: RankingColumn) -> Callable[[Any], Any]:
        if scale := self._scale(column):
            return scale.text
        if column.name in words.OF_VALUES:
            return lambda value: ", ".join(
                str(words.category(column.name, v)) for v in value.split()
            )
        readers: dict[ColumnType, Callable[[Any], Any]] = {
            ColumnType.NUMBER: figures.quantity,
            ColumnType.INTEGER: figures.quantity,
            ColumnType.DECIMAL: figures.figure,
            ColumnType.BOOLEAN: lambda value: _("yes") if value else _("no"),
            ColumnType.TIME: lambda value: str(value.date()),
        }
        return readers.get(column.kind, str)

    def _scale(self, column: RankingColumn) -> figures.UnitScale | None:
        if column.scale is None:
            return None
        return self.scale if column.scale is ColumnScale.SCORE else self.value_scale

    def _unit(self, column: RankingColumn) -> str:
        scale = self._scale(column)
        return scale.unit if scale else column.unit if column.shows_unit else ""

    # --- columns that say more than one value ---------------------------------------------------

    def render_rank(self, row: RankingRow) -> SafeString:
        if row.rank is None:
            return empty_cell("rank")
        # The range of ranks that the intervals allow, so that nobody reads a tie as a lead.
        notes = [f"{row.rank_low}–{row.rank_high}"] if row.rank_low != row.rank_high else []
        notes += [_("tied")] if self.tied[row.tie_group] > 1 else []
        return _note_cell(row.rank, ", ".join(notes))

    def render_offer(self, row: RankingRow) -> SafeString:
        link = reverse("offer", args=[row.offer_id])
        return format_html('<a href="{}">{}</a>', link, row.offer)

    def render_provider(self, row: RankingRow) -> Marked:
        # The blank stands between the name and the swatch that the style sheet draws before it.
        name = format_html(" {}", words.provider(row.provider))
        return Marked.of(name, f"by provider-{row.provider}")

    def render_kind(self, row: RankingRow) -> str:
        return words.kind(row.kind)

    def render_vcpu(self, row: RankingRow) -> Any:
        if row.vcpu is None:
            return empty_cell("vcpu")
        shown = figures.quantity(row.vcpu)
        # Of shared and burstable processors the count says less; dedicated ones need no word.
        if row.vcpu_kind in {"shared", "burstable"}:
            return _note_cell(shown, row.vcpu_kind)
        return shown

    def render_score(self, row: RankingRow) -> SafeString:
        if row.score is None:
            link = reverse("offer", args=[row.offer_id])
            return format_html(
                '<span class="unknown">{}</span><small><a href="{}#measure">{}</a></small>',
                empty_cell("score"),
                link,
                _("measure or import"),
            )
        low, high = row.score_ci95_low, row.score_ci95_high
        spread = figures.ends(self.scale, low, high)
        shown = self.scale.text(row.score)
        if LOWER_BOUND in row.flags.split():
            # An interval around a bound would say that the true figure may be smaller.
            shown, spread = f"> {shown}", _("a bound")
        return self._explain(row, shown, spread)

    def render_price(self, row: RankingRow) -> SafeString:
        if row.price is None:
            lacking = [words.MISSING[m] for m in row.missing.split() if m.endswith("_price")]
            return format_html(
                '<span class="unknown">{}</span><small>{}</small>',
                empty_cell("price"),
                ", ".join(map(str, lacking)),
            )
        # What is as asked for stands above the table; only a different term is worth the space.
        notes = (
            [] if row.price_term == self.term else [str(words.term(row.price_term or "")).lower()]
        )
        if row.period == "hour" and row.price_term == "monthly":
            # Nobody sells this hour: it is a part of a month.
            notes = [_("sold by the month only")]
        notes += [str(row.price_observed_on)] if row.price_observed_on else []
        shown = figures.money(row.price, row.period)
        return self._explain(row, shown, ", ".join(notes) or "price")

    def render_value_per_cost(self, row: RankingRow) -> SafeString:
        value = row.value_per_cost
        if value is None:
            text = _("unknown") if row.price is None else _("not ranked")
            return Marked.of(conditional_escape(text), "unknown")
        low, high = row.value_per_cost_ci95_low, row.value_per_cost_ci95_high
        shown = self.value_scale.text(value)
        # The figure beside it says the same to who cannot see it.
        share = f"{float(value) / (self.best_value or 1):.3f}"
        bar = format_html('<meter value="{}" aria-hidden="true"></meter>', share)
        return bar + _note_cell(shown, figures.ends(self.value_scale, low, high))

    def render_cup(self, row: RankingRow) -> Any:
        return empty_cell("cup") if row.cup is None else figures.figure(row.cup)

    def render_flags(self, row: RankingRow) -> SafeString:
        marks = ((tone, label) for label, tone, _ in map(words.flag, self.age.flags(row)))
        return format_html_join(" ", '<span class="mark {}">{}</span>', marks)

    def render_result_url(self, row: RankingRow) -> SafeString:
        link = lines.own_path(row.result_url)
        return (
            format_html('<a href="{}">{}</a>', link, _("open"))
            if link
            else empty_cell("result_url")
        )

    def render_measured_at(self, row: RankingRow) -> SafeString:
        if row.score is None:
            return empty_cell("score")
        notes = [str(row.measured_at.date()) if row.measured_at else _("undated")]
        notes += [f"n = {count}"] if (count := _count(row)) else []
        return _note_cell(_source(row), ", ".join(notes))

    # --- what a row rests on --------------------------------------------------------------------

    def _explain(self, row: RankingRow, shown: str, note: str) -> SafeString:
        """A figure with a line below it that opens what the row rests on."""
        # popovertarget needs no script, which the strict policy would forbid within the page.
        index = self.indices[row.offer_id]
        return format_html('{}<button popovertarget="w{}">{}</button>', shown, index, note)

    def explanation(self, row: RankingRow, names: Collection[str]) -> SafeString:
        """Basis of a row's figures, opened from its cells; empty where none opens it."""
        if EXPLAINED.isdisjoint(names):
            return SafeString("")
        # Lines of text in one element: of fifty rows, paragraphs were a third of the whole page.
        lines = [
            [row.offer],
            self._about_price(row),
            self._about_score(row, has_link=LINKED.isdisjoint(names)),
            self._about_value(row),
        ]
        return format_html(
            '<div popover id="w{}">{}</div>',
            self.indices[row.offer_id],
            SafeString(
                "\n\n".join("\n".join(map(conditional_escape, line)) for line in lines if line)
            ),
        )

    def _about_price(self, row: RankingRow) -> list[Any]:
        if row.price is None:
            return [_("No price for this payment option")]
        per = row.currency if row.period == "once" else f"{row.currency}/{row.period}"
        hours = _(", {hours} h/month", hours=_hours(row)) if row.period != "once" else ""
        said: list[Any] = [
            f"{COLUMN['price'].label} {figures.money(row.price, row.period)} {per}",
            _(
                "{term}{hours}, includes {included}",
                term=words.term(row.price_term or ""),
                hours=hours,
                included=words.holds(row.price_basis or ""),
            ),
        ]
        zone = _(" in {zone}", zone=row.price_zone) if row.price_zone else ""
        said.append(
            _(
                "Observed {day}{zone}",
                day=row.price_observed_on,
                zone=zone,
            )
        )
        if "setup" in (row.price_basis or "").split("+"):
            said.append(_("Set-up fee spread over {months} months", months=row.setup_months))
        if row.fx_rate is not None:
            said.append(
                _(
                    "Converted at {rate} of {day}",
                    rate=figures.figure(row.fx_rate),
                    day=row.fx_date,
                )
            )
        if source := self.sources.get(row.offer_id):
            said.append(source)
        return said

    def _about_score(self, row: RankingRow, *, has_link: bool) -> list[Any]:
        if row.score is None:
            return [_("Not measured")]
        said: list[Any] = [f"{COLUMN['score'].label} {figures.measure(row.score, self.score_unit)}"]
        ends = " – ".join(
            figures.measure(end, self.score_unit)
            for end in (row.score_ci95_low, row.score_ci95_high)
            if end is not None
        )
        basis = words.INTERVALS[row.interval_basis or ""]
        said.append(f"{figures.percent(0.95)}: {ends} ({basis})")
        count = _count(row)
        day = row.measured_at.date() if row.measured_at else _("undated")
        source = _source(row) if has_link else words.source(row.source or "")
        said.append(format_html("{} {}{}", source, day, f", n = {count}" if count else ""))
        return said

    def _about_value(self, row: RankingRow) -> list[Any]:
        if row.value_per_cost is None:
            return []
        return [_("Score per price") + f" {figures.figure(row.value_per_cost)}"]


# The columns whose cells show more than their value.
RENDERERS: Mapping[str, Callable[[Cells, RankingRow], Any]] = {
    "rank": Cells.render_rank,
    "offer": Cells.render_offer,
    "provider": Cells.render_provider,
    "kind": Cells.render_kind,
    "vcpu": Cells.render_vcpu,
    "score": Cells.render_score,
    "price": Cells.render_price,
    "value_per_cost": Cells.render_value_per_cost,
    "cup": Cells.render_cup,
    "flags": Cells.render_flags,
    "result_url": Cells.render_result_url,
    "measured_at": Cells.render_measured_at,
}


def _hours(row: RankingRow) -> str:
    month, run = figures.quantity(row.hours_per_month), figures.quantity(row.hours_run)
    return month if run == month else _("{run} of {month}", run=run, month=month)


def _source(row: RankingRow) -> Any:
    link = lines.own_path(row.result_url)
    return (
        format_html('<a href="{}">{}</a>', link, words.source(row.source or ""))
        if link
        else words.source(row.source or "")
    )


def _count(row: RankingRow) -> str:
    """Machines × repeats behind the score, or the repeats alone."""
    machines, repeats = row.score_n_instances, row.score_n_repeats
    return f"{machines} × {repeats}" if machines else figures.quantity(repeats)
