"""Templates of tables, and how those of hosters are read."""

import csv
import datetime as dt
import io
from collections.abc import Mapping
from types import MappingProxyType

import xlsxwriter
from django.db.models import QuerySet

from backend.accounts.models import Workspace
from backend.catalog.calc.tables import offers, price_rows, quotes
from backend.catalog.calc.tables.table_figures import FIRST_YEAR
from backend.catalog.models import TableMapping
from backend.money.money import CURRENCIES

FORMATS = ("csv", "xlsx")
COLUMNS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"quotes": quotes.COLUMNS, "offers": offers.COLUMNS, "prices": price_rows.COLUMNS}
)
WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "kind": offers.KINDS,
    "vcpu_kind": offers.VCPU_KINDS,
    "unit": ("hour", "month", "year", "once"),
    "tax_basis": ("net", "gross", "unknown"),
    "purchase_model": offers.MODELS,
})  # fmt: skip
DAYS = frozenset({"quoted_on", "valid_until", "observed_on", "valid_from", "effective_from"})
AMOUNTS = frozenset({"monthly_net", "monthly_gross", "amount"})
QUANTITIES = frozenset(
    {"setup_net", "setup_gross", "setup", "ram_gib", "disk_gb", "vcpu", "nic_gbit"}
)
COUNTS = frozenset({"cores", "threads", "min_term_months", "minimum_months"})
FIRST_DAY = dt.date(FIRST_YEAR, 1, 1)
LIMITS = (
    (DAYS, "date", ">=", FIRST_DAY),
    (AMOUNTS, "decimal", ">", 0),
    (QUANTITIES, "decimal", ">=", 0),
    (COUNTS, "integer", ">=", 0),
)
LINES = 5_000


def mappings_of(workspace: Workspace) -> QuerySet[TableMapping]:
    """Remembered mappings of a workspace's tables."""
    return TableMapping.objects.filter(workspace=workspace)


def table_template(kind: str, file_format: str) -> bytes:
    """An empty table of a kind, with the columns that its import knows."""
    columns = COLUMNS[kind]
    if file_format == "csv":
        text = io.StringIO(newline="")
        csv.writer(text).writerow(columns)
        # With the mark Excel reads names with accents as they were written.
        return text.getvalue().encode("utf-8-sig")
    return _workbook(columns)


def _workbook(columns: tuple[str, ...]) -> bytes:
    """With a list or limits of what each cell may hold."""
    file = io.BytesIO()
    book = xlsxwriter.Workbook(file, {"in_memory": True})
    sheet, lists = book.add_worksheet("table"), book.add_worksheet("lists")
    bold = book.add_format({"bold": True})
    lists.write_column(0, 0, sorted(CURRENCIES))
    for index, name in enumerate(columns):
        sheet.write_string(0, index, name, bold)
        if rule := _validation(name):
            message = {"error_title": name, "error_message": f"{name}: see docs/tables.md"}
            sheet.data_validation(1, index, LINES, index, rule | message)
    sheet.set_column(0, len(columns) - 1, 15)
    sheet.freeze_panes(1, 0)
    lists.hide()
    book.close()
    return file.getvalue()


def _validation(name: str) -> dict[str, object]:
    """The rule of a column; none for texts."""
    if name == "currency":
        return {"validate": "list", "source": f"=lists!$A$1:$A${len(CURRENCIES)}"}
    if name in WORDS:
        return {"validate": "list", "source": list(WORDS[name])}
    for names, what, criteria, least in LIMITS:
        if name in names:
            return {"validate": what, "criteria": criteria, "value": least}
    return {}
