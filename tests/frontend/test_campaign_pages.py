"""Campaigns and schedules: the forms, what a round shows while it goes on, who may do what."""

import re

import pytest

from backend.benchmarks.models import (
    Campaign,
    CampaignState,
    HostState,
    Run,
    RunState,
    Schedule,
)
from backend.benchmarks.pages.campaigns.forms import CampaignForm
from backend.notifications.models import Subscription
from backend.notifications.services.subscriptions import campaign_subscriptions_delete
from tests import factories
from tests.frontend import engine_rows
from tests.frontend.engine_rows import Engine
from tests.frontend.spacing import shown

pytestmark = pytest.mark.django_db


@pytest.fixture
def rows() -> Engine:
    return engine_rows.engine()


@pytest.fixture
def operator(client):
    """A client signed in as an operator."""
    client.force_login(factories.user(role="run"))
    return client


def text_of(answer, status=200) -> str:
    assert answer.status_code == status
    return shown(answer)


def fields(*hosts, **given) -> dict[str, object]:
    return {
        "name": "all racks",
        "hosts": [str(host.pk) for host in hosts],
        "profile": "quick",
        "repeats": "2",
        "concurrency": "3",
        "network_pairs": "none",
        "budget_amount": "",
        "budget_currency": "USD",
        **given,
    }


# --- making one -----------------------------------------------------------------------------------


def test_campaign_form_makes_a_draft_with_what_was_typed(operator):
    hosts = [factories.host(), factories.host()]
    given = fields(
        *hosts,
        network_pairs="ring",
        budget_amount="12.50",
        budget_currency="usd",
        probes=["dd", "network"],
        install_tools="yes",
        parameter_seconds="4",
        parameter_fio_file_bytes="64",
    )
    answer = operator.post("/campaigns/new/", given)
    campaign = Campaign.objects.get()
    assert answer.headers["Location"] == f"/campaigns/{campaign.pk}/"
    assert campaign.state == CampaignState.DRAFT
    assert set(campaign.hosts.all()) == set(hosts)
    assert (campaign.repeats, campaign.concurrency, campaign.network_pairs) == (2, 3, "ring")
    assert (campaign.budget_amount, campaign.budget_currency) == (12.5, "USD")
    assert campaign.probes == ["dd", "network"]
    assert campaign.install_tools is True
    assert campaign.parameters == {"seconds": 4.0, "fio_file_bytes": 64 * 2**20}
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("name", "", "This field is required."),
        ("hosts", [], "at least one host or offer is needed"),
        ("repeats", "99", "not a whole number from 1 to 50"),
        ("concurrency", "0", "greater than or equal to 1"),
        ("network_pairs", "ring", "two hosts"),
        ("budget_amount", "-1", "greater than or equal to 0"),
        ("budget_currency", "XXX", "no exchange rate"),
        ("offer", "nothing like it", "No offer is called"),
        ("parameter_disk_s", "0", "greater than or equal to 1"),
        ("probes", ["nonsense"], "Select a valid choice"),
    ],
)
def test_campaign_form_has_errors_beside_their_fields_and_loses_nothing(
    operator, field, value, told
):
    host = factories.host()
    given = fields(host, **{"budget_amount": "5", "parameter_seconds": "7", field: value})
    text = text_of(operator.post("/campaigns/new/", given))
    shown = re.search(rf'id="{field}_error">([^<]*)<', text)
    assert shown is not None
    assert told in shown[1]
    assert re.search(r'name="parameter_seconds" value="7"', text)
    if field != "hosts":
        assert re.search(rf'value="{host.pk}"[^>]* checked', text)
    assert not Campaign.objects.exists()


def test_offer_named_beside_the_list_is_one_of_it(operator):
    factories.offer("fake-one", name="One")
    text = text_of(operator.post("/campaigns/new/", {"offer": "one", "offers": "fake-two"}))
    assert "No offer is called" not in text
    form = CampaignForm(
        {"name": "a", "offer": "one", "offers": "fake-two, fake-one"},
        hosts=[],
        workspace=factories.workspace(),
    )
    form.is_valid()
    assert form.cleaned_data["offers"] == ["fake-two", "fake-one"]


def test_campaign_form_offers_only_hosts_whose_key_is_approved(operator):
    factories.host(name="fine")
    new = factories.host(name="new box", state=HostState.UNVERIFIED)
    text = text_of(operator.get("/campaigns/new/"))
    assert f'value="{new.pk}"' not in text
    assert f'<a href="/hosts/{new.pk}/">new box</a>' in text


def test_campaign_form_names_a_used_name(operator, rows):
    host = rows.full.host
    text = text_of(operator.post("/campaigns/new/", fields(host, name=rows.campaign.name)))
    assert re.search(r'id="name_error">a campaign named [^<]* exists<', text)


