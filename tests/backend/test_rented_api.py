"""Machines to rent over the API: runs and campaigns by offer, and the list of what was rented."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import jsonschema
import pytest
from django.test import Client

from backend.accounts.models import Workspace
from backend.benchmarks.models import Campaign, HostState, Resource, ResourceState, Run, RunState
from backend.benchmarks.selectors.campaigns import campaign_view
from backend.benchmarks.services.campaigns import campaign_retry_failed, campaign_start
from backend.benchmarks.services.hosts import host_scan
from backend.benchmarks.services.runs import run_create
from backend.core import clock
from backend.foundation.errors import InvalidValue
from backend.providers.rentals import Budget
from backend.rentals.services.budgets import resource_reserve
from backend.rentals.services.resources import (
    resource_mark_called,
    resource_mark_created,
    resource_mark_gone,
)
from tests import factories
from tests.backend.campaigns import campaign, ended, measured
from tests.backend.conftest import API, fields, rows
from tests.workers.clouds import REGION, account, offer, rented_run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]
FIVE = {"amount": "5", "currency": "USD"}


def posted(client: Client, path: str, body: Any = None) -> Any:
    return client.post(f"{API}{path}", body or {}, content_type="application/json")


def launched(run: Run, *, hours: float | None = None) -> Resource:
    """The run's machine: launched so long ago."""
    resource_reserve(run=run)
    resource = Resource.objects.select_related("account", "run", "workspace").get(run=run)
    resource_mark_called(resource=resource, zone="fake-1a")
    began = clock.now() - dt.timedelta(hours=hours or 0)
    resource_mark_created(resource=resource, provider_id="i-1", launched_at=began)
    return resource


# --- runs -------------------------------------------------------------------------------------------


def test_run_by_offer_is_accepted_with_a_host_of_its_own(caller: Callable[..., Client]) -> None:
    account()
    of = offer()
    body = {"offer": of.slug, "profile": "quick", "budget": FIVE}
    response = posted(caller("run"), "/runs", body)
    assert response.status_code == 202, response.content
    run = Run.objects.get()
    assert response.json()["state"] == "queued"
    assert response["Location"] == response.json()["url"]
    assert (run.offer, run.price) == (of, of.prices.get())
    assert (run.host.is_rented, run.host.state) == (True, HostState.UNVERIFIED)
    assert run.host.name == f"fake.small {str(run.pk)[:8]}"
    resource = run.resource
    assert (resource.state, resource.region, resource.arch) == ("wanted", REGION, "x86_64")
    assert (resource.budget_amount, resource.budget_currency) == (Decimal(5), "USD")
    assert run.steps.get().next_due_at is not None


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"offer": "nothing"}, "/offer"),
        ({"offer": "nowhere"}, "/offer"),
        ({"offer": "elsewhere"}, "/offer"),
        ({"offer": "unpriced"}, "/offer"),
        ({"offer": "other-cloud"}, "/offer"),
        ({"budget": None}, "/budget"),
        ({"budget": {"amount": "5", "currency": "XYZ"}}, "/budget/currency"),
        ({"parameters": {"purchase_model": "gift"}}, "/parameters/purchase_model"),
        ({"parameters": {"lifetime_s": 59}}, "/parameters/lifetime_s"),
        ({"parameters": {"lifetime_s": True}}, "/parameters/lifetime_s"),
        ({"probes": ["network"]}, "/probes"),
        ({"profile": "slow"}, "/profile"),
    ],
)
def test_run_by_offer_is_refused_with_the_field_that_is_wrong(
    caller: Callable[..., Client], changes: dict[str, Any], field: str
) -> None:
    account()
    account(is_enabled=False, settings={"regions": ["fake-9"]})
    offer()
    offer("nowhere", region=None)
    offer("elsewhere", region=factories.region("fake-9", provider_slug="fake"))
    offer("unpriced", price=None)
    offer("other-cloud", provider_slug="aws", region=factories.region(REGION))
    body = {"offer": "fake-small", "profile": "quick", "budget": FIVE} | changes
    response = posted(caller("run"), "/runs", body)
    assert (response.status_code, fields(response)) == (400, [field])
    assert not Run.objects.exists()


def test_run_by_offer_is_refused_when_it_is_a_dedicated_server(
    caller: Callable[..., Client],
) -> None:
    account()
    offer(kind="dedicated")
    response = posted(
        caller("run"), "/runs", {"offer": "fake-small", "profile": "quick", "budget": FIVE}
    )
    assert (response.status_code, fields(response)) == (400, ["/offer"])
    assert "fake-small is not rented by the hour" in response.content.decode()


