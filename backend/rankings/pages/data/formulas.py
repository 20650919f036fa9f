"""Formulas to paste into a spreadsheet or a terminal, which read a list from here.

The addresses are percent-encoded already; still every text is quoted as its language asks.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from backend.core.rest.table import Column, ColumnType
from backend.site.language import _

# Excel's WEBSERVICE takes no longer one.
LONGEST_ADDRESS = 2_048
# Of a text within a formula; longer ones are joined of pieces.
LONGEST_EXCEL_TEXT = 255
TYPES_A_LINE = 3
BASIC = "When asked how to sign in: Basic, any user name, an API token as the password."
M_TYPES = {
    ColumnType.TEXT: "type text",
    ColumnType.WORDS: "type text",
    ColumnType.INTEGER: "Int64.Type",
    ColumnType.NUMBER: "type number",
    ColumnType.DECIMAL: "type number",
    ColumnType.BOOLEAN: "type logical",
    ColumnType.DATE: "type date",
    ColumnType.TIME: "type datetimezone",
}


@dataclass(frozen=True)
class FormulaSource:
    """A list to read: its CSV address, its columns, and how it is asked."""

    csv_url: str
    columns: Sequence[Column]
    # Address of one number, ending in `?` or `&`; empty where there is none.
    value_url: str = ""
    needs_token: bool = False
    """True if it wants an Authorization header; an address of a feed does not."""


@dataclass(frozen=True)
class Formula:
    """A formula: where it goes, its text, and what to know of it."""

    key: str
    title: str
    text: str
    notes: Sequence[str]


def formulas(source: FormulaSource) -> list[Formula]:
    """Formulas that work for the source, spreadsheets first."""
    sheets = [power_query(source)]
    # IMPORTDATA cannot send a header, so there is no way for it to sign in.
    if not source.needs_token:
        sheets.append(import_data(source))
    sheets.append(libre_office(source))
    if source.value_url and not source.needs_token:
        sheets.append(value_cell(source))
    return [*sheets, curl(source), python(source)]


def power_query(source: FormulaSource) -> Formula:
    """Power Query M that types each column under en-US, whatever the computer's own language."""
    typed = [f'{{"{column.name}", {M_TYPES[column.kind]}}}' for column in source.columns]
    lines = [", ".join(typed[n : n + TYPES_A_LINE]) for n in range(0, len(typed), TYPES_A_LINE)]
    types = ",\n        ".join(lines)
    text = f"""let
    Answer = Web.Contents({m_text(source.csv_url)}),
    Source = Csv.Document(Answer, [Delimiter = ",", Encoding = 65001, QuoteStyle = QuoteStyle.Csv]),
    Headed = Table.PromoteHeaders(Source, [PromoteAllScalars = true]),
    Known = Table.ReplaceValue(Headed, "", null, Replacer.ReplaceValue, Table.ColumnNames(Headed)),
    Typed = Table.TransformColumnTypes(Known, {{
        {types}
    }}, "en-US")
in
    Typed
"""
    sign_in = "" if source.needs_token else _("When asked how to sign in: Anonymous.")
    where = _("Data ▸ Get Data ▸ From Other Sources ▸ Blank Query ▸ Advanced Editor.")
    return Formula("power-query", _("Excel and Power BI"), text, [where, sign_in or BASIC])


def import_data(source: FormulaSource) -> Formula:
    """Google Sheets; the locale keeps decimal points from becoming thousands."""
    text = f'=IMPORTDATA("{source.csv_url}", ",", "en_US")'
    notes = [_("Refreshed about hourly while the sheet is open.")]
    return Formula("importdata", "Google Sheets", text, notes)


def libre_office(source: FormulaSource) -> Formula:
    """The address for LibreOffice's dialog, and the way there."""
    notes = [
        _("Sheet ▸ External Links…: paste the address, press Enter."),
        _("Language: English (USA). Separator: comma. Switch on “Detect special numbers”."),
        _("Choose CSV_all and tick “Update every” to refresh it automatically."),
        *([BASIC] if source.needs_token else []),
    ]
    return Formula("libreoffice", "LibreOffice Calc", source.csv_url, notes)


def value_cell(source: FormulaSource) -> Formula:
    """A number for the offer whose identifier stands in A2."""
    start = excel_text(f"{source.value_url}column=value_per_cost&offer=")
    # With both separators stated, since the language of the spreadsheet decides otherwise.
    text = f'=NUMBERVALUE(WEBSERVICE({start}&ENCODEURL(A2)), ".", ",")'
    notes = [
        _("Put an offer_id into A2. Use any numeric column instead of value_per_cost."),
        _("Excel for Windows, and LibreOffice."),
    ]
    return Formula("webservice", _("One number in a cell"), text, notes)


def curl(source: FormulaSource) -> Formula:
    """A command; the token is read from the environment, never written into it."""
    header = '-H "Authorization: Bearer $RACKRATE_TOKEN" ' if source.needs_token else ""
    # -f: the text of an error must not become the file of a table.
    text = f"curl -fsS --compressed {header}-o rankings.csv {shlex.quote(source.csv_url)}"
    return Formula("curl", "curl", text, _token_note(source))


def python(source: FormulaSource) -> Formula:
    """A script that needs nothing but Python."""
    headers = ""
    if source.needs_token:
        headers = ', headers={"Authorization": "Bearer " + os.environ["RACKRATE_TOKEN"]}'
    text = f"""import csv
import io{chr(10) + "import os" if source.needs_token else ""}
import urllib.request

request = urllib.request.Request({py_text(source.csv_url)}{headers})
with urllib.request.urlopen(request, timeout=60) as answer:
    text = answer.read().decode("utf-8")
rows = list(csv.DictReader(io.StringIO(text, newline="")))
print(len(rows), rows[0] if rows else "")
"""
    return Formula("python", "Python", text, _token_note(source))


def _token_note(source: FormulaSource) -> list[str]:
    return ["RACKRATE_TOKEN holds an API token."] if source.needs_token else []


# --- texts in the languages -------------------------------------------------------------------


def m_text(text: str) -> str:
    """A text of Power Query M."""
    # In M, `#(` begins an escape sequence, and `#(#)` stands for the sign itself.
    return '"' + text.replace("#(", "#(#)(").replace('"', '""') + '"'


def py_text(text: str) -> str:
    """A text of Python, in double quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def excel_text(text: str) -> str:
    """A text of an Excel formula, joined of pieces that are short enough."""
    step = LONGEST_EXCEL_TEXT
    pieces = [text[start : start + step] for start in range(0, len(text), step)] or [""]
    return "&".join('"' + piece.replace('"', '""') + '"' for piece in pieces)