# --- one campaign ---------------------------------------------------------------------------------


def cells(text: str) -> dict[str, list[str]]:
    """Rows of the matrix: host → words of its cells."""
    part = text.split('aria-label="State of each probe on each host"')[1].split(
        "</table>", maxsplit=1
    )[0]
    found = {}
    for row in re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", part, re.DOTALL):
        name = row.partition("</th>")[0]
        found[name] = re.findall(r'class="cell ([a-z_]+)" href="/runs/[^"]+">([^<]+)<', row)
    return found


def test_campaign_page_shows_the_matrix_in_words_and_classes(client, rows):
    text = text_of(client.get(f"/campaigns/{rows.campaign.pk}/"))
    shown = cells(text)
    heads = re.findall(r'<th scope="col">([a-z_]+)</th>', text)
    first = dict(zip(heads, shown["epyc-dublin-1"], strict=False))
    assert first["cmips"] == ("done", "done")
    assert first["dd"] == ("disturbed", "disturbed")
    assert first["fio"] == ("not_available", "not available")
    second = dict(zip(heads, shown["epyc-dublin-2"], strict=False))
    assert second["dd"] == ("running", "running")
    assert second["memory"] == ("waiting", "waiting")
    assert ("failed", "failed") in shown["nas-cork"]
    assert {state for state, _ in shown["xeon-lab"]} == {"waiting"}


def test_campaign_page_follows_the_round_only_while_it_goes_on(client, rows):
    path = f"/campaigns/{rows.campaign.pk}/progress/"
    text = text_of(client.get(path))
    assert f'hx-get="{path}" hx-trigger="every 2s"' in text
    assert "2 of 4 runs ended" in text
    assert re.search(r'<progress value="0\.\d{4}" max="1"', text)
    assert "Time left" in text
    Run.objects.filter(campaign=rows.campaign).update(state=RunState.DONE)
    Campaign.objects.filter(pk=rows.campaign.pk).update(state=CampaignState.DONE)
    text = text_of(client.get(path))
    assert "hx-trigger" not in text
    assert '<p id="campaign-status" hx-swap-oob="innerHTML">done</p>' in text
    assert "4 of 4 runs ended" in text


def test_campaign_page_has_cost_failure_reasons_and_parameters(client, rows):
    text = text_of(client.get(f"/campaigns/{rows.campaign.pk}/"))
    assert "No price is known for xeon-lab" in text
    assert "There was not enough free space on the host." in text
    assert "0.4 GB are free in /mnt/tank" in text
    assert "at most 5 USD per round" in text
    assert "<dt>One CPU repeat</dt><dd>5 s</dd>" in text
    assert "<dt>File of fio</dt><dd>1,024 MiB</dd>" in text
    assert "next Mon 20" in text


def test_campaign_page_needs_few_queries_whatever_its_size(client, rows, django_assert_num_queries):
    path = f"/campaigns/{rows.campaign.pk}/"
    client.get(path)
    with django_assert_num_queries(16) as counted:
        client.get(path)
    for _ in range(5):
        host = factories.host()
        rows.campaign.hosts.add(host)
        factories.run(host, campaign=rows.campaign, round=3)
    with django_assert_num_queries(len(counted.captured_queries)):
        client.get(path)


def test_campaign_is_started_cancelled_and_tried_again(operator, queued):
    host = factories.host()
    operator.post("/campaigns/new/", fields(host, repeats="1"))
    campaign = Campaign.objects.get()
    path = f"/campaigns/{campaign.pk}/"
    assert "Start the campaign" in text_of(operator.get(path))
    assert operator.post(f"{path}start/").status_code == 302
    run = Run.objects.get()
    assert (run.campaign, run.round) == (campaign, 1)
    page = text_of(operator.get(path))
    assert "Cancel the round" in page
    assert "Start another round" not in page
    again = operator.post(f"{path}start/", follow=True)
    assert "still running" in text_of(again)
    operator.post(f"{path}cancel/")
    campaign.refresh_from_db()
    assert campaign.state == CampaignState.CANCELLED
    page = text_of(operator.get(path))
    assert "Repeat failed runs (1)" in page
    operator.post(f"{path}retry/")
    assert Run.objects.count() == 2
    campaign.refresh_from_db()
    assert campaign.state == CampaignState.RUNNING


def test_campaign_above_its_budget_is_refused_in_words(operator, queued):
    host = factories.host()
    factories.price(host.offer, "1000", currency="USD")
    operator.post("/campaigns/new/", fields(host, budget_amount="0.01"))
    campaign = Campaign.objects.get()
    text = text_of(operator.post(f"/campaigns/{campaign.pk}/start/", follow=True))
    assert "more than the 0.01 USD allowed" in text
    assert not Run.objects.exists()


