"""Campaigns over the API: documents, states, rights, matrix, costs."""

import datetime as dt
from decimal import Decimal
from uuid import uuid4

import jsonschema
import pytest
from django.test import Client

from backend.accounts.models import AuditEntry
from backend.benchmarks.models import Campaign, HostState, Run, RunState
from backend.benchmarks.selectors.campaigns import campaign_view
from backend.benchmarks.selectors.costs import pairs_of_machines, shown
from backend.benchmarks.services.campaign_plans import MAX_RUNS
from backend.benchmarks.services.campaigns import (
    CampaignActive,
    campaign_cancel,
    campaign_retry_failed,
    campaign_start,
    campaign_watch_budget,
)
from backend.benchmarks.services.runs import run_create
from backend.core import clock
from backend.foundation.errors import InvalidValue
from tests import factories
from tests.backend.campaigns import campaign, ended, measured
from tests.backend.conftest import API, fields, rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]


def document(*hosts, **given):
    return {
        "name": "Nightly",
        "hosts": [str(host.pk) for host in hosts],
        "profile": "quick",
        "probes": ["cmips"],
        **given,
    }


def posted(client: Client, path: str, body=None):
    return client.post(f"{API}{path}", body or {}, content_type="application/json")


def priced_host(amount="0.004", name=None, **given):
    host = factories.host(name=name or f"p{Campaign.objects.count()}{uuid4().hex[:6]}")
    factories.price(host.offer, amount, **given)
    return host


# --- making one -----------------------------------------------------------------------------------


def test_campaign_is_made_as_a_draft_with_its_estimate(caller):
    hosts = [priced_host("0.36"), priced_host("0.72")]
    response = posted(caller("run"), "/campaigns", document(*hosts, repeats=2))
    made = response.json()
    assert response.status_code == 201
    assert made["state"] == "draft"
    assert made["runs"] == []
    # no history: the profile's 75 s; (0.36 + 0.72) / 3600 × 75 × 2
    assert made["cost_estimate"] == {"amount": "0.045", "currency": "USD"}
    assert made["cost_note"] is None
    assert response["Location"] == made["url"]
    assert not Run.objects.exists()
    assert AuditEntry.objects.filter(action="campaign_create").exists()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": " "}, "/name"),
        ({"name": "a\nb"}, "/name"),
        ({"hosts": []}, "/hosts"),
        ({"hosts": [str(uuid4())]}, "/hosts/0"),
        ({"hosts": ["x"]}, "/hosts/0"),
        ({"offers": ["aws-m5-large"]}, "/offers/0"),
        ({"profile": "fast"}, "/profile"),
        ({"probes": ["cmips", "nmap"]}, "/probes/1"),
        ({"probes": ["network"]}, "/network_pairs"),
        ({"parameters": {"speed": 1}}, "/parameters/speed"),
        ({"parameters": {"install_tools": True}}, "/parameters/install_tools"),
        ({"parameters": {"peer": str(uuid4())}}, "/parameters/peer"),
        ({"parameters": {"peer_address": "10.0.0.1"}, "network_pairs": "ring"}, "/parameters/peer_address"),
        ({"repeats": 0}, "/repeats"),
        ({"repeats": 51}, "/repeats"),
        ({"concurrency": 10_001}, "/concurrency"),
        ({"budget": {"amount": True, "currency": "USD"}}, "/budget/amount"),
        ({"budget": {"amount": "5", "currency": "XYZ"}}, "/budget/currency"),
        ({"install_tools": "yes"}, "/install_tools"),
        ({"network_pairs": "star"}, "/network_pairs"),
        ({"network_pairs": "ring"}, "/network_pairs"),
        ({"color": "red"}, "/color"),
    ],
)  # fmt: skip
def test_campaign_is_refused_with_the_field_that_is_wrong(caller, changes, field):
    body = document(factories.host()) | changes
    response = posted(caller("run"), "/campaigns", body)
    assert response.status_code == 400
    assert fields(response) == [field]
    assert not Campaign.objects.exists()


