"""Accounts at clouds and rented machines on the pages: admins only, nothing secret comes back."""

import json
from decimal import Decimal

import pytest

from backend.accounts.models import CloudAccount
from backend.benchmarks.models import Campaign, Resource, ResourceState, Run
from backend.providers.rentals import Budget
from backend.rentals.services.account_access import (
    account_mark_checked,
    account_mark_looked_over,
    account_secret,
)
from tests import factories
from tests.backend.clouds import TOKEN, account, charged, machine

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]
NEWER = "hcloud-token-9876543210"


@pytest.fixture
def admin(client):
    client.force_login(factories.user(role="admin"))
    return client


def text_of(answer, status=200) -> str:
    assert answer.status_code == status, answer.content.decode()[:500]
    return answer.content.decode()


def fields(**given) -> dict[str, str]:
    return {
        "name": "Bench project", "access": "token", "secret_token": TOKEN, "max_machines": "4",
        "budget_amount": "25.5", "budget_currency": "eur", "settings_regions": "fsn1, nbg1  hel1",
        "settings_zones": "", "settings_image": "", "settings_username": "", "settings_ssh_port": "",
        **given,
    }  # fmt: skip


# --- making one -----------------------------------------------------------------------------------


def test_form_makes_an_account_and_asks_who_we_are(admin):
    answer = admin.post("/accounts/clouds/new/hetzner/", fields(settings_ssh_port="2222"))
    made = CloudAccount.objects.get()
    assert answer.headers["Location"] == f"/accounts/clouds/{made.pk}/"
    assert made.settings == {"regions": ["fsn1", "nbg1", "hel1"], "ssh_port": 2222}
    assert (made.max_machines, made.budget_amount, made.budget_currency) == (
        4, Decimal("25.5"), "EUR",
    )  # fmt: skip
    assert account_secret(account=made) == {"token": TOKEN}
    page = text_of(admin.get(f"/accounts/clouds/{made.pk}/"))
    assert "asking the provider…" in page
    assert TOKEN not in page


def test_form_shows_only_what_the_provider_knows(admin):
    gcp = text_of(admin.get("/accounts/clouds/new/gcp/"))
    assert 'id="settings_project"' in gcp
    assert 'id="secret_service_account_json"' in gcp
    assert 'id="settings_role_arn"' not in gcp
    aws = text_of(admin.get("/accounts/clouds/new/aws/"))
    assert 'data-when="access" data-is="assume_role static_key"' in aws
    assert "sts:ExternalId" in aws  # the trust policy, to be copied
    assert 'id="settings_role_arn"' in aws
    assert 'id="settings_endpoint_url"' not in aws


@pytest.mark.parametrize("slug", ["own", "rackspace"])
def test_form_leads_back_to_the_list_when_the_provider_is_none(admin, slug):
    assert admin.get(f"/accounts/clouds/new/{slug}/").headers["Location"] == "/accounts/clouds/"


def test_form_of_a_method_ignores_fields_of_other_methods(admin):
    role = {"settings_role_arn": "arn:aws:iam::123456789012:role/x", "settings_external_id": "ab"}
    given = fields(access="workload_identity", secret_token="", settings_regions="eu-west-1")
    admin.post("/accounts/clouds/new/aws/", given | role)
    assert CloudAccount.objects.get().settings == {"regions": ["eu-west-1"]}
    admin.post("/accounts/clouds/new/aws/", given | role | {"name": "b", "access": "assume_role"})
    made = CloudAccount.objects.get(name="b")
    assert made.settings["external_id"] == "ab"


def test_price_list_account_needs_only_its_token(admin):
    given = {"name": "prices", "access": "token", "secret_token": TOKEN, "max_machines": "20"}
    assert admin.post("/accounts/clouds/new/digitalocean/", given).status_code == 302
    assert CloudAccount.objects.get().settings == {}
    assert "prices only" in text_of(admin.get("/accounts/clouds/"))


@pytest.mark.parametrize(
    ("change", "field", "told"),
    [
        ({"settings_regions": "fsn1 mars-1"}, "settings_regions", "not a region"),
        ({"settings_zones": "hel9: hel9-a"}, "settings_zones", "not one of the account"),
        ({"settings_zones": "fsn1 fsn1-a"}, "settings_zones", "not one of the account"),
        ({"secret_token": ""}, "secret_token", "needed"),
        ({"secret_token": "two words of it"}, "secret_token", "without blanks"),
        ({"budget_amount": "0"}, "budget_amount", "more than 0"),
        ({"name": ""}, "name", "required"),
        ({"access": "static_key"}, "access", "valid choice"),
    ],
)
def test_refusal_is_beside_its_field_and_the_secret_is_not_repeated(admin, change, field, told):
    page = text_of(admin.post("/accounts/clouds/new/hetzner/", fields(**change)))
    error = page.partition(f'id="{field}_error">')[2].partition("<")[0]
    assert told in error
    assert TOKEN not in page
    assert "two words of it" not in page
    assert not CloudAccount.objects.exists()


