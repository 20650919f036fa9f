"""Every page writes numbers for people: four digits, no exponents, nothing of Python."""

import html
import re

import pytest
from django.test import Client

from backend.accounts.models import Scope
from tests import factories
from tests.e2e import every_page

# Not text of the page for people to read as figures: code, forms' values, times, quotes as stated.
HIDDEN = re.compile(
    r"<(script|style|code|pre|textarea|time|option|title|svg|data)\b.*?</\1>|<[^>]*>", re.DOTALL
)
NUMBER = re.compile(r"(?<![\w.,:/#@+·-])[0-9][0-9.,\u00a0]*(?![\w:/@-])")
EXPONENT = re.compile(r"(?<![\w.-])[0-9]+(?:\.[0-9]+)?e[+-]?[0-9]+(?![\w-])", re.IGNORECASE)
# An absent value of a cell, and a list, as Python prints them.
NONE = re.compile(r">\s*None\s*<")
LIST = re.compile(r"\[\[|\['")
# What a page states exactly: rows of a file as they were read, sizes of a block.
EXACT = frozenset({"/activity/", "/activity/?since=never", "/metrics/", "/storage/"})
# Days, clocks, addresses, identifiers, and the upper limits of fields, which are exact.
NAMES = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2})?)?|\b\d{1,3}(?:\.\d{1,3}){3}\b|[0-9a-f]{8}-[0-9a-f-]{27}"
    r"|\b(?:to|bis) \d{1,3}(?:[.,]\d{3})+|· [0-9a-f]{6}\b|https?://\S+|\b\d+(?:\.\d+){2,}\b|\b\S+@\S+|\b[A-Za-z]\w*[-_./]\S*"
)


def visible(page: str) -> str:
    """The text of a page without what is no figure."""
    return NAMES.sub(" ", html.unescape(HIDDEN.sub(" ", page)))


def digits(number: str) -> int:
    """Significant digits of a number as it is written."""
    whole = re.sub(r"[^0-9]", "", number)
    has_decimals = bool(re.search(r"[.,][0-9]{1,2}$|[.,][0-9]{4,}$", number.rstrip(".,")))
    return len(whole.lstrip("0") if has_decimals else whole.strip("0"))


@pytest.mark.django_db
@pytest.mark.parametrize("language", ["en", "de"])
def test_no_page_shows_more_than_four_digits_an_exponent_or_none(language, queued):
    admin = factories.user(role=Scope.ADMIN, is_superuser=True)
    pages = every_page.everything(admin)
    client = Client(headers={"Accept-Language": language})
    client.force_login(admin)
    faults = []
    for addresses in pages.values():
        for address in addresses:
            page = client.get(address).content.decode()
            said = visible(page)
            long = {one for one in NUMBER.findall(said) if digits(one) > 4}
            if address in EXACT or "/evidence/" in address:
                long = set()
            faults += [(address, one) for one in sorted(long)]
            faults += [(address, one) for one in EXPONENT.findall(said)]
            faults += [(address, one) for one in (*NONE.findall(page), *LIST.findall(said))]
    assert faults == [], "\n".join(map(str, faults))