def test_run_takes_the_oldest_account_that_rents_in_the_region(db: None) -> None:
    account(settings={"regions": ["fake-9"]})
    account(is_enabled=False)
    account(workspace=Workspace.objects.create(slug="other", name="Other"))
    wanted = account()
    account()
    assert rented_run(offer()).resource.account == wanted


def test_run_by_offer_shows_what_its_machine_costs_and_may_cost(
    caller: Callable[..., Client],
) -> None:
    account()
    run = rented_run(offer(), budget="7")
    url, known = f"{API}/runs/{run.pk}", caller()
    assert known.get(url).json()["cost"] is None
    resource = launched(run, hours=1.5)
    expected = {"so_far": "0.720000", "currency": "USD", "cap": "7"}
    assert known.get(url).json()["cost"] == expected
    resource_mark_gone(resource=resource, ended_at=resource.launched_at + dt.timedelta(minutes=5))
    assert known.get(url).json()["cost"] == expected | {"so_far": "0.360000"}


def test_host_that_is_rented_serves_no_other_run(db: None) -> None:
    account()
    host = rented_run(offer()).host
    type(host).objects.update(state=HostState.TRUSTED)
    given: dict[str, Any] = {"profile": "quick", "probes": None, "actor": "tester"}
    for used in (
        lambda: run_create(host=host, parameters={}, **given),
        lambda: run_create(host=factories.host(), parameters={"peer": str(host.pk)}, **given),
        lambda: campaign(host),
        lambda: host_scan(host=host, actor="tester"),
    ):
        with pytest.raises(InvalidValue):
            used()


def test_host_that_stands_is_not_bought(caller: Callable[..., Client]) -> None:
    body = {
        "host": str(factories.host().pk), "profile": "quick",
        "parameters": {"purchase_model": "spot"},
    }  # fmt: skip
    assert fields(posted(caller("run"), "/runs", body)) == ["/parameters/purchase_model"]


def test_host_that_stands_keeps_its_empty_disks(caller: Callable[..., Client]) -> None:
    """A probe that formats a disk is for machines that end with the run."""
    host, client = str(factories.host().pk), caller("run")
    body = {"profile": "standard", "probes": ["cmips", "local_disk"]}
    run = posted(client, "/runs", body | {"host": host})
    assert (run.status_code, fields(run)) == (400, ["/probes/1"])
    account()
    mixed = {"name": "C", "hosts": [host], "offers": [offer().slug], "budget": FIVE}
    assert fields(posted(client, "/campaigns", body | mixed)) == ["/probes/1"]
    rented = posted(client, "/campaigns", body | mixed | {"hosts": []})
    assert rented.status_code == 201, rented.content


def test_every_rented_run_says_how_its_machine_was_bought(db: None) -> None:
    account()
    of = offer()
    assert rented_run(of).parameters["purchase_model"] == "on_demand"
    made = campaign_start(campaign=rental(of), actor="tester")
    assert made.runs.get().parameters == {"purchase_model": "on_demand", "install_tools": True}


@pytest.mark.parametrize(
    ("stated", "on_host", "on_rented"),
    [(None, None, True), (True, True, True), (False, None, False)],
)
def test_tools_are_installed_on_rented_machines_alone(db: None, stated, on_host, on_rented) -> None:
    """1.9: no image of a cloud carries fio, so nothing rented from the web had figures of it."""
    account()
    made = rental(offer(), hosts=[factories.host().pk], install_tools=stated)
    campaign_start(campaign=made, actor="tester")
    standing, rented = made.runs.order_by("host__is_rented")
    assert standing.parameters.get("install_tools") is on_host
    assert rented.parameters.get("install_tools") is on_rented


# --- campaigns --------------------------------------------------------------------------------------


def rental(*offers: Any, **given: Any) -> Campaign:
    """A campaign of offers to rent, with ten dollars a round."""
    defaults = {
        "workspace": factories.workspace(), "hosts": [], "offers": [of.slug for of in offers],
        "budget": Budget(Decimal(10), "USD"),
    }  # fmt: skip
    return campaign(factories.host(), **{**defaults, **given})


