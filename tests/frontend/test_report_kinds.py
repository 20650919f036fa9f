"""Comparisons, scenarios and cost models as reports: one list, one page, one sheet of paper."""

from io import BytesIO
from typing import Any

import pytest
from django.test import Client
from pypdf import PdfReader

from backend.accounts.services.workspaces import default_workspace
from backend.catalog.models import HardwareModel
from backend.catalog.services.data_version import data_version_bump
from backend.rankings.models import Report
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.models import Scenario
from backend.scenarios.services.scenarios import (
    scenario_create,
    scenario_delete,
    scenario_freeze,
)
from tests import factories
from tests.e2e.every_page import HARDWARE
from tests.frontend.rows import Measured, published

pytestmark = pytest.mark.django_db
STARTUP = "startup-with-five-busy-hours"


@pytest.fixture
def analyst(client: Client) -> Client:
    client.force_login(factories.user(username="ada", role="write"))
    return client


def stored(key: str = "startup") -> Scenario:
    return scenario_create(
        workspace=default_workspace(), document=TEMPLATES[key].document, actor="ada", template=key
    )


def page(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, path
    return " ".join(answer.content.decode().split())


def paper(client: Client, slug: str) -> str:
    """Text of the PDF, which is one page of A4 and of Letter."""
    texts = []
    for query in ("", "?paper=letter"):
        answer = client.get(f"/reports/{slug}.pdf{query}")
        (one,) = PdfReader(BytesIO(answer.content)).pages
        texts.append(" ".join(one.extract_text().split()))
    return texts[0]


def test_comparison_freezes_against_its_baseline(analyst: Client, measured: Measured) -> None:
    published("acme-small", 500.0, "0.02")
    data_version_bump()
    address = "?o=own-rack,acme-small&base=acme-small"
    form = page(analyst, f"/reports/new/comparison/{address}")
    assert "this comparison" in form
    assert 'href="/reports/new/comparison/?' in page(analyst, f"/compare/{address}")
    answer = analyst.post(f"/reports/new/comparison/{address}", {"title": "Two"})
    assert answer.headers["Location"] == "/reports/two/"
    report = Report.objects.get()
    assert [row["offer_id"] for row in report.document["rows"]] == ["own-rack", "acme-small"]
    for text in (page(analyst, "/reports/two/"), paper(analyst, "two")):
        # 73 USD a month are 0.1 USD an hour, five times 0.02; twice the score for it.
        assert "+400%" in text
        assert "−60%" in text
        assert "is most likely the best value" in text
    assert "/compare/?" in page(analyst, "/reports/two/")
    assert analyst.post("/reports/new/comparison/", {"title": "None"}).status_code == 404


def test_scenario_freezes_into_a_report_that_outlives_it(analyst: Client) -> None:
    scenario = stored()
    assert f"/reports/new/scenario/{STARTUP}/" in page(analyst, f"/scenarios/{STARTUP}/")
    asked = {"title": "Hybrid", "note": "We take it."}
    answer = analyst.post(f"/reports/new/scenario/{STARTUP}/", asked)
    assert answer.headers["Location"] == "/reports/hybrid/"
    scenario.refresh_from_db()
    assert scenario.frozen_at is not None
    scenario_delete(scenario=scenario, actor="ada")
    for text in (page(analyst, "/reports/hybrid/"), paper(analyst, "hybrid")):
        for shown in ("We take it.", "1,320", "hybrid, burst 0.4 USD/hour", "unit-hours"):
            assert shown in text
    assert f'href="/scenarios/{STARTUP}/"' in page(analyst, "/reports/hybrid/")


def test_refused_report_leaves_the_scenario_open(analyst: Client) -> None:
    scenario = stored()
    answer = analyst.post(f"/reports/new/scenario/{STARTUP}/", {"title": "New"})
    assert "never overwritten" in answer.content.decode()
    scenario.refresh_from_db()
    assert scenario.frozen_at is None


def test_cost_model_freezes_with_its_assumptions(analyst: Client) -> None:
    analyst.post("/hardware/new/", HARDWARE)
    model = HardwareModel.objects.get()
    assert f"/reports/new/hardware/{model.pk}/" in page(analyst, f"/hardware/{model.pk}/")
    analyst.post(f"/reports/new/hardware/{model.pk}/", {"title": "Our rack"})
    for text in (page(analyst, "/reports/our-rack/"), paper(analyst, "our-rack")):
        for shown in ("One server costs", "2 × server at 8,000 EUR", "37signals", "Total"):
            assert shown in text
        assert str(model.cost["price_per_month"]) not in text
    assert f'href="/hardware/{model.pk}/"' in page(analyst, "/reports/our-rack/")


def test_one_list_has_everything_that_was_frozen(
    analyst: Client, measured: Measured, django_assert_max_num_queries: Any
) -> None:
    analyst.post("/reports/new/", {"title": "Ranked"})
    stored()
    analyst.post(f"/reports/new/scenario/{STARTUP}/", {"title": "Hybrid"})
    scenario_freeze(scenario=stored("events"), actor="ada")
    with django_assert_max_num_queries(12):
        text = page(analyst, "/reports/")
    assert text.count("Scenario without a report") == 1
    for address in ("/reports/ranked/", "/reports/hybrid/", "/scenarios/event-that"):
        assert f'href="{address}' in text
    assert f'href="/scenarios/{STARTUP}/' not in text


def test_readers_freeze_nothing(client: Client) -> None:
    stored()
    client.force_login(factories.user(username="bob", role="read"))
    for address in (
        f"scenario/{STARTUP}/",
        "comparison/?o=x",
        f"hardware/{'0' * 8}-0000-4000-8000-{'0' * 12}/",
    ):
        assert client.post(f"/reports/new/{address}", {"title": "No"}).status_code == 403
    assert not Report.objects.exists()
