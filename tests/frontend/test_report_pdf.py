"""The PDF of a report: one page of A4 and of Letter, whole names, a title, nothing beyond the edge."""

from io import BytesIO

import pytest
from django.test import Client
from pypdf import PdfReader

from backend.catalog.services.data_version import data_version_bump
from tests import factories
from tests.frontend.rows import published

pytestmark = pytest.mark.django_db
LONG = "very-long-machine-type-name-with-accelerators-and-local-disks.metal-48xl"


@pytest.fixture
def report(client: Client) -> Client:
    """Twelve offers, the dearest first, the best with a name longer than its column."""
    for number in range(12):
        published(f"acme-{number}", 500.0 - number, "0.02", name=f"type-{number}")
    published("acme-long", 5000.0, "0.02", name=LONG)
    data_version_bump()
    client.force_login(factories.user(username="ada", role="write"))
    client.post("/reports/new/", {"title": "Web 2027", "note": "We take <it> & stay. " * 40})
    return client


@pytest.mark.parametrize(
    ("query", "size"), [("", (595, 842)), ("?paper=letter", (612, 792))], ids=["A4", "Letter"]
)
def test_report_pdf_is_one_whole_page(report: Client, query: str, size: tuple[int, int]):
    answer = report.get(f"/reports/web-2027.pdf{query}")
    assert answer.headers["Content-Type"] == "application/pdf"
    read = PdfReader(BytesIO(answer.content))
    (page,) = read.pages
    assert (round(page.mediabox.width), round(page.mediabox.height)) == size
    assert read.metadata is not None
    assert (read.metadata.title, read.metadata.author) == ("Web 2027", "ada")
    assert read.trailer["/Root"]["/Lang"] == "en"
    text = page.extract_text()
    assert LONG in text.replace("\n", "")
    assert "We take <it> & stay." in text
    # Ten rows: the long name and type-0 to type-8.
    assert "type-8" in text
    assert "type-9" not in text
    # 5,000 against 500 at one price
    assert "It gives 10× the performance for the money of type-0" in " ".join(text.split())
    assert "http://testserver/reports/web-2027/" in text
    assert report.get("/reports/web-2027.pdf?paper=a3").status_code == 404


def test_report_page_is_short_until_all_rows_are_asked_for(report: Client):
    report.post("/reports/new/", {"title": "Three", "top": "3"})
    page, whole = (report.get(f"/reports/three/{q}").content.decode() for q in ("", "?rows=all"))
    assert "type-1" in page
    assert "type-2" not in page
    assert "All 13 rows" in page
    assert "type-11" in whole
    assert "mailto:?subject=Three&amp;body=http%3A%2F%2Ftestserver%2Freports%2Fthree%2F" in page
    assert "It gives 10× the performance for the money of type-0" in page