def test_campaign_of_offers_is_made_with_what_it_may_cost(
    caller: Callable[..., Client], settings: Any
) -> None:
    settings.BOOT_LIMIT_S = 900
    account()
    body = {
        "name": "Clouds", "offers": [offer().slug], "profile": "quick", "probes": ["cmips"],
        "repeats": 3, "budget": FIVE,
    }  # fmt: skip
    known = caller("run")
    response = posted(known, "/campaigns", body)
    assert response.status_code == 201, response.content
    # 900 + 2 × 75 + 600 s are an hour begun: 3 × 0.36
    assert response.json()["cost_estimate"] == {"amount": "1.08", "currency": "USD"}
    detail = known.get(response.json()["url"]).json()
    assert (detail["name"], detail["hosts"]) == ("Clouds", [])
    assert detail["offers"] == ["fake-small"]
    schema = known.get(f"{API}/schemas/campaign-detail.json").json()
    jsonschema.validate(detail, schema)
    assert known.get(f"{API}/campaigns").json()["results"][0]["offer_count"] == 1


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"offers": []}, "/hosts"),
        ({"offers": ["fake-small", "nothing"]}, "/offers/1"),
        ({"offers": ["fake-small", "fake-small"]}, "/offers/1"),
        ({"offers": ["fake-small", "unpriced"]}, "/offers/1"),
        ({"budget": None}, "/budget"),
        ({"probes": ["network"], "network_pairs": "ring"}, "/probes"),
        ({"network_pairs": "ring"}, "/network_pairs"),
        ({"parameters": {"purchase_model": "gift"}}, "/parameters/purchase_model"),
    ],
)
def test_campaign_of_offers_is_refused_with_the_field_that_is_wrong(
    caller: Callable[..., Client], changes: dict[str, Any], field: str
) -> None:
    account()
    offer()
    offer("unpriced", price=None)
    body = {"name": "C", "offers": ["fake-small"], "profile": "quick", "budget": FIVE} | changes
    response = posted(caller("run"), "/campaigns", body)
    assert (response.status_code, fields(response)) == (400, [field])
    assert not Campaign.objects.exists()


def test_campaign_of_hosts_alone_buys_nothing(caller: Callable[..., Client]) -> None:
    body = {
        "name": "C", "hosts": [str(factories.host().pk)], "profile": "quick",
        "parameters": {"lifetime_s": 600},
    }  # fmt: skip
    assert fields(posted(caller("run"), "/campaigns", body)) == ["/parameters/lifetime_s"]


def test_campaign_starts_a_run_for_each_host_offer_and_repeat(
    db: None,
) -> None:
    account()
    standing = factories.host()
    first, second = offer("one"), offer("two", name="fake.large")
    made = rental(
        first, second, hosts=[standing.pk], repeats=2, parameters={"purchase_model": "spot"}
    )
    campaign_start(campaign=made, actor="tester")
    runs = list(made.runs.order_by("created_at", "id").select_related("host", "offer"))
    assert [run.offer.slug for run in runs] == [standing.offer.slug, "one", "two"] * 2
    rented = [run for run in runs if run.host.is_rented]
    assert len({run.host_id for run in rented}) == 4
    assert {run.resource.purchase_model for run in rented} == {"spot"}
    assert [run.parameters for run in runs if not run.host.is_rented] == [{}, {}]
    assert {run.price for run in rented} == {first.prices.get(), second.prices.get()}
    assert {run.resource.budget_amount for run in rented} == {None}


def test_campaign_does_not_start_beyond_its_budget(
    caller: Callable[..., Client],
) -> None:
    account()
    made = rental(offer(), repeats=3, budget=Budget(Decimal(1), "USD"))
    response = posted(caller("run"), f"/campaigns/{made.pk}/start")
    assert fields(response) == ["/budget"]
    assert "about 1.08 USD are expected" in response.content.decode()
    assert not Run.objects.exists()


def test_campaign_does_not_start_where_an_offer_cannot_be_rented_any_more(
    caller: Callable[..., Client],
) -> None:
    cloud = account()
    made = rental(offer())
    type(cloud).objects.update(is_enabled=False)
    assert fields(posted(caller("run"), f"/campaigns/{made.pk}/start")) == ["/offers/0"]


def test_campaign_retries_what_failed_of_an_offer_on_another_machine(db: None) -> None:
    account()
    of = offer()
    made = campaign_start(campaign=rental(of, repeats=3), actor="tester")
    runs = list(made.runs.order_by("created_at", "id"))
    ended(runs[0])
    ended(runs[1], "failed", failure_reason="capacity")
    ended(runs[2], "lost", failure_reason="unreachable")
    again = campaign_retry_failed(campaign=made, actor="tester")
    assert [run.offer for run in again] == [of, of]
    assert len({run.host_id for run in [*runs, *again]}) == 5
    assert {run.resource.state for run in again} == {ResourceState.REQUESTED}
    view = campaign_view(made)
    assert {run.pk for run in view.runs} == {runs[0].pk, *(run.pk for run in again)}
    assert {cell.target for cell in view.matrix} == {"fake-small"}