def test_key_file_does_not_come_back_when_it_is_refused(admin):
    given = fields(
        access="static_key", settings_regions="europe-west1", settings_project="bench-1",
        secret_service_account_json=json.dumps({"type": "service_account", "private_key": NEWER}),
    )  # fmt: skip
    page = text_of(admin.post("/accounts/clouds/new/gcp/", given))
    assert "project_id is missing" in page
    assert NEWER not in page


# --- one account ----------------------------------------------------------------------------------


@pytest.fixture
def made(db, queued) -> CloudAccount:
    found = account(name="Bench")
    account_mark_checked(account_id=found.pk, identity="project 7", error="")
    found.refresh_from_db()
    return found


def test_page_shows_identity_spending_and_machines_of_an_account(admin, made):
    from backend.core import clock
    from backend.rentals.services.cloud_accounts import account_update

    account_update(
        account=made, name="Bench", settings=made.settings, max_machines=7, max_vcpus=None,
        is_enabled=True,
        budget=Budget(Decimal(50), "EUR"), actor="tester",
    )  # fmt: skip
    gone = machine(made, state=ResourceState.GONE, gone_at=clock.now(), launched_at=clock.now())
    charged(gone, "0.25")
    alive = machine(made, reserved_amount=Decimal(2))
    page = text_of(admin.get(f"/accounts/clouds/{made.pk}/"))
    assert "project 7" in page
    assert "€2.25 of €50.00" in page
    assert "1 of at most 7" in page
    assert page.index(alive.provider_id) < page.index(gone.provider_id)
    listed = text_of(admin.get("/accounts/clouds/"))
    assert "€2.25 of €50.00" in listed
    assert "1 of 7" in listed


def test_limits_form_changes_limits_and_keeps_the_rest(admin, made):
    given = fields(name="Other", max_machines="0", settings_zones="fsn1: fsn1-a, fsn1-b")
    answer = admin.post(f"/accounts/clouds/{made.pk}/limits/", given)
    assert answer.status_code == 302
    made.refresh_from_db()
    assert (made.name, made.max_machines) == ("Other", 0)
    assert made.settings["zones"] == {"fsn1": ["fsn1-a", "fsn1-b"]}
    assert account_secret(account=made) == {"token": TOKEN}
    shown = text_of(admin.get(f"/accounts/clouds/{made.pk}/"))
    assert "fsn1: fsn1-a fsn1-b" in shown
    bad = admin.post(f"/accounts/clouds/{made.pk}/limits/", given | {"settings_regions": "x"})
    assert 'id="settings_regions_error"' in text_of(bad)


def test_login_form_replaces_the_secret_and_shows_it_never(admin, made):
    path = f"/accounts/clouds/{made.pk}/login/"
    bad = text_of(admin.post(path, {"access": "token", "secret_token": "a b c d e"}))
    assert 'id="secret_token_error"' in bad
    assert '<details class="card" id="login" open>' in bad
    answer = admin.post(path, {"access": "token", "secret_token": NEWER})
    assert answer.status_code == 302
    made.refresh_from_db()
    assert account_secret(account=made) == {"token": NEWER}
    assert made.settings == {"regions": ["fsn1", "nbg1"]}
    assert NEWER not in text_of(admin.get(f"/accounts/clouds/{made.pk}/"))


def test_check_asks_again_and_the_part_follows_until_it_is_answered(admin, made):
    assert admin.post(f"/accounts/clouds/{made.pk}/check/").status_code == 302
    part = text_of(admin.get(f"/accounts/clouds/{made.pk}/state/"))
    assert 'hx-trigger="every 2s"' in part
    account_mark_checked(account_id=made.pk, identity="", error="auth: unable to authenticate")
    part = text_of(admin.get(f"/accounts/clouds/{made.pk}/state/"))
    assert "hx-trigger" not in part
    assert "unable to authenticate" in part


def test_part_follows_until_the_regions_are_looked_over(admin, made):
    path = f"/accounts/clouds/{made.pk}/state/"
    assert 'hx-trigger="every 2s"' in text_of(admin.get(path))
    line = {"region": "fsn1", "topic": "network", "detail": "none & nowhere", "advice": "Make one."}
    account_mark_looked_over(account_id=made.pk, lines=[line | {"state": "not_ready"}])
    part = text_of(admin.get(path))
    assert "hx-trigger" not in part
    assert "not ready</span>" in part
    assert "none &amp; nowhere <small>Make one.</small>" in part