def test_campaign_is_refused_with_a_doubled_host_or_a_host_as_own_peer(caller):
    host = factories.host()
    twice = posted(caller("run"), "/campaigns", document(host, host))
    assert fields(twice) == ["/hosts/1"]
    body = document(host, probes=None, parameters={"peer": str(host.pk)})
    assert fields(posted(caller("run", name="2"), "/campaigns", body)) == ["/hosts/0"]


def test_campaign_is_refused_when_its_name_is_used(caller):
    made = campaign()
    response = posted(caller("run"), "/campaigns", document(factories.host(), name=made.name))
    assert fields(response) == ["/name"]


def test_campaign_is_refused_when_a_round_would_be_too_large():
    hosts = [factories.host() for _ in range(46)]
    with pytest.raises(InvalidValue, match=str(MAX_RUNS)) as raised:
        campaign(*hosts, network_pairs="all", repeats=50)
    assert raised.value.field == "/network_pairs"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("post", "/campaigns"),
        ("post", "/campaigns/{id}/start"),
        ("post", "/campaigns/{id}/cancel"),
        ("post", "/campaigns/{id}/retry-failed"),
    ],
)
def test_campaign_is_not_touched_by_who_may_only_write(caller, method, path):
    made = campaign()
    client = caller("write")
    response = getattr(client, method)(
        f"{API}{path.format(id=made.pk)}", {}, content_type="application/json"
    )
    assert response.status_code == 403
    assert not Run.objects.exists()


def test_document_fits_its_published_schema(caller, client):
    schema = client.get(f"{API}/schemas/campaign.json").json()
    body = document(factories.host(), budget={"amount": "5", "currency": "USD"})
    jsonschema.validate(body, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**body, "install_tools": "yes"}, schema)
    made = posted(caller("run"), "/campaigns", body).json()
    answer = client.get(made["url"]).json()
    jsonschema.validate(answer, client.get(f"{API}/schemas/campaign-detail.json").json())


# --- a round --------------------------------------------------------------------------------------


def test_start_makes_runs_repeat_by_repeat_with_pairs(caller):
    hosts = [factories.host(name=name) for name in ("a", "b", "c")]
    made = campaign(*hosts, repeats=2, network_pairs="ring", install_tools=True)
    response = posted(caller("run"), f"/campaigns/{made.pk}/start")
    assert response.status_code == 202
    assert response.json()["state"] == "running"
    runs = list(Run.objects.filter(campaign=made, round=1).order_by("created_at"))
    a, b, c = hosts
    once = [(a, None), (b, None), (c, None), (a, b), (b, c), (c, a)]
    assert [(run.host, run.peer) for run in runs] == once + once
    assert runs[0].probes == ["cmips"]
    assert runs[0].parameters == {"install_tools": True}
    assert runs[3].probes == ["network"]
    assert runs[3].parameters == {"install_tools": True, "peer": str(b.pk)}
    assert len(response.json()["runs"]) == 12


def test_start_makes_only_pairs_when_only_the_network_is_asked_for():
    made = campaign(probes=["network"], network_pairs="all")
    campaign_start(campaign=made, actor="tester")
    assert [run.probes for run in Run.objects.all()] == [["network"]]


@pytest.mark.parametrize(
    ("kind", "count", "pairs"),
    [
        ("none", 3, []),
        ("ring", 2, [(0, 1)]),
        ("ring", 3, [(0, 1), (1, 2), (2, 0)]),
        ("all", 3, [(0, 1), (0, 2), (1, 2)]),
    ],
)
def test_pairs_meet_each_other_once(kind, count, pairs):
    hosts = [factories.host() for _ in range(count)]
    assert pairs_of_machines(kind, hosts) == [(hosts[one], hosts[other]) for one, other in pairs]


def test_start_is_refused_while_a_round_runs(caller):
    made = campaign()
    client = caller("run")
    assert posted(client, f"/campaigns/{made.pk}/start").status_code == 202
    again = posted(client, f"/campaigns/{made.pk}/start")
    assert again.status_code == 409
    assert "round 1" in again.json()["detail"]
    assert Run.objects.count() == 2