def test_campaign_list_counts_the_newest_round(client, rows):
    text = text_of(client.get("/campaigns/"))
    row = text.split(rows.campaign.name)[1].split("</tr>")[0]
    assert re.findall(r'<td class="number">(\d+)</td>', row) == ["4", "3", "4", "1", "1", "0"]


def test_campaign_list_without_any_says_so(client):
    assert "No campaign yet." in text_of(client.get("/campaigns/"))


@pytest.mark.parametrize("role", [None, "read", "write"])
def test_only_operators_act_on_campaigns_and_schedules(client, rows, queued, role):
    if role:
        client.force_login(factories.user(role=role))
    assert client.get("/campaigns/new/").status_code == 403
    assert client.post("/campaigns/new/", fields(rows.full.host)).status_code == 403
    for action in ("start", "cancel", "retry"):
        assert client.post(f"/campaigns/{rows.campaign.pk}/{action}/").status_code == 403
    assert client.post("/schedules/", {}).status_code == 403
    for action in ("switch", "delete"):
        assert client.post(f"/schedules/{rows.schedule.pk}/{action}/").status_code == 403
    assert "campaign-cancel" not in text_of(client.get(f"/campaigns/{rows.campaign.pk}/"))
    assert Schedule.objects.count() == 1
    assert not queued


def test_actions_are_posts_only(operator, rows):
    for action in ("start", "cancel", "retry"):
        assert operator.get(f"/campaigns/{rows.campaign.pk}/{action}/").status_code == 405


# --- schedules ------------------------------------------------------------------------------------


def when(campaign, **given) -> dict[str, str]:
    return {
        "campaign": str(campaign.pk),
        "way": "cron",
        "cron": "30 4 * * *",
        "every": "",
        "every_unit": "3600",
        "time_zone": "Europe/Dublin",
        "window_from": "",
        "window_to": "",
        **given,
    }


def test_schedule_form_puts_a_cron_line_in_force(operator, rows):
    answer = operator.post(
        "/schedules/",
        when(rows.campaign, window_from="01:00", window_to="06:00", create="1"),
    )
    assert answer.status_code == 302
    made = Schedule.objects.latest("created_at")
    assert (made.cron, made.time_zone, made.every_s) == ("30 4 * * *", "Europe/Dublin", None)
    assert f"{made.window_from:%H:%M}–{made.window_to:%H:%M}" == "01:00–06:00"
    assert made.is_enabled


def test_schedule_form_puts_an_interval_in_force(operator, rows):
    operator.post(
        "/schedules/",
        when(rows.campaign, way="every", every="2", every_unit="86400", create="1"),
    )
    made = Schedule.objects.latest("created_at")
    assert (made.cron, made.every_s) == ("", 172_800)
    assert "every 2 days" in text_of(operator.get("/schedules/"))


def test_schedule_of_hosts_makes_their_campaign_or_nothing(client, rows, settings):
    settings.EMAIL_HOST = "127.0.0.1"
    client.force_login(factories.user(role="admin"))
    host, count = str(rows.full.host_id), Campaign.objects.count()
    both = text_of(client.post("/schedules/", when(rows.campaign, hosts=host, create="1")))
    assert 'id="hosts_error">The campaign has its own hosts' in both
    alone = {**when(rows.campaign), "campaign": "", "create": "1"}
    assert 'id="campaign_error">A campaign is needed' in text_of(client.post("/schedules/", alone))
    refused = text_of(client.post("/schedules/", {**alone, "hosts": host, "alert": "nobody"}))
    assert 'id="alert_error">' in refused
    assert (Campaign.objects.count(), Schedule.objects.count()) == (count, 1)
    assert client.post("/schedules/", {**alone, "hosts": host}).status_code == 302
    made = Schedule.objects.latest("created_at").campaign
    assert made.name == rows.full.host.name
    assert list(made.hosts.all()) == [rows.full.host]


def test_preview_shows_five_dates_in_the_zone_and_stores_nothing(operator, rows):
    text = text_of(operator.post("/schedules/", when(rows.campaign, preview="1")))
    dates = re.findall(r"<li>(\w{3} \d{4}-\d\d-\d\d 04:30) <span", text)
    assert len(dates) == 5
    assert Schedule.objects.count() == 1
    assert 'value="30 4 * * *"' in text