def test_static_key_is_flagged_with_its_age(admin):
    made = account(
        provider="aws", access="static_key", settings={"regions": ["eu-west-1"]},
        secret={"access_key_id": "AKIAEXAMPLE", "secret_access_key": "y" * 40},
    )  # fmt: skip
    for path in ("/accounts/clouds/", f"/accounts/clouds/{made.pk}/"):
        page = text_of(admin.get(path))
        assert "static key</span>" in page
        assert "0 days" in page


def test_switch_turns_the_account_off_and_on_again(admin, made):
    path = f"/accounts/clouds/{made.pk}/switch/"
    admin.post(path, {"enabled": "0"})
    assert not CloudAccount.objects.get().is_enabled
    admin.post(path, {"enabled": "1"})
    assert CloudAccount.objects.get().is_enabled


def test_account_is_removed_only_without_machines_and_with_its_secret(admin, made):
    alive = machine(made)
    path = f"/accounts/clouds/{made.pk}"
    refused = text_of(admin.post(f"{path}/delete/", follow=True))
    assert "1 machine of this account may still exist" in refused
    alive.delete()
    assert "its secret deleted" in text_of(admin.post(f"{path}/delete/", follow=True))
    assert "enter it again" in text_of(admin.post(f"{path}/switch/", {"enabled": "1"}, follow=True))


@pytest.mark.parametrize("role", ["read", "write", "run", None])
def test_pages_are_for_admins_only(client, made, role):
    if role:
        client.force_login(factories.user(role=role))
    path = f"/accounts/clouds/{made.pk}/"
    answers = [
        client.get("/accounts/clouds/"), client.get("/accounts/clouds/new/hetzner/"),
        client.post("/accounts/clouds/new/hetzner/", fields()), client.get(path),
        client.get(f"{path}state/"),
        *(client.post(path + part, {}) for part in ("limits/", "login/", "check/", "switch/", "delete/")),
    ]  # fmt: skip
    assert {answer.status_code for answer in answers} == {403}
    assert "/accounts/clouds/" not in text_of(client.get("/hosts/"))


# --- renting --------------------------------------------------------------------------------------


@pytest.fixture
def offered(made):
    region = factories.region("fsn1", provider_slug="hetzner")
    found = factories.offer("hetzner-cx22", provider_slug="hetzner", region=region, arch="x86_64")
    factories.price(found, "0.006", currency="EUR")
    factories.rate("USD", "1.10")
    return found


@pytest.fixture
def operator(client):
    client.force_login(factories.user(role="run"))
    return client


WANTED = {
    "profile": "quick", "purchase_model": "on_demand", "budget_amount": "0.5",
    "budget_currency": "eur",
}  # fmt: skip


def test_offer_page_shows_what_is_reserved_and_rents_a_machine(operator, offered, made):
    page = text_of(operator.get("/offers/hetzner-cx22/"))
    assert "Measure this offer" in page
    assert "0.0060 EUR" in page  # quick: less than an hour, and Hetzner charges hours begun
    assert 'value="0.006"' in page
    answer = operator.post("/offers/hetzner-cx22/measure/", WANTED)
    run = Run.objects.get()
    assert answer.headers["Location"] == f"/runs/{run.pk}/"
    assert run.parameters["purchase_model"] == "on_demand"
    resource = Resource.objects.get()
    assert (resource.run, resource.account, resource.offer) == (run, made, offered)
    assert (resource.budget_amount, resource.budget_currency) == (Decimal("0.5"), "EUR")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"budget_amount": ""}, "budget_amount"),
        ({"budget_amount": "-1"}, "budget_amount"),
        ({"budget_currency": "XXX"}, "budget_currency"),
        ({"purchase_model": "stolen"}, "purchase_model"),
        ({"profile": "huge"}, "profile"),
    ],
)
def test_offer_page_has_errors_of_a_rental_beside_their_fields(operator, offered, change, field):
    page = text_of(operator.post("/offers/hetzner-cx22/measure/", WANTED | change))
    assert f'id="{field}_error"' in page
    assert not Run.objects.exists()


def test_offer_page_says_why_when_the_account_cannot_rent_it(operator, made):
    region = factories.region("ash", provider_slug="hetzner")
    factories.offer("hetzner-far", provider_slug="hetzner", region=region)
    page = text_of(operator.get("/offers/hetzner-far/"))
    assert "cannot be rented: no account rents machines of hetzner in ash" in page
    answer = text_of(operator.post("/offers/hetzner-far/measure/", WANTED))
    assert "cannot be rented" in answer