def test_start_is_refused_by_the_index_of_an_untrusted_host(caller):
    good = factories.host(name="a")
    bad = factories.host(name="b", state=HostState.KEY_CHANGED)
    made = campaign(good, bad)
    response = posted(caller("run"), f"/campaigns/{made.pk}/start")
    assert response.status_code == 400
    assert fields(response) == ["/hosts/1"]
    assert not Run.objects.exists()
    made.refresh_from_db()
    assert (made.state, made.round) == ("draft", 0)


def test_start_is_refused_when_the_estimate_is_above_the_budget(caller):
    host = priced_host("0.48")
    # 0.48 / 3600 × 75 = 0.01 exactly
    body = document(host, budget={"amount": "0.0099", "currency": "USD"})
    client = caller("run")
    made = posted(client, "/campaigns", body).json()
    response = posted(client, f"/campaigns/{made['id']}/start")
    assert fields(response) == ["/budget"]
    assert "0.01 USD" in response.json()["errors"][0]["detail"]
    Campaign.objects.update(budget_amount=Decimal("0.01"))
    assert posted(client, f"/campaigns/{made['id']}/start").status_code == 202


def test_campaign_is_done_when_its_last_run_ends_and_starts_again():
    made = campaign()
    campaign_start(campaign=made, actor="tester")
    first, second = Run.objects.filter(campaign=made)
    ended(first)
    made.refresh_from_db()
    assert made.state == "running"
    ended(second, "failed", failure_reason="timeout")
    made.refresh_from_db()
    assert made.state == "done"
    campaign_start(campaign=made, actor="tester")
    made.refresh_from_db()
    assert (made.state, made.round, made.runs.count()) == ("running", 2, 4)


def test_cancel_ends_what_waits_and_asks_the_rest(caller):
    made = campaign(*(factories.host() for _ in range(3)))
    campaign_start(campaign=made, actor="tester")
    first = Run.objects.filter(campaign=made).order_by("created_at").first()
    Run.objects.filter(pk=first.pk).update(state=RunState.RUNNING)
    client = caller("run")
    response = posted(client, f"/campaigns/{made.pk}/cancel")
    assert response.status_code == 202
    assert response.json()["state"] == "cancelled"
    first.refresh_from_db()
    assert (first.state, first.is_cancel_requested) == ("running", True)
    assert list(made.runs.exclude(pk=first.pk).values_list("state", flat=True)) == ["cancelled"] * 2
    with pytest.raises(CampaignActive):
        campaign_start(campaign=made, actor="tester")
    again = posted(client, f"/campaigns/{made.pk}/cancel")
    assert again.json()["state"] == "cancelled"


def test_cancel_changes_nothing_when_nothing_runs():
    made = campaign()
    assert campaign_cancel(campaign=made, actor="tester").state == "draft"
    assert not AuditEntry.objects.filter(action="campaign_cancel").exists()


def test_retry_does_again_what_failed_in_the_same_round(caller):
    made = campaign(*(factories.host(name=name) for name in "abcd"))
    campaign_start(campaign=made, actor="tester")
    runs = {run.host.name: run for run in Run.objects.filter(campaign=made)}
    for name, state in zip("abcd", ("done", "failed", "lost", "cancelled"), strict=True):
        ended(runs[name], state)
    response = posted(caller("run"), f"/campaigns/{made.pk}/retry-failed")
    assert response.json()["state"] == "running"
    shown_runs = response.json()["runs"]
    assert len(shown_runs) == 4
    assert sorted(run["state"] for run in shown_runs) == ["done", "queued", "queued", "queued"]
    assert made.runs.filter(round=1).count() == 7
    for run in made.runs.filter(state="queued"):
        ended(run)
    made.refresh_from_db()
    assert made.state == "done"
    assert campaign_retry_failed(campaign=made, actor="tester") == []


def test_retry_of_a_pair_measures_the_same_pair():
    made = campaign(probes=["network"], network_pairs="ring")
    campaign_start(campaign=made, actor="tester")
    first = ended(Run.objects.get(), "failed")
    (again,) = campaign_retry_failed(campaign=made, actor="tester")
    assert (again.host, again.peer, again.round) == (first.host, first.peer, 1)
    assert again.parameters == first.parameters


