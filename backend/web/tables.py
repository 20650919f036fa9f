"""The ranking as a table: one method per column says how its cell reads."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import django_tables2 as tables
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from backend.rankings.selectors import Ranking, RankingRow
from backend.web import figures, lines, state, words
from backend.web.templatetags.rackrate import flags, provider_name

NUMBERS = {"rank", "vcpu", "ram_gib", "score", "price", "value_per_cost", "cup"}
# Figures are read best first, so a first click on these sorts downwards.
DESCENDING_FIRST = {"score", "value_per_cost", "vcpu", "ram_gib", "measured_at"}
# Columns that say nothing of any offer in the whole list are left out.
MAY_HIDE = ("region", "cup", "flags")


def _unknown(text: str) -> SafeString:
    return format_html('<span class="unknown">{}</span>', text)


def is_own(row: RankingRow) -> bool:
    """Whether the row is a machine of one's own that was measured, not a published figure."""
    return row.provider == "own" and row.source != "published"


class RankingTable(tables.Table):  # type: ignore[misc]
    """Rows of `rankings.selectors.Ranking`, already sorted and cut to one page."""

    rank = tables.Column(verbose_name="Rank", empty_values=())
    offer = tables.Column(verbose_name="Offer")
    provider = tables.Column(verbose_name="Provider")
    kind = tables.Column(verbose_name="Kind")
    region = tables.Column(verbose_name="Region", empty_values=())
    vcpu = tables.Column(verbose_name="vCPU", empty_values=())
    ram_gib = tables.Column(verbose_name="RAM", empty_values=())
    score = tables.Column(empty_values=())
    price = tables.Column(empty_values=())
    value_per_cost = tables.Column(empty_values=())
    cup = tables.Column(verbose_name="CUP", empty_values=())
    flags = tables.Column(verbose_name="Notes", empty_values=(), orderable=False)
    measured_at = tables.Column(verbose_name="Source", empty_values=())

    class Meta:
        template_name = "ranking/table.html"
        attrs = {"class": "figures wide"}
        orderable = False

    def __init__(
        self,
        rows: Sequence[RankingRow],
        *,
        ranking: Ranking,
        params: state.Params,
        path: str,
        scale: figures.Scale,
    ) -> None:
        self.scale = scale
        self.term = state.value(params, "term")
        cost = state.cost(params)
        self.value_scale = figures.value_scale(scale, ranking.metric, cost)
        self.units = {
            "ram_gib": "GiB",
            "score": scale.unit,
            "price": cost,
            "value_per_cost": self.value_scale.unit,
            "cup": f"{state.value(params, 'currency')}/h per CMIPS",
        }
        self.tied = Counter(row.tie_group for row in ranking.rows)
        hidden = [name for name in MAY_HIDE if not any(getattr(r, name) for r in ranking.rows)]
        super().__init__(rows, exclude=hidden)
        self.numbers = NUMBERS
        self.headings = {
            name: state.heading(params, path, name, is_descending_first=name in DESCENDING_FIRST)
            for name in self.columns.names()
            if name != "flags"
        }

    def body(self) -> Iterator[tuple[bool, list[tuple[str, str, Any]]]]:
        """Rows as (is own, cells as (column, class, content)); attributes are looked up once."""
        classes = {
            column.name: "number" if column.name in NUMBERS else "" for column in self.columns
        }
        for row in self.rows:
            cells = [(name, css, row.get_cell(name)) for name, css in classes.items()]
            yield is_own(row.record), cells

    def render_rank(self, record: RankingRow) -> SafeString:
        if record.rank is None:
            return _unknown("unranked")
        told = []
        if record.rank_low != record.rank_high:
            told.append(f"{record.rank_low}–{record.rank_high}")
        if self.tied[record.tie_group] > 1:
            told.append("tied")
        return format_html(
            '<span class="rank">{}</span><small class="nowrap" title="{}">{}</small>',
            record.rank,
            f"Places it may hold; tie group {record.tie_group}" if told else "",
            ", ".join(told),
        )

    def render_offer(self, record: RankingRow) -> SafeString:
        return format_html(
            '<a href="{}">{}</a>', reverse("offer", args=[record.offer_id]), record.offer
        )

    def render_provider(self, value: str) -> SafeString:
        return format_html('<span class="nowrap">{}</span>', provider_name(value))

    def render_kind(self, value: str) -> str:
        return words.kind(value)

    def render_region(self, value: str | None) -> Any:
        if not value:
            return _unknown("not stated")
        return format_html('<span class="nowrap">{}</span>', value)

    def render_vcpu(self, record: RankingRow) -> Any:
        if record.vcpu is None:
            return _unknown("not stated")
        shown = figures.quantity(record.vcpu)
        if record.vcpu_kind in {"shared", "burstable"}:
            return format_html("{}<small>{}</small>", shown, words.VCPU_KINDS[record.vcpu_kind])
        return shown

    def render_ram_gib(self, value: Any) -> Any:
        return _unknown("not stated") if value is None else figures.quantity(value)

    def render_score(self, record: RankingRow) -> SafeString:
        if record.score is None:
            return _unknown("not measured")
        return self._with_interval(
            record.score,
            figures.figure(self.scale.shown(record.score)),
            figures.figure(self.scale.shown(record.score_ci95_low)),
            figures.figure(self.scale.shown(record.score_ci95_high)),
        )

    def render_price(self, record: RankingRow) -> SafeString:
        if record.price is None:
            return _unknown("no price")
        term = words.term(record.price_term or "")
        # What is as asked for stands above the table; only a different term is worth the room.
        told = [] if record.price_term == self.term else [term.lower()]
        if record.price_basis != "machine":
            told.append(str(record.price_basis).replace("_", " "))
        if record.price_observed_on:
            told.append(str(record.price_observed_on))
        return format_html(
            '<span title="{} {} · {} · {} · observed {}">{}</span><small>{}</small>',
            figures.plain(record.price),
            record.currency,
            term,
            record.price_basis,
            record.price_observed_on,
            figures.money(record.price, record.period or ""),
            ", ".join(told),
        )

    def render_value_per_cost(self, record: RankingRow) -> SafeString:
        value = record.value_per_cost
        if value is None:
            return _unknown("unknown" if record.price is None else "not ranked")
        low, high = record.value_per_cost_ci95_low, record.value_per_cost_ci95_high
        cells = [figures.figure(self.value_scale.shown(v)) for v in (value, low, high)]
        shown = format_html('<span class="strong">{}</span>', cells[0])
        return self._with_interval(value, shown, cells[1], cells[2])

    def render_cup(self, value: Any) -> SafeString:
        if value is None:
            return _unknown("unknown")
        return format_html('<span title="{}">{}</span>', figures.plain(value), f"{value:.7f}")

    def render_flags(self, record: RankingRow) -> SafeString:
        return flags(record.flags or "")

    def render_measured_at(self, record: RankingRow) -> SafeString:
        link = lines.own_path(record.result_url)
        source = format_html('<a href="{}">{}</a>', link, record.source) if link else record.source
        machines, repeats = record.score_n_instances, record.score_n_repeats
        count = f"{machines} × {repeats}" if machines else figures.quantity(repeats)
        basis = words.INTERVALS.get(record.interval_basis or "", "")
        told = [str(record.measured_at.date()) if record.measured_at else "undated"]
        told += [f"n = {count}"] if count else []
        return format_html(
            '<span class="nowrap" title="{}">{}<small>{}</small></span>',
            f"interval from {basis}" if basis else "no spread is known",
            source,
            " · ".join(told),
        )

    def _with_interval(self, value: Any, shown: Any, low: str, high: str) -> SafeString:
        spread = f"{low} – {high}" if low and high else "no interval"
        return format_html(
            '<span title="{}">{}</span><small>{}</small>', figures.plain(value), shown, spread
        )
