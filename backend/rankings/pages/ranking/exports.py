"""Downloads of the rows that a page shows, in the way that the reader's language writes figures."""

from dataclasses import dataclass

from django.http import HttpRequest
from django.utils.formats import get_format
from django.utils.translation.trans_real import parse_accept_lang_header

from backend.site import state
from backend.site.language import _, lazy

PLAIN_NOTE = lazy("Comma-separated, decimal points")
LOCAL_NOTE = lazy("Semicolons and decimal commas, as your browser’s language writes figures")


@dataclass(frozen=True)
class Export:
    """A format of the same rows."""

    label: str
    url: str
    note: str


def has_decimal_comma(request: HttpRequest) -> bool:
    """True if the first language that the browser asks for writes 0,5 for a half."""
    languages = parse_accept_lang_header(request.headers.get("Accept-Language", ""))
    # The wildcard says nothing of how figures are written.
    first = next((code for code, _ in languages if code != "*"), "en")
    return bool(get_format("DECIMAL_SEPARATOR", lang=first, use_l10n=True) == ",")


def exports(request: HttpRequest, params: state.Params) -> list[Export]:
    """The formats, with exactly the rows, columns and order of the page, unpaged."""

    def link(kind: str, dialect: str | None = None) -> str:
        # A file is whole, and the picks of the page are no filter.
        changes = {"page": None, "per_page": None, "o": None, "dialect": dialect}
        # Over the API: a file and a script get the same bytes.
        return f"/api/v1/rankings.{kind}{state.query(params, **changes)}"

    plain = Export("CSV", link("csv"), PLAIN_NOTE)
    local = Export("CSV", link("csv", "excel-eu"), LOCAL_NOTE)
    first = (
        [local, Export(_("CSV, plain"), plain.url, PLAIN_NOTE)]
        if has_decimal_comma(request)
        else [plain, Export(_("CSV, decimal comma"), local.url, _("Semicolons and decimal commas"))]
    )
    return [
        *first,
        Export("TSV", link("tsv"), _("Tab-separated")),
        Export(_("Excel"), link("xlsx"), _("XLSX with typed cells")),
        Export("JSON", link("json"), _("Pages of the API")),
    ]
