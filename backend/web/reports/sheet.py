"""The words of a report's sheet of paper, from what was frozen."""

from collections.abc import Iterator, Mapping, Sequence

from backend.domain.conclusions import listed
from backend.rankings.models import Report
from backend.web.reports.lines import (
    ReportLine,
    report_attributions,
    report_chart,
    report_conclusion,
    report_lines,
    report_units,
    top_count,
)
from backend.web.reports.pdf import Sheet, SheetColumn
from backend.web.shared import state, words

MOST_NOTE_SHOWN = 900
MOST_SOURCES = 4


def report_sheet(report: Report, address: str) -> Sheet:
    """The report as one sheet; `address` is where all of it stands."""
    document, units = report.document, report_units(report.document)
    lines = report_lines(document)[: top_count(document)]
    return Sheet(
        title=report.title,
        author=report.created_by,
        lede=f"Frozen on {report.created_at:%Y-%m-%d %H:%M} UTC by {report.created_by}. "
        "Nothing here has changed since.",
        sentence=report_conclusion(document).sentence,
        note=_note(report.note),
        chart=report_chart(document),
        columns=[
            SheetColumn("Rank", 0.9),
            SheetColumn("Offer", 3.2),
            SheetColumn(f"Score, {units['score']}", 1.9, is_number=True),
            SheetColumn(f"Price, {units['price']}", 1.5, is_number=True),
            SheetColumn(f"Value per cost, {units['value']}", 2.2, is_number=True),
            SheetColumn("Source and notes", 1.9),
        ],
        rows=[_cells(line) for line in lines],
        facts=list(_facts(report, lines, units)),
        footer=f"{address} · report {report.pk} · data version {report.data_version} · Rackrate",
    )


def _note(note: str) -> str:
    if len(note) <= MOST_NOTE_SHOWN:
        return note
    return f"{note[:MOST_NOTE_SHOWN].rstrip()} … (the rest is at the address below)"


def _cells(line: ReportLine) -> list[str]:
    cells = line.cells
    whose = (words.provider(cells["provider"]), cells["region"], words.kind(cells["kind"]))
    notes = ", ".join(words.flag(code)[0] for code in cells["flags"].split())
    measured = f"{cells['source'] or 'not stated'} {(cells['measured_at'] or '')[:10]}"
    return [
        line.rank or "unranked",
        f"{cells['offer']}\n{', '.join(filter(None, whose))}",
        f"{line.score}\n{line.score_interval or 'no interval'}",
        f"{line.price or 'no price'}\n{cells['price_observed_on'] or ''}",
        f"{line.value or 'unknown'}\n{line.value_interval}",
        "\n".join(filter(None, (measured.strip(), notes))),
    ]


def _facts(
    report: Report, lines: Sequence[ReportLine], units: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    basis, count = report.document["basis"], report.document["count"]
    first = lines[0].cells
    yield (
        "Metric",
        f"{words.metric(basis['metric'])} in {basis['unit']}, {basis['better']} is better",
    )
    included = words.holds(first["price_basis"]) if first["price_basis"] else "not known"
    as_of = f", as of {basis['as_of']}" if basis["as_of"] else ""
    yield (
        "Prices",
        f"{words.term(basis['term'])}; included: {included}; in {units['price']}, "
        f"{basis['hours_per_month']} hours a month{as_of}",
    )
    chips = state.chips(report.params, "")
    yield "Filters", "; ".join(f"{chip.label}: {chip.value}" for chip in chips) or "none"
    yield (
        "Offers",
        f"{len(lines)} of {count} shown; {basis['without_score_count']} more had no figure for "
        "the metric. Intervals are 95 %; ranks in brackets are those the data allow.",
    )
    for label, column in (
        ("Measured or published at", "result_url"),
        ("Exchange rates", "fx_date"),
    ):
        known = sorted({str(line.cells[column]) for line in lines if line.cells[column]})
        if known:
            yield label, listed(known, MOST_SOURCES)
    for one in report_attributions(report.document):
        yield one.figures, one.text
