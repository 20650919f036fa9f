"""The sheet of a frozen ranking or comparison, from its stored cells."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from backend.domain.conclusions import name_list
from backend.web.reports.lines import (
    ReportLine,
    base_label,
    report_attributions,
    report_chart,
    report_conclusion,
    report_lines,
    report_units,
    top_count,
)
from backend.web.reports.sheet import Sheet, SheetColumn
from backend.web.shared import state, words
from backend.web.shared.language import _, lazy

# Each is an address of a line or two; the page has all of them.
MOST_SOURCES = 4
INTERVALS = lazy("Intervals are 95 %; ranks in brackets are those the data allow.")


def ranking_sheet(document: Mapping[str, Any], params: state.Params) -> Sheet:
    """The first rows; `params` are those of the page that was frozen."""
    units = report_units(document)
    lines = report_lines(document)[: top_count(document)]
    return Sheet(
        conclusion=report_conclusion(document),
        chart=report_chart(document),
        columns=[
            SheetColumn(_("Rank"), 0.9),
            SheetColumn(_("Offer"), 3.2),
            SheetColumn(_("Score, {units}", units=units["score"]), 1.9, is_number=True),
            SheetColumn(_("Price, {units}", units=units["price"]), 1.5, is_number=True),
            SheetColumn(_("Value per cost, {units}", units=units["value"]), 2.2, is_number=True),
            SheetColumn(_("Source and notes"), 1.9),
        ],
        rows=[_cells(line) for line in lines],
        facts=list(_facts(document, params, lines, units)),
    )


def _cells(line: ReportLine) -> list[str]:
    cells = line.cells
    whose = (words.provider(cells["provider"]), cells["region"], words.kind(cells["kind"]))
    notes = ", ".join(str(words.flag(code)[0]) for code in cells["flags"].split())
    measured = f"{cells['source'] or _('not stated')} {(cells['measured_at'] or '')[:10]}"
    return [
        line.rank or _("unranked"),
        f"{cells['offer']}\n{', '.join(map(str, filter(None, whose)))}",
        f"{line.score}\n{line.score_interval or _('no interval')}",
        _lines(line.price or _("no price"), line.price_delta, cells["price_observed_on"]),
        _lines(line.value or _("unknown"), line.value_delta, line.value_interval),
        _lines(measured.strip(), notes),
    ]


def _lines(*parts: str | None) -> str:
    return "\n".join(filter(None, parts))


def _facts(
    document: Mapping[str, Any],
    params: state.Params,
    lines: Sequence[ReportLine],
    units: Mapping[str, str],
) -> Iterator[tuple[str, str]]:
    basis = document["basis"]
    first = lines[0].cells
    yield (
        _("Metric"),
        _(
            "{metric} in {unit}, {better} is better",
            metric=words.metric(basis["metric"]),
            unit=basis["unit"],
            better=basis["better"],
        ),
    )
    included = words.holds(first["price_basis"]) if first["price_basis"] else _("not known")
    as_of = _(", as of {day}", day=basis["as_of"]) if basis["as_of"] else ""
    yield (
        _("Prices"),
        _(
            "{term}; included: {included}; in {unit}, {hours} hours a month{as_of}",
            term=words.term(basis["term"]),
            included=included,
            unit=units["price"],
            hours=basis["hours_per_month"],
            as_of=as_of,
        ),
    )
    chips = state.chips(params, "")
    yield _("Filters"), "; ".join(f"{chip.label}: {chip.value}" for chip in chips) or "none"
    yield _("Offers"), f"{_count_words(document, len(lines))} {INTERVALS}"
    for label, column in (
        (_("Measured or published at"), "result_url"),
        (_("Exchange rates"), "fx_date"),
    ):
        # Of the rows shown only: the sheet must name the source of every figure on it.
        known = sorted({str(line.cells[column]) for line in lines if line.cells[column]})
        if known:
            yield label, name_list(known, MOST_SOURCES)
    for report_attribution in report_attributions(document):
        yield report_attribution.figures, report_attribution.text


def _count_words(document: Mapping[str, Any], shown: int) -> str:
    basis = document["basis"]
    if base := base_label(document):
        return _(
            "Differences in percent are against {base}; ranks are among all offers.", base=base
        )
    return _(
        "{shown} of {count} shown; {without_score} more had no figure for the metric.",
        shown=shown,
        count=document["count"],
        without_score=basis["without_score_count"],
    )