def test_campaign_shows_one_row_for_all_machines_of_an_offer(db: None) -> None:
    account()
    made = campaign_start(campaign=rental(offer(), repeats=2), actor="tester")
    for run in made.runs.all():
        measured(ended(run), 1.0)
    cells = {(cell.target, cell.probe): cell.state for cell in campaign_view(made).matrix}
    assert cells["fake-small", "cmips"] == "done"
    assert {target for target, _ in cells} == {"fake-small"}


def test_campaign_costs_what_the_ledgers_of_its_machines_say(caller: Callable[..., Client]) -> None:
    account()
    made = campaign_start(campaign=rental(offer(), repeats=2), actor="tester")
    first, second = made.runs.order_by("created_at", "id")
    Run.objects.update(started_at=clock.now() - dt.timedelta(hours=9))
    alive = launched(first, hours=2.5)
    over = launched(second, hours=5)
    resource_mark_gone(resource=over, ended_at=over.launched_at + dt.timedelta(minutes=1))
    detail = caller().get(f"{API}/campaigns/{made.pk}").json()
    assert alive.state == ResourceState.CREATED
    # three hours begun and one
    assert detail["cost_so_far"] == {"amount": "1.44", "currency": "USD"}
    assert [run["offer"] for run in detail["runs"]] == ["fake-small", "fake-small"]


def test_campaign_cancelled_before_launch_releases_its_reservations(
    caller: Callable[..., Client],
) -> None:
    account()
    made = campaign_start(campaign=rental(offer(), repeats=3), actor="tester")
    resource_reserve(run=made.runs.first())
    posted(caller("run"), f"/campaigns/{made.pk}/cancel")
    assert set(made.runs.values_list("state", flat=True)) == {RunState.CANCELLED}
    states = set(Resource.objects.values_list("state", "run__host__state"))
    assert states == {(ResourceState.GONE, HostState.GONE)}


# --- the list ---------------------------------------------------------------------------------------


def test_resources_are_listed_with_region_lifetime_and_cost(caller: Callable[..., Client]) -> None:
    cloud, known = account(), caller()
    run = rented_run(offer(), budget="7")
    resource = launched(run, hours=1.5)
    (row,) = known.get(f"{API}/resources").json()["results"]
    assert row["id"] == str(resource.pk)
    assert (row["state"], row["provider_id"], row["provider"]) == ("created", "i-1", "fake")
    assert (row["machine_type"], row["region"], row["zone"]) == ("fake.small", REGION, "fake-1a")
    assert (row["run"], row["account"]) == (str(run.pk), str(cloud.pk))
    assert (row["cost"], row["reserved"], row["currency"]) == ("0.72", "0.36", "USD")
    assert row["expires_at"] is not None
    resource_mark_gone(resource=resource, ended_at=None)
    (row,) = rows(known.get(f"{API}/resources.csv"))
    assert (row["state"], row["cost"]) == ("gone", "0.72")


def test_resources_are_filtered(caller: Callable[..., Client]) -> None:
    account()
    of, known = offer(), caller()
    run = rented_run(of)
    launched(run)
    rented_run(of)
    for query, count in (
        ("state=created", 1), ("state=wanted", 1), ("state=gone", 0), ("provider=fake", 2),
        ("provider=aws", 0), (f"run={run.pk}", 1), ("", 2),
    ):  # fmt: skip
        assert known.get(f"{API}/resources?{query}").json()["count"] == count, query
    assert known.get(f"{API}/resources?state=alive").status_code == 400


def test_resources_are_for_known_callers_of_the_workspace(
    client: Client, caller: Callable[..., Client], settings: Any
) -> None:
    account()
    rented_run(offer())
    for is_public in (True, False):
        settings.PUBLIC_READ = is_public
        assert client.get(f"{API}/resources").status_code == 401
    other = Workspace.objects.create(slug="other", name="Other")
    assert caller("read", workspace=other).get(f"{API}/resources").json()["count"] == 0
    assert caller("read").get(f"{API}/resources").json()["count"] == 1


def test_list_of_resources_needs_as_many_queries_for_many(
    caller: Callable[..., Client], django_assert_max_num_queries: Any
) -> None:
    account()
    of = offer()
    for _ in range(4):
        resource_mark_gone(resource=launched(rented_run(of), hours=1), ended_at=None)
        launched(rented_run(of))
    known = caller()
    known.get(f"{API}/resources")
    with django_assert_max_num_queries(6):
        assert known.get(f"{API}/resources").json()["count"] == 8