def test_offer_page_says_nothing_of_renting_without_account_or_role(client, operator, offered):
    factories.offer("aws-m5", provider_slug="aws")
    assert 'id="measure-form"' not in text_of(operator.get("/offers/aws-m5/"))
    client.logout()
    assert 'id="measure-form"' not in text_of(client.get("/offers/hetzner-cx22/"))
    assert client.post("/offers/hetzner-cx22/measure/", WANTED).status_code == 403
    assert operator.post("/offers/none/measure/", WANTED).status_code == 403
    client.force_login(factories.user(role="run"))
    assert client.post("/offers/none/measure/", WANTED).status_code == 404


def test_run_page_has_its_machine_and_the_cost_of_each_hour(client, operator, offered, made):
    one = machine(made, offer=offered, provider_id="server-4711", zone="fsn1-dc14")
    charged(one, "0.0060")
    factories.sample(offered, 21.5, metric="boot_time_s", unit="s", run=one.run)
    page = text_of(operator.get(f"/runs/{one.run_id}/"))
    assert "Rented machine" in page
    assert "server-4711" in page
    assert "fsn1 · fsn1-dc14" in page
    assert "22 s" in page
    assert "0.012 EUR" in page
    assert "0.006 EUR" in page.partition('id="ledger"')[2]
    client.logout()
    public = text_of(client.get(f"/runs/{one.run_id}/"))
    assert "Rented machine" in public
    assert "server-4711" not in public
    assert made.name not in public


def test_run_page_says_that_a_machine_never_was(operator, made):
    one = machine(
        made, state=ResourceState.GONE, provider_id="", launched_at=None, called_at=None,
        hourly_amount=None, reserved_amount=None, currency="",
    )  # fmt: skip
    assert "never made" in text_of(operator.get(f"/runs/{one.run_id}/"))


def test_run_page_of_a_standing_host_says_nothing_of_machines(operator):
    assert 'id="machine"' not in text_of(operator.get(f"/runs/{factories.run().pk}/"))


@pytest.mark.parametrize("state", ["unverified", "trusted", "gone"])
def test_host_page_of_a_rented_machine_offers_nothing_to_do(operator, made, state):
    host = machine(made).run.host
    host.state = state
    host.save()
    page = text_of(operator.get(f"/hosts/{host.pk}/"))
    assert "rented for one run" in page
    assert 'id="run-form"' not in page
    assert 'id="scan"' not in page
    assert ("deleted when its run ended" in page) == (state == "gone")
    assert host.name not in text_of(operator.get("/hosts/")).partition("Latest runs")[0]


# --- campaigns ------------------------------------------------------------------------------------


def campaign_fields(**given) -> dict[str, str]:
    return {
        "name": "two types", "offers": "hetzner-cx22", "profile": "quick", "repeats": "2",
        "concurrency": "3", "network_pairs": "none", "purchase_model": "spot",
        "budget_amount": "1", "budget_currency": "EUR", **given,
    }  # fmt: skip


def test_campaign_of_offers_is_made_and_shows_its_machines(client, operator, offered, made):
    form = text_of(operator.get("/campaigns/new/?offer=hetzner-cx22"))
    assert "hetzner-cx22</textarea>" in form
    answer = operator.post("/campaigns/new/", campaign_fields())
    campaign = Campaign.objects.get()
    path = f"/campaigns/{campaign.pk}/"
    assert answer.headers["Location"] == path
    assert list(campaign.offers.all()) == [offered]
    assert campaign.parameters == {"purchase_model": "spot"}
    page = text_of(operator.get(path))
    assert "1 offer to rent" in page
    assert "Rented machines" not in page
    assert operator.post(f"{path}start/").status_code == 302
    assert Resource.objects.count() == 2
    Resource.objects.update(provider_id="server-4711")
    page = text_of(operator.get(path))
    assert "Rented machines of this round" in page
    assert page.count("server-4711") == 2
    client.logout()
    assert "server-4711" not in text_of(client.get(path))


@pytest.mark.parametrize(
    ("change", "field", "told"),
    [
        ({"offers": "hetzner-cx22, nothing"}, "offers", "no offer is called"),
        ({"offers": "hetzner-cx22\nhetzner-cx22"}, "offers", "named twice"),
        ({"budget_amount": ""}, "budget_amount", "need a budget"),
        ({"offers": ""}, "hosts", "at least one host or offer"),
        ({"purchase_model": "stolen"}, "purchase_model", "valid choice"),
    ],
)
def test_campaign_form_has_errors_of_offers_beside_their_fields(
    operator, offered, change, field, told
):
    page = text_of(operator.post("/campaigns/new/", campaign_fields(**change)))
    assert told in page.partition(f'id="{field}_error">')[2].partition("<")[0]
    assert not Campaign.objects.exists()


def test_rented_hosts_are_not_offered_to_campaigns(operator, made):
    rented = machine(made).run.host
    rented.state = "trusted"
    rented.save()
    assert rented.name not in text_of(operator.get("/campaigns/new/"))