# --- reading --------------------------------------------------------------------------------------


def test_list_counts_the_newest_round_in_every_format(caller, client):
    made = campaign()
    campaign_start(campaign=made, actor="tester")
    for run in Run.objects.all():
        ended(run, "failed")
    campaign_start(campaign=made, actor="tester")
    ended(Run.objects.filter(round=2).first())
    page = client.get(f"{API}/campaigns").json()["results"]
    assert [(row["run_count"], row["runs_done"], row["runs_failed"]) for row in page] == [(2, 1, 0)]
    exported = rows(client.get(f"{API}/campaigns.csv?state=running"))
    assert [row["name"] for row in exported] == [made.name]
    assert client.get(f"{API}/campaigns?state=draft").json()["count"] == 0
    assert client.get(f"{API}/campaigns?state=odd").status_code == 400


def test_campaign_of_another_workspace_is_not_found(caller):
    from backend.accounts.models import Workspace

    other = Workspace.objects.create(slug="other", name="Other")
    made = campaign()
    client = caller("run", workspace=other)
    assert client.get(f"{API}/campaigns/{made.pk}").status_code == 404
    assert posted(client, f"/campaigns/{made.pk}/start").status_code == 404
    assert client.get(f"{API}/campaigns").json()["count"] == 0


def test_matrix_shows_what_each_probe_came_to(client):
    names = ("done", "disturbed", "failed", "none", "cancelled", "live", "waiting")
    hosts = [factories.host(name=name) for name in names]
    made = campaign(*hosts, probes=["cmips", "fio"])
    campaign_start(campaign=made, actor="tester")
    runs = {run.host.name: run for run in Run.objects.filter(campaign=made)}
    measured(runs["done"], probe="inventory")
    measured(runs["done"], 1.0, 2.0)
    measured(runs["done"], probe="fio", exit_code=7)
    ended(runs["done"])
    measured(runs["disturbed"], 1.0, 2.0, flags=["disturbed"])
    ended(runs["disturbed"])
    measured(runs["failed"], 1.0, exit_code=3, error="no space")
    ended(runs["failed"], "failed", failure_reason="disk_full", failure_detail="no space")
    ended(runs["cancelled"], "cancelled")
    ended(runs["none"])
    measured(runs["live"], 1.0)
    Run.objects.filter(pk=runs["live"].pk).update(
        state="running", probe="fio", progress_ratio=0.5, live={"expected_s": 40}
    )
    seen = client.get(f"{API}/campaigns/{made.pk}").json()
    cells = {(c["target"], c["probe"]): c["state"] for c in seen["matrix"]}
    by_target = {
        name: [cells[name, probe] for probe in ("inventory", "cmips", "fio")] for name in names
    }
    assert by_target == {
        "done": ["done", "done", "not_available"],
        "disturbed": ["not_available", "disturbed", "not_available"],
        "failed": ["failed", "failed", "failed"],
        "none": ["not_available", "not_available", "not_available"],
        "cancelled": ["cancelled", "cancelled", "cancelled"],
        "live": ["waiting", "running", "running"],
        "waiting": ["waiting", "waiting", "waiting"],
    }
    # five of seven have ended, one is half way
    assert seen["progress"] == pytest.approx(5.5 / 7)
    # half of 40 s on one host; the other has the profile's 75 s before it
    assert seen["remaining_s"] == pytest.approx(75)


def test_matrix_shows_the_least_settled_repeat(client):
    host = factories.host(name="a")
    made = campaign(host, repeats=2)
    campaign_start(campaign=made, actor="tester")
    first, second = Run.objects.order_by("created_at")
    measured(first, 1.0)
    ended(first)
    seen = client.get(f"{API}/campaigns/{made.pk}").json()
    assert [cell["state"] for cell in seen["matrix"] if cell["probe"] == "cmips"] == ["waiting"]
    ended(second, "failed")
    seen = campaign_view(made)
    assert [(c.state, c.run_id) for c in seen.matrix if c.probe == "cmips"] == [
        ("failed", second.pk)
    ]


