"""What workspaces share is written by its owner alone, and what they measure stays theirs."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from backend.accounts.models import Workspace
from backend.accounts.services.workspaces import NotOwned, may_write
from backend.benchmarks.models import Run, RunState, Sample
from backend.benchmarks.selectors.samples import samples_count, samples_visible
from backend.benchmarks.selectors.scores import score_groups
from backend.benchmarks.services.summaries import summaries_refresh
from backend.catalog.models import PriceFeed, PriceObservation
from backend.catalog.services.extra_tables import extras_import
from backend.catalog.services.prices import price_remove
from backend.foundation.errors import InvalidValue
from backend.rentals.services.cloud_accounts import account_create
from tests import factories
from tests.backend.conftest import API
from tests.pure.scenarios.documents import all_of, startup

pytestmark = pytest.mark.django_db
ENTRY = {"offer": "shared", "amount": "0.0001", "currency": "USD", "unit": "hour", "reason": "x"}


@pytest.fixture
def other() -> Workspace:
    return Workspace.objects.create(slug="other", name="Other")


@pytest.fixture
def outsider(caller: Callable[..., Client], other: Workspace) -> Client:
    """An admin of the other workspace."""
    factories.workspace()
    return caller("admin", workspace=other)


def posted(client: Client, path: str, document: object) -> Any:
    return client.post(f"{API}/{path}", json.dumps(document), content_type="application/json")


def test_price_of_shared_offer_is_entered_by_its_owner_only(
    outsider: Client, caller: Callable[..., Client]
) -> None:
    factories.offer("shared")
    refused = posted(outsider, "prices", ENTRY)
    assert refused.status_code == 403
    assert "only the workspace Default" in refused.json()["detail"]
    assert not PriceObservation.objects.exists()
    assert posted(caller("write"), "prices", ENTRY).status_code == 201


def test_price_of_shared_offer_is_neither_reviewed_nor_removed(
    outsider: Client, other: Workspace
) -> None:
    waiting = factories.price(factories.offer("shared"), is_published=False, anomaly="odd")
    answer = posted(outsider, f"prices/{waiting.pk}/review", {"accept": True, "reason": "x"})
    assert answer.status_code == 403
    with pytest.raises(NotOwned):
        price_remove(workspace=other, observation=waiting, actor="eve")
    waiting.refresh_from_db()
    assert waiting.reviewed_at is None


def test_workspace_prices_its_own_offers(outsider: Client, other: Workspace) -> None:
    factories.offer("own", workspace=other)
    assert posted(outsider, "prices", ENTRY | {"offer": "own"}).status_code == 201


def test_price_lists_are_switched_by_their_owner_only(outsider: Client) -> None:
    feed = PriceFeed.objects.create(provider=factories.provider("aws"), kind="on_demand")
    address = f"{API}/price-feeds/{feed.pk}"
    answer = outsider.patch(address, json.dumps({"enabled": False}), "application/json")
    assert answer.status_code == 403
    feed.refresh_from_db()
    assert feed.is_enabled


def test_extras_are_imported_by_their_owner_only(other: Workspace) -> None:
    factories.workspace()
    with pytest.raises(NotOwned):
        extras_import(workspace=other, text=b"", actor="eve")


def test_command_for_a_workspace_that_only_sees_is_refused_in_a_line(
    other: Workspace, tmp_path: Path
) -> None:
    factories.workspace()
    table = tmp_path / "extras.csv"
    table.write_text("kind,amount\n")
    with pytest.raises(CommandError, match="only the workspace Default"):
        call_command("import_extras", str(table), "--workspace", other.slug)


def test_simulation_knows_the_offers_of_the_named_workspace(
    other: Workspace, tmp_path: Path
) -> None:
    factories.price(factories.offer("own", workspace=other), "0.4")
    file, told = tmp_path / "scenario.json", io.StringIO()
    file.write_text(json.dumps(startup(all_of("own", {"offer": "own"}))))
    call_command("simulate", str(file), "--workspace", "other", stdout=told)
    assert "1,910" in told.getvalue()
    with pytest.raises(CommandError, match="no offer is called 'own'"):
        call_command("simulate", str(file))


def test_results_of_shared_offers_are_imported_by_the_owner_only(outsider: Client) -> None:
    factories.offer("shared")
    document = {"offer": "shared", "tool": "coremark", "text": "x"}
    assert posted(outsider, "results/import", document).status_code == 403


def test_samples_of_shared_offers_are_excluded_by_the_owner_only(outsider: Client) -> None:
    sample = factories.sample(factories.offer("shared"), 5.0)
    answer = posted(outsider, f"samples/{sample.pk}/exclude", {"reason": "I say so"})
    assert answer.status_code == 403
    sample.refresh_from_db()
    assert sample.excluded_reason == ""


def test_samples_of_foreign_runs_are_not_seen(outsider: Client) -> None:
    run = factories.run(state=RunState.DONE)
    sample = factories.sample(run.host.offer, 5.0, run=run, host=run.host)
    assert outsider.get(f"{API}/samples").json()["count"] == 0
    assert posted(outsider, f"samples/{sample.pk}/exclude", {"reason": "x"}).status_code == 404


def test_run_of_another_workspace_does_not_change_a_shared_score(other: Workspace) -> None:
    offer = factories.offer("shared")
    factories.sample(offer, value=100.0)
    host = factories.host(workspace=other, offer=offer)
    run = factories.run(host=host, workspace=other, state=RunState.DONE)
    factories.sample(offer, value=9000.0, run=run, host=host)
    summaries_refresh()
    metric = Sample.objects.values_list("metric", flat=True)[0]
    assert [score.summary.value for score in score_groups(offer.pk)[metric]] == [100.0]
    assert Run.objects.get().workspace == other


def test_shared_rows_belong_to_the_default_workspace(other: Workspace) -> None:
    shared, own = factories.offer("shared"), factories.offer("own", workspace=other)
    assert may_write(factories.workspace(), shared)
    assert not may_write(other, shared)
    assert may_write(other, own)
    assert not may_write(factories.workspace(), own)


def test_other_workspaces_never_act_as_the_worker_itself(other: Workspace) -> None:
    factories.workspace()
    with pytest.raises(InvalidValue, match="access"):
        account_create(
            workspace=other,
            name="mine",
            provider="aws",
            access="workload_identity",
            settings={},
            secret={},
            max_machines=1,
            budget=None,
            actor="eve",
        )


@pytest.mark.parametrize("slug", ["default", "other"])
def test_count_of_all_samples_is_that_of_those_one_sees(other: Workspace, slug: str) -> None:
    shared, own = factories.offer("shared"), factories.offer("own", workspace=other)
    for workspace in (factories.workspace(), other):
        host = factories.host(shared, name=workspace.slug, workspace=workspace)
        run = factories.run(host, workspace=workspace)
        factories.sample(shared, 1, host=host, run=run)
    for repeat in range(3):
        factories.sample(own, 2, repeat=repeat)
    factories.sample(shared, 3)
    workspace = Workspace.objects.get(slug=slug)
    assert samples_count(workspace) == samples_visible(workspace).count()
    assert samples_count(workspace) == {"default": 2, "other": 5}[slug]
