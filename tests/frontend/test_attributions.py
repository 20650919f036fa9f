"""Whoever shows figures of others names them, on each page and in each workbook."""

import io

import openpyxl
import pytest
from django.test import Client
from pypdf import PdfReader

from backend.accounts.services.workspaces import default_workspace
from backend.catalog.services.data_version import data_version_bump
from backend.foundation.attributions import INSPECTOR_LICENCE
from backend.scenarios.services.scenarios import scenario_create
from tests import factories
from tests.pure.scenarios.documents import all_of, startup

pytestmark = pytest.mark.django_db
METRIC = "metric=stress_ng_div16"
LINKS = (
    'href="https://github.com/SpareCores/sc-inspector-data"',
    'href="https://creativecommons.org/licenses/by-sa/4.0/"',
)
PAGES = (
    f"/?{METRIC}",
    f"/frontier/?{METRIC}",
    "/offers/theirs/",
    "/offers/theirs/scores/stress_ng_div16/",
    "/metrics/stress_ng_div16/",
    "/scenarios/served/",
    "/compare/?o=theirs,ours",
    "/requirements/?target=stress_ng_div16:50",
    "/reports/frozen/",
)


@pytest.fixture
def admin(client: Client) -> Client:
    """Two offers, of which one has a figure under a licence, and a report of both."""
    for slug, licence in (("theirs", INSPECTOR_LICENCE), ("ours", "")):
        of = factories.offer(slug)
        factories.price(of)
        factories.sample(
            of, 100.0, metric="stress_ng_div16", unit="bogo_ops/s", licence=licence,
            source="published" if licence else "measured",
        )  # fmt: skip
    scenario_create(
        workspace=default_workspace(),
        document=startup(
            all_of("cloud", {"offer": "theirs"}),
            name="Served",
            capacity={"metric": "stress_ng_div16", "units_per_score": "1"},
        ),
        actor="ada",
    )
    data_version_bump()
    client.force_login(factories.user(username="ada", role="write"))
    client.post(f"/reports/new/?{METRIC}", {"title": "Frozen"})
    return client


@pytest.mark.parametrize("path", PAGES)
def test_page_names_the_source_and_licence_of_figures(admin: Client, path: str) -> None:
    text = admin.get(path).content.decode()
    for link in LINKS:
        assert text.count(link) == 1


@pytest.mark.parametrize(
    "path",
    [
        f"/?{METRIC}&q=ours",
        "/offers/ours/",
        "/compare/?o=ours",
        "/?metric=cmips_score",
        "/metrics/cmips_score/",
    ],
)
def test_page_names_nobody_where_no_figure_is_of_others(admin: Client, path: str) -> None:
    text = admin.get(path).content.decode()
    assert not any(link in text for link in LINKS)


@pytest.mark.parametrize(
    "path",
    [f"rankings.xlsx?{METRIC}&cols=offer_id,score", "compare.xlsx?o=theirs,ours",
     "requirements.xlsx?target=stress_ng_div16:50"],
)  # fmt: skip
def test_workbook_names_the_source_on_its_sheet_about(admin: Client, path: str) -> None:
    book = openpyxl.load_workbook(io.BytesIO(admin.get(f"/api/v1/{path}").content))
    about = {row[0].value: row[1].value for row in book["About"].iter_rows()}
    assert "CC BY-SA 4.0 (https://creativecommons.org/" in str(about["Published benchmark figures"])


def test_report_on_paper_names_the_source_of_figures(admin: Client) -> None:
    (page,) = PdfReader(io.BytesIO(admin.get("/reports/frozen.pdf").content)).pages
    text = " ".join(page.extract_text().split())
    assert "Spare Cores Inspector Data" in text
    assert "CC BY-SA 4.0" in text
