"""A scenario that is too much for its page: calculated in the background, followed, shown."""

from html import unescape
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.test import Client

from backend.accounts.services.workspaces import default_workspace
from backend.scenarios.calc import work
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.models import Scenario, ScenarioJob
from backend.scenarios.pages.forms import ScenarioForm
from backend.scenarios.selectors import scenarios as selectors
from backend.scenarios.services.retention import POLICIES
from backend.scenarios.services.scenarios import scenario_create
from tests import factories
from workers import scenario_jobs

pytestmark = pytest.mark.django_db
BUTTON = "Calculate in the background"


@pytest.fixture
def kept() -> Scenario:
    # A name of its own: pages keep what they made of others.
    document = {**TEMPLATES["startup"].document, "name": f"Startup {uuid4()}"}
    made = scenario_create(workspace=default_workspace(), document=document, actor="ada")
    selectors._stored_results._texts.clear()
    return made


@pytest.fixture
def analyst(client: Client) -> Client:
    client.force_login(factories.user(role="write"))
    return client


def shown(client: Client, url: str, status: int = 200) -> str:
    answer = client.get(url)
    assert answer.status_code == status
    return unescape(answer.content.decode())


def asked(client: Client, scenario: Scenario) -> tuple[ScenarioJob, str]:
    answer = client.post(f"/scenarios/{scenario.slug}/background/")
    job = ScenarioJob.objects.get()
    assert answer["Location"] == f"/scenarios/jobs/{job.pk}/"
    return job, answer["Location"]


def test_page_that_takes_too_long_offers_the_background(
    analyst: Client, kept: Scenario, settings: LazySettings
) -> None:
    settings.WORK_SIGNED_IN_S = -1
    text = shown(analyst, f"/scenarios/{kept.slug}/", 422)
    assert "this takes longer than -1 s" in text
    assert BUTTON in text
    reader = Client()
    reader.force_login(factories.user(role="read"))
    assert BUTTON not in shown(reader, f"/scenarios/{kept.slug}/", 422)


def test_page_of_more_steps_than_are_allowed_offers_the_background(
    analyst: Client, kept: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "MOST_WORK", 1_000)
    assert BUTTON in shown(analyst, f"/scenarios/{kept.slug}/")
    monkeypatch.setattr(selectors, "MOST_WORK", work.MOST_WORK)
    assert BUTTON not in shown(analyst, f"/scenarios/{kept.slug}/")


@pytest.mark.parametrize("is_new", [True, False])
def test_editor_offers_the_background_for_what_cannot_be_saved(
    analyst: Client, kept: Scenario, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    page = "/scenarios/new/" if is_new else f"/scenarios/{kept.slug}/edit/"
    form = ScenarioForm(document=kept.document)
    typed = {name: form[name].value() or "" for name in form.fields} | {"name": "Too large"}
    monkeypatch.setattr(selectors, "MOST_WORK", 1_000)
    refused = analyst.post(page, typed | {"save": "1"})
    assert BUTTON in refused.content.decode()
    begun = analyst.post(page, typed | {"background": "1"})
    job = ScenarioJob.objects.get()
    assert (begun["Location"], job.name) == (f"/scenarios/jobs/{job.pk}/", "Too large")
    wrong = analyst.post(page, typed | {"background": "1", "horizon.days": "-1"})
    assert b"Not saved yet:" in wrong.content
    assert BUTTON not in wrong.content.decode()
    assert ScenarioJob.objects.count() == 1


def test_job_is_followed_until_its_result_is_shown(
    analyst: Client, kept: Scenario, queued: list[object]
) -> None:
    job, page = asked(analyst, kept)
    text = shown(analyst, page)
    assert "It waits for a worker." in text
    assert f'hx-get="{page}"' in text
    assert scenario_jobs.work(job.pk)
    text = shown(analyst, page)
    assert "Workers calculate it." in text
    assert '<progress max="1" value="0.' in text
    while scenario_jobs.work(job.pk):
        pass
    text = shown(analyst, page)
    assert "hx-trigger" not in text.partition('id="job"')[2].partition(">")[0]
    assert f"/api/v1/jobs/{job.pk}/result" in text
    cheapest = selectors.simulate_document(kept.document).result["options"][0]
    assert f'title="{cheapest["cost_total"]}"' in text
    assert "Cost of each option" in text
    forget = POLICIES[0].remove
    assert forget
    job.refresh_from_db()
    assert job.finished_at
    assert forget(job.finished_at.replace(year=2999), 1) == 1
    assert "Its result is no longer kept" in shown(analyst, page)


def test_job_is_cancelled_on_its_page_or_says_why_it_failed(
    analyst: Client, kept: Scenario, settings: LazySettings, queued: list[object]
) -> None:
    settings.SCENARIO_JOBS_OPEN = 1
    job, page = asked(analyst, kept)
    refused = analyst.post(f"/scenarios/{kept.slug}/background/", follow=True)
    assert "1 jobs of this workspace are not done yet" in unescape(refused.content.decode())
    assert analyst.post(f"{page}cancel/")["Location"] == page
    assert "It was cancelled." in shown(analyst, page)
    ScenarioJob.objects.update(state="failed", failure="it is too large")
    assert "It could not be calculated: it is too large." in shown(analyst, page)
    assert job.state == "queued"


def test_job_of_nobody_is_missing(analyst: Client, kept: Scenario) -> None:
    page = f"/scenarios/jobs/{kept.pk}/"
    assert [analyst.get(page).status_code, analyst.post(f"{page}cancel/").status_code] == [404, 404]
