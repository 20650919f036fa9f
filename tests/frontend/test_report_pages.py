"""Reports on paper and screen: what was frozen stays, whatever happens to the data."""

from typing import Any

import pytest
from django.test import Client

from backend.accounts.models import AuditEntry
from backend.catalog.services.data_version import data_version_bump
from backend.rankings.models import Report
from backend.site.state import API_DEFAULTS
from tests import factories
from tests.frontend.rows import Measured, published

pytestmark = pytest.mark.django_db


@pytest.fixture
def analyst(client: Client) -> Client:
    client.force_login(factories.user(username="ada", role="write"))
    return client


def frozen(client: Client, query: str = "", **given: str) -> Any:
    return client.post(
        f"/reports/new/{query}", {"title": "Web 2027", "note": "We take it."} | given
    )


def test_report_freezes_rows_basis_and_words(analyst: Client, measured: Measured) -> None:
    published("acme-small", 500.0, "0.02")
    data_version_bump()
    answer = frozen(analyst, "?provider=own")
    assert answer.headers["Location"] == "/reports/web-2027/"
    report = Report.objects.get()
    assert [row["offer_id"] for row in report.document["rows"]] == ["own-rack"]
    assert report.params == {**API_DEFAULTS, "provider": ["own"]}
    page = analyst.get("/reports/web-2027/").content.decode()
    for shown in ("Web 2027", "We take it.", "1,000", "by ada", "own-rack"):
        assert shown in page
    assert AuditEntry.objects.filter(action="report_create", actor="ada").exists()


def test_report_stays_as_it_was_when_prices_change(analyst: Client, measured: Measured) -> None:
    frozen(analyst)
    before = analyst.get("/reports/web-2027/").content
    factories.price(
        measured.offer, "730", unit="month", purchase_model="monthly", currency="USD",
        observed_at=factories.AT.replace(year=factories.AT.year + 1),
    )  # fmt: skip
    data_version_bump()
    strip = lambda page: page.split(b'<main id="main"')[1].split(b"csrf")[0]  # noqa: E731
    assert strip(analyst.get("/reports/web-2027/").content) == strip(before)
    assert b"0.1000" in before


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"title": ""}, "This field is required"),
        ({"title": "!!!"}, "a letter or digit"),
        ({"title": "x" * 200}, "150"),
    ],
)
def test_bad_title_is_an_error_and_nothing_is_stored(
    analyst: Client, measured: Measured, given: dict[str, str], told: str
) -> None:
    assert told in frozen(analyst, **given).content.decode()
    assert not Report.objects.exists()


def test_second_report_of_a_name_is_refused(analyst: Client, measured: Measured) -> None:
    frozen(analyst)
    answer = frozen(analyst, note="another")
    assert "never overwritten" in answer.content.decode()
    assert Report.objects.get().note == "We take it."


def test_empty_ranking_is_not_frozen(analyst: Client, db: None) -> None:
    assert "0 rows" in frozen(analyst).content.decode()
    assert not Report.objects.exists()


def test_viewer_reads_reports_and_freezes_none(client: Client, measured: Measured) -> None:
    assert client.get("/reports/").status_code == 200
    client.force_login(factories.user(username="bob", role="read"))
    assert frozen(client).status_code == 403
    assert not Report.objects.exists()


def test_only_an_admin_takes_a_report_away(analyst: Client, measured: Measured) -> None:
    frozen(analyst)
    assert analyst.post("/reports/web-2027/delete/").status_code == 403
    analyst.force_login(factories.user(username="root", role="admin"))
    assert analyst.post("/reports/web-2027/delete/").status_code == 302
    assert not Report.objects.exists()
    assert AuditEntry.objects.filter(action="report_delete").exists()


def test_report_pages_keep_to_twelve_queries(
    analyst: Client, measured: Measured, django_assert_max_num_queries: Any
) -> None:
    frozen(analyst)
    for path in ("/reports/", "/reports/web-2027/", "/reports/new/?q=rack"):
        with django_assert_max_num_queries(12):
            assert analyst.get(path).status_code == 200
