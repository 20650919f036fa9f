"""A report on one sheet of paper: sentence, picture, first rows, assumptions and sources."""

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any
from xml.sax.saxutils import escape

from reportlab.graphics.shapes import Drawing, Line, Rect, String
from reportlab.lib.colors import HexColor
from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.pagesizes import A4, LETTER
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.platypus import Flowable, KeepInFrame, Paragraph, SimpleDocTemplate, Spacer
from reportlab.platypus import Table as PdfTable

from backend.rankings.models import Report
from backend.reports.pages.sheet import Sheet
from backend.site.language import _

PAPERS: Mapping[str, tuple[float, float]] = {"a4": A4, "letter": LETTER}
MARGIN = 15 * mm
LABEL_WIDTH = 150
# Everything on the sheet shrinks together, so a long note would make the table unreadable.
MOST_NOTE_SHOWN = 900
INK, MUTED, LINE, BAR = map(HexColor, ("#16202b", "#566270", "#a9b3bd", "#0b5c8e"))
# One of the fonts that every reader of PDF has, so none is embedded.
FONT, BOLD = "Helvetica", "Helvetica-Bold"
TEXT = ParagraphStyle("text", fontName=FONT, fontSize=9, leading=12, textColor=INK)
SMALL = ParagraphStyle("small", TEXT, fontSize=7.5, leading=9.5, textColor=MUTED)
TITLE = ParagraphStyle("title", TEXT, fontName=BOLD, fontSize=17, leading=21)
SENTENCE = ParagraphStyle("sentence", TEXT, fontName=BOLD, fontSize=11.5, leading=15)
HEAD = ParagraphStyle("head", TEXT, fontName=BOLD, fontSize=9.5, spaceBefore=6)
CELL = ParagraphStyle("cell", TEXT, fontSize=7.5, leading=9)
FIGURE = ParagraphStyle("figure", CELL, alignment=TA_RIGHT)


def report_pdf(report: Report, sheet: Sheet, address: str, paper: str) -> bytes:
    """A page of A4 or Letter; what would not fit is set smaller."""
    stream = BytesIO()
    document = SimpleDocTemplate(
        stream,
        pagesize=PAPERS[paper],
        title=report.title,
        author=report.created_by,
        subject=sheet.conclusion.sentence,
        creator="Rackrate",
        lang="en",
        leftMargin=MARGIN,
        rightMargin=MARGIN,
        topMargin=MARGIN,
        bottomMargin=MARGIN,
        # Without times and random ids in the file: the same report gives the same bytes.
        invariant=1,
    )
    # A frame has six points of its own on each side.
    width, height = document.width - 12, document.height - 12
    parts = list(_parts(report, sheet, address, width))
    document.build([KeepInFrame(width, height, parts, mode="shrink")])
    return stream.getvalue()


def _parts(report: Report, sheet: Sheet, address: str, width: float) -> Iterator[Flowable]:
    yield _text(report.title, TITLE)
    lede = _(
        "Snapshot of {time} UTC by {person}. Later changes do not affect it.",
        time=f"{report.created_at:%Y-%m-%d %H:%M}",
        person=report.created_by,
    )
    yield _text(lede, SMALL)
    yield Spacer(0, 6)
    yield _text(sheet.conclusion.sentence, SENTENCE)
    if sheet.conclusion.detail:
        yield _text(sheet.conclusion.detail, SMALL)
    if report.note:
        yield Spacer(0, 4)
        yield _text(_shorten(report.note), TEXT)
    if sheet.chart:
        yield _text(f"{sheet.chart['title']}, {sheet.chart['unit']}", HEAD)
        yield _bars(sheet.chart["bars"], width)
    yield Spacer(0, 6)
    yield _table(sheet, width)
    yield _text(_("Assumptions and sources"), HEAD)
    for name, words in sheet.facts:
        # Escaped: reportlab reads markup in its paragraphs, and these words come from people.
        yield Paragraph(f"<b>{escape(name)}:</b> {escape(words)}", SMALL)
    yield Spacer(0, 6)
    footer = _(
        "{address} · report {report} · data version {data_version} · Rackrate",
        address=address,
        report=report.pk,
        data_version=report.data_version,
    )
    yield _text(footer, SMALL)


def _shorten(note: str) -> str:
    if len(note) <= MOST_NOTE_SHOWN:
        return note
    return _(
        "{beginning} … (the rest is at the address below)",
        beginning=note[:MOST_NOTE_SHOWN].rstrip(),
    )


def _text(words: str, style: ParagraphStyle) -> Paragraph:
    return Paragraph(escape(words).replace("\n", "<br/>"), style)


def _table(sheet: Sheet, width: float) -> PdfTable:
    styles = [FIGURE if column.is_number else CELL for column in sheet.columns]
    heads = [
        Paragraph(f"<b>{escape(column.head)}</b>", style)
        for column, style in zip(sheet.columns, styles, strict=True)
    ]
    rows = [
        [_text(cell, style) for cell, style in zip(row, styles, strict=True)] for row in sheet.rows
    ]
    whole = sum(column.share for column in sheet.columns)
    return PdfTable(
        [heads, *rows],
        colWidths=[width * column.share / whole for column in sheet.columns],
        repeatRows=1,
        style=[
            ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ("LINEBELOW", (0, 0), (-1, 0), 0.8, LINE),
            ("LINEBELOW", (0, 1), (-1, -1), 0.3, LINE),
            ("LEFTPADDING", (0, 0), (-1, -1), 2),
            ("RIGHTPADDING", (0, 0), (-1, -1), 3),
            ("TOPPADDING", (0, 0), (-1, -1), 2),
            ("BOTTOMPADDING", (0, 0), (-1, -1), 2),
        ],
    )


def _bars(bars: Sequence[Mapping[str, Any]], width: float) -> Drawing:
    """Bars from zero with their intervals; the figures are in the table below."""
    step = 12
    drawing = Drawing(width, step * len(bars) + 4)
    # All may cost nothing; a bar of none has no length at any scale.
    longest = max(bar["high"] or bar["value"] for bar in bars) or 1
    scale = (width - LABEL_WIDTH - 8) / longest
    for number, bar in enumerate(bars):
        y = step * (len(bars) - number) - 9
        label = _fit_label(bar["label"], LABEL_WIDTH - 6)
        drawing.add(String(0, y + 1, label, fontName=FONT, fontSize=7.5, fillColor=INK))
        solid: Any = {"fillColor": BAR, "strokeColor": None}
        drawing.add(Rect(LABEL_WIDTH, y, bar["value"] * scale, 7, **solid))
        if bar["low"] is not None and bar["high"] is not None:
            low, high = (LABEL_WIDTH + bar[end] * scale for end in ("low", "high"))
            drawing.add(Line(low, y + 3.5, high, y + 3.5, strokeColor=INK, strokeWidth=0.8))
            for end in (low, high):
                drawing.add(Line(end, y + 1, end, y + 6, strokeColor=INK, strokeWidth=0.8))
    return drawing


def _fit_label(label: str, width: float) -> str:
    """A label that fits beside its bar; the table has the whole name."""
    shown = label
    while stringWidth(shown, FONT, 7.5) > width:
        shown = shown[:-2] + "…"
    return shown