def test_matrix_names_both_ends_of_a_pair():
    made = campaign(
        factories.host(name="a"), factories.host(name="b"), probes=None, network_pairs="ring"
    )
    campaign_start(campaign=made, actor="tester")
    cells = {(cell.target, cell.probe) for cell in campaign_view(made).matrix}
    assert ("a – b", "network") in cells
    # a run by itself leaves out what needs a peer
    assert ("a", "network") not in cells
    assert ("a", "dd") in cells


def test_campaign_takes_the_same_few_queries_whatever_its_size(django_assert_max_num_queries):
    small, large = campaign(), campaign(*(factories.host() for _ in range(12)), repeats=2)
    counts = set()
    for made in (small, large):
        campaign_start(campaign=made, actor="tester")
        with django_assert_max_num_queries(15) as statements:
            campaign_view(made)
        counts.add(len(statements))
    assert len(counts) == 1


# --- costs ----------------------------------------------------------------------------------------


def test_cost_of_a_cheap_short_run_is_not_rounded_away(client):
    host = priced_host("0.004")
    made = campaign(host)
    campaign_start(campaign=made, actor="tester")
    ended(Run.objects.get(), seconds=1200)
    run = Run.objects.get()
    seen = client.get(f"{API}/campaigns/{made.pk}").json()
    # 20 minutes at 0.004 an hour, to ten decimals
    seconds = Decimal(str((run.finished_at - run.started_at).total_seconds()))
    assert seconds == pytest.approx(Decimal(1200), abs=Decimal(2))
    expected = (Decimal("0.004") * seconds / 3600).quantize(Decimal("1e-10"))
    assert Decimal(seen["cost_so_far"]["amount"]) == expected


def test_cost_is_unknown_when_a_price_is(client):
    made = campaign(priced_host("0.36", name="known"), factories.host(name="free"))
    seen = client.get(f"{API}/campaigns/{made.pk}").json()
    assert seen["cost_estimate"] is None
    # 75 s at 0.36 an hour
    assert seen["cost_note"] == "no price is known for free; all else is 0.0075 USD"
    assert seen["cost_so_far"] == {"amount": "0", "currency": "USD"}


def test_cost_is_in_the_currency_of_the_budget():
    factories.rate("USD", "1.25")
    host = priced_host("73", currency="EUR", unit="month", purchase_model="monthly")
    made = campaign(host)
    # 73 EUR a month of 730 hours = 0.1 EUR = 0.125 USD an hour; 75 s of it
    assert shown(campaign_view(made).cost_estimate.known) == "0.0026041667"
    unknown = campaign(priced_host("1", currency="CHF"))
    assert campaign_view(unknown).cost_estimate.amount is None


def test_cost_of_a_machine_that_was_bought_is_unknown():
    made = campaign(priced_host("5000", unit="once", purchase_model="purchase"))
    campaign_start(campaign=made, actor="tester")
    ended(Run.objects.get())
    seen = campaign_view(made)
    assert seen.cost_estimate.amount is None
    assert seen.cost_so_far.amount is None


def test_estimate_goes_by_what_runs_of_the_host_took():
    host = priced_host("3.6")
    for seconds in (10, 20, 90):
        ended(factories.run(host, probes=["cmips"]), seconds=seconds)
    ended(factories.run(host, probes=["dd"]), seconds=500)
    # 0.001 a second × the median of 20 s
    assert campaign_view(campaign(host)).cost_estimate.amount == Decimal("0.02")


def test_pair_costs_both_machines():
    made = campaign(
        priced_host("1.2"), priced_host("3.6"), probes=["network"], network_pairs="ring"
    )
    # 75 s of both: (1.2 + 3.6) / 48
    assert campaign_view(made).cost_estimate.amount == Decimal("0.1")
    campaign_start(campaign=made, actor="tester")
    ended(Run.objects.get(), seconds=75)
    assert campaign_view(made).cost_so_far.known == pytest.approx(
        Decimal("0.1"), rel=Decimal("0.001")
    )