def test_preview_fragment_answers_the_form_as_it_is_typed(operator, rows):
    answer = operator.get(
        "/schedules/preview/",
        when(rows.campaign, time_zone="Europe/Madrid"),
        headers={"HX-Request": "true"},
    )
    text = text_of(answer)
    assert text.lstrip().startswith('<div id="preview"')
    dates = re.findall(r"<li>\w{3} \d{4}-\d\d-\d\d (\S+) <span class=\"muted\">(\w+) ", text)
    assert len(dates) == 5
    assert {at for at, _ in dates} == {"04:30"}
    assert {zone for _, zone in dates} <= {"CET", "CEST"}
    wrong = operator.get(
        "/schedules/preview/", when(rows.campaign, cron="99 *"), headers={"HX-Request": "true"}
    )
    assert "<strong>Cron line:</strong>" in text_of(wrong)


@pytest.mark.parametrize(
    ("given", "field", "told"),
    [
        ({"cron": ""}, "cron", "needed"),
        ({"cron": "a b c d e"}, "cron", "is not a number"),
        ({"cron": "0 0 31 2 *"}, "cron", "bad day-of-month"),
        ({"way": "every"}, "every", "needed"),
        ({"way": "every", "every": "1", "every_unit": "1"}, "every_unit", "valid choice"),
        ({"way": "every", "every": "99", "every_unit": "604800"}, "every", "not within"),
        ({"time_zone": "Mars/Olympus"}, "time_zone", "Mars"),
        ({"window_from": "01:00"}, "window_to", "Both"),
        ({"window_from": "01:00", "window_to": "01:00"}, "window_to", "empty"),
        ({"window_from": "05:00", "window_to": "06:00"}, "window_from", "no start"),
    ],
)
def test_schedule_form_says_what_is_wrong_beside_the_field(operator, rows, given, field, told):
    text = text_of(operator.post("/schedules/", when(rows.campaign, **given, create="1")))
    shown = re.search(rf'id="{field}_error">([^<]*)<', text)
    assert shown is not None
    assert told in shown[1].replace("&#x27;", "'")
    assert Schedule.objects.count() == 1


def test_schedule_is_turned_off_and_on_and_deleted(operator, rows):
    path = f"/schedules/{rows.schedule.pk}"
    operator.post(f"{path}/switch/", {"enabled": "0"})
    rows.schedule.refresh_from_db()
    assert not rows.schedule.is_enabled
    assert rows.schedule.next_at is None
    assert ">off<" in text_of(operator.get("/schedules/"))
    operator.post(f"{path}/switch/", {"enabled": "1"})
    rows.schedule.refresh_from_db()
    assert rows.schedule.next_at is not None
    operator.post(f"{path}/delete/")
    assert not Schedule.objects.exists()
    assert Campaign.objects.filter(pk=rows.campaign.pk).exists()


def test_schedules_list_has_the_last_outcome_and_the_next_start(client, rows):
    text = text_of(client.get("/schedules/"))
    assert "<code>0 3 * * 1</code>" in text
    assert "01:00–06:00" in text
    assert "<small>round 3</small>" in text
    assert re.search(r"Mon \d{4}-\d\d-\d\d 03:00", text)
    assert 'id="schedule-form"' not in text


# --- notifications --------------------------------------------------------------------------------


def test_admins_add_and_remove_recipients(client, rows):
    client.force_login(factories.user(role="admin"))
    given = {
        "channel": "webhook",
        "address": "https://hooks.example.org/in",
        "secret": "sixteen characters",
        "kinds": ["run_failed"],
    }
    bad = text_of(client.post("/subscriptions/new/", {**given, "secret": "short"}))
    assert re.search(r'id="secret_error">16 to 200', bad)
    client.post("/subscriptions/new/", given)
    one = Subscription.objects.get()
    text = text_of(client.get("/schedules/"))
    assert "https://hooks.example.org/in" in text
    assert "a run failed or was lost" in text
    assert "sixteen characters" not in text
    client.post(f"/subscriptions/{one.pk}/delete/")
    assert not Subscription.objects.exists()


def test_alert_of_one_campaign_names_it_and_goes_with_it(client, rows):
    client.force_login(factories.user(role="admin"))
    campaign = rows.campaign
    add = f"?campaign={campaign.pk}#notifications"
    assert add in text_of(client.get("/schedules/"))
    given = {
        "channel": "webhook",
        "address": "https://hooks.example.org/in",
        "secret": "sixteen characters",
        "kinds": ["run_failed"],
    }
    for about in ("", str(campaign.pk)):
        client.post("/subscriptions/new/", {**given, "campaign": about})
    text = text_of(client.get("/schedules/")).split('id="notifications"')[1]
    assert "everything" in text
    assert f'<a href="/campaigns/{campaign.pk}/">{campaign.name}</a>' in text
    campaign_subscriptions_delete(campaign=campaign.pk, actor="tester")
    assert Subscription.objects.get().campaign is None


def test_others_neither_see_nor_change_the_recipients(operator, rows):
    assert 'id="notifications"' not in text_of(operator.get("/schedules/"))
    assert operator.post("/subscriptions/new/", {}).status_code == 403