def test_campaign_is_cancelled_when_it_costs_more_than_its_budget():
    hosts = [priced_host("3.6"), priced_host("3.6")]
    made = campaign(*hosts)
    campaign_start(campaign=made, actor="tester")
    Campaign.objects.update(budget_amount=Decimal("0.5"), budget_currency="USD")
    first, second = Run.objects.order_by("created_at")
    long_ago = clock.now() - dt.timedelta(seconds=400)
    Run.objects.filter(pk=first.pk).update(state="running", started_at=long_ago)
    campaign_watch_budget()
    second.refresh_from_db()
    assert second.state == "queued"  # 0.40 of 0.50
    Run.objects.update(started_at=long_ago - dt.timedelta(seconds=200))
    Run.objects.filter(pk=second.pk).update(started_at=None)
    campaign_watch_budget()
    made.refresh_from_db()
    second.refresh_from_db()
    assert (made.state, second.state) == ("cancelled", "cancelled")
    assert AuditEntry.objects.get(action="campaign_cancel").actor == "budget"


# --- many runs at once ----------------------------------------------------------------------------


def test_runs_of_a_round_are_made_as_single_ones_are():
    host = priced_host("0.36")
    bought = factories.host()
    factories.price(bought.offer, "900", unit="once", purchase_model="purchase")
    single = run_create(host=host, profile="quick", probes=["cmips"], parameters={}, actor="tester")
    third = factories.host()
    made = campaign(host, bought, third)
    campaign_start(campaign=made, actor="tester")
    batch = {run.host: run for run in Run.objects.filter(campaign=made)}
    assert batch[host].price == single.price
    assert batch[bought].price is not None
    assert (batch[host].offer, batch[host].requested_by) == (host.offer, "tester")
    steps = [[step.state for step in run.steps.all()] for run in (single, batch[host])]
    assert steps == [["queued"], ["queued"]]
    events = [[e.kind for e in run.events.all()] for run in (single, batch[host])]
    assert events == [["created"], ["created"]]
    assert AuditEntry.objects.filter(action="run_create").count() == 4
    # the host is taken by the single run; the others may begin
    due = Run.objects.filter(steps__next_due_at__isnull=False)
    assert set(due) == {single, batch[bought], batch[third]}


def test_round_begins_no_more_runs_than_its_concurrency():
    made = campaign(*(factories.host() for _ in range(5)), concurrency=2, repeats=2)
    campaign_start(campaign=made, actor="tester")
    due = Run.objects.filter(steps__next_due_at__isnull=False, state="queued")
    assert due.count() == 2
    ended(due[0])
    assert due.count() == 2


def test_cancel_lets_others_begin_on_the_hosts():
    host = factories.host()
    made = campaign(host, repeats=3)
    campaign_start(campaign=made, actor="tester")
    other = run_create(host=host, profile="quick", probes=None, parameters={}, actor="tester")
    assert other.steps.get().next_due_at is None
    campaign_cancel(campaign=made, actor="tester")
    assert other.steps.get().next_due_at is not None
    assert set(made.runs.values_list("state", flat=True)) == {"cancelled"}
    assert not made.runs.filter(finished_at=None).exists()
    assert [event.kind for event in made.runs.first().events.all()] == ["created", "finished"]


def test_runs_of_a_round_share_the_peer_that_the_parameters_name():
    peer = factories.host(name="peer")
    made = campaign(
        factories.host(), factories.host(), probes=["network"], parameters={"peer": str(peer.pk)}
    )
    campaign_start(campaign=made, actor="tester")
    assert {run.peer for run in Run.objects.all()} == {peer}
    campaign_cancel(campaign=made, actor="tester")
    factories.Host.objects.filter(pk=peer.pk).update(state=HostState.KEY_CHANGED)
    with pytest.raises(InvalidValue) as raised:
        campaign_start(campaign=made, actor="tester")
    assert raised.value.field == "/parameters/peer"


def test_round_of_many_hosts_starts_and_ends_with_few_statements(django_assert_max_num_queries):
    made = campaign(*(factories.host() for _ in range(60)), repeats=3)
    with django_assert_max_num_queries(60):
        campaign_start(campaign=made, actor="tester")
    assert made.runs.count() == 180
    with django_assert_max_num_queries(26):
        campaign_cancel(campaign=made, actor="tester")
