"""/api/v1/cloud-accounts: admins only, strict documents, no way to read a secret."""

import json
from decimal import Decimal
from uuid import uuid4

import jsonschema
import pytest

from backend.accounts.models import CloudAccount
from backend.core import clock
from backend.providers.rentals import Budget
from backend.rentals.api import cloud_accounts
from backend.rentals.services.account_access import (
    account_mark_checked,
    account_mark_looked_over,
    account_secret,
)
from tests import factories
from tests.backend.clouds import TOKEN, account, charged, machine
from tests.backend.conftest import API, fields, rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]
NEWER = "hcloud-token-9876543210"


def document(**given):
    return {
        "name": "Bench project", "provider": "hetzner", "access": "token",
        "settings": {"regions": ["fsn1"]}, "secret": {"token": TOKEN}, **given,
    }  # fmt: skip


@pytest.fixture
def admin(caller):
    return caller("admin")


def sent(client, method, path, body=None):
    call = getattr(client, method)
    return call(f"{API}/{path}", {} if body is None else body, content_type="application/json")


def test_account_is_made_and_shown_without_its_secret(admin):
    budget = {"amount": "25.50", "currency": "EUR"}
    made = sent(admin, "post", "cloud-accounts", document(budget=budget, max_machines=3))
    assert made.status_code == 201, made.content
    shown = made.json()
    assert shown["settings"] == {"regions": ["fsn1"]}
    assert (shown["has_secret"], shown["static_key"], shown["secret_age"]) == (True, False, 0)
    assert (shown["max_machines"], shown["budget"]["currency"]) == (3, "EUR")
    assert shown["budget"]["amount"].startswith("25.5")
    assert (shown["checking"], shown["identity"], shown["machines"]) == (True, None, 0)
    assert admin.get(f"{API}/cloud-accounts/{shown['id']}").json() == shown
    listed = admin.get(f"{API}/cloud-accounts").json()["results"]
    assert [row["name"] for row in listed] == ["Bench project"]
    assert rows(admin.get(f"{API}/cloud-accounts.csv"))[0]["regions"] == "fsn1"
    assert account_secret(account=CloudAccount.objects.get()) == {"token": TOKEN}
    assert TOKEN not in json.dumps([shown, listed])


def test_static_key_is_flagged_when_the_cloud_has_a_keyless_method(admin):
    key = {"access_key_id": "AKIAEXAMPLEEXAMPLE", "secret_access_key": "z" * 40}
    made = sent(
        admin, "post", "cloud-accounts",
        document(provider="aws", access="static_key", settings={"regions": ["eu-west-1"]}, secret=key),
    )  # fmt: skip
    assert made.json()["static_key"] is True
    assert key["secret_access_key"] not in made.content.decode()


@pytest.mark.parametrize(
    ("pointers", "given"),
    [
        (["/colour"], {"colour": "red"}),
        (["/settings/colour"], {"settings": {"regions": ["fsn1"], "colour": "red"}}),
        (["/settings/regions/0"], {"settings": {"regions": ["mars"]}}),
        (["/settings/endpoint_url"], {"settings": {"regions": ["fsn1"], "endpoint_url": "https://x.example"}}),
        (["/secret"], {"secret": "hcloud"}),
        (["/secret/token"], {"secret": {}}),
        (["/secret/token"], {"secret": {"token": 7}}),
        (["/secret/tokn"], {"secret": {"tokn": NEWER}}),
        (["/access"], {"access": "static_key"}),
        (["/provider"], {"provider": "rackspace"}),
        (["/max_machines"], {"max_machines": 1001}),
        (["/budget/amount"], {"budget": {"amount": True, "currency": "EUR"}}),
        (["/budget/amount"], {"budget": {"amount": "0", "currency": "EUR"}}),
    ],
)  # fmt: skip
def test_bad_field_is_named_by_its_pointer_and_no_secret_is_quoted(admin, pointers, given):
    answer = sent(admin, "post", "cloud-accounts", document(**given))
    assert (answer.status_code, fields(answer)) == (400, pointers)
    assert TOKEN not in answer.content.decode()
    assert NEWER not in answer.content.decode()
    assert not CloudAccount.objects.exists()


def test_limits_and_settings_change_one_by_one_when_patched(admin):
    made = account()
    path = f"cloud-accounts/{made.pk}"
    assert sent(admin, "patch", path, {"max_machines": 5}).json()["max_machines"] == 5
    assert sent(admin, "patch", path, {"max_vcpus": 64}).json()["max_vcpus"] == 64
    budget = {"amount": "10", "currency": "USD"}
    assert sent(admin, "patch", path, {"budget": budget}).json()["budget"]["currency"] == "USD"
    stopped = sent(admin, "patch", path, {"enabled": False, "name": "Old"}).json()
    assert (stopped["enabled"], stopped["name"], stopped["max_machines"]) == (False, "Old", 5)
    assert stopped["budget"]["currency"] == "USD"
    assert sent(admin, "patch", path, {"budget": None}).json()["budget"] is None
    moved = sent(admin, "patch", path, {"settings": {"regions": ["hel1"]}})
    assert moved.json()["settings"] == {"regions": ["hel1"]}
    for refused in ({"secret": {"token": NEWER}}, {"provider": "aws"}, {"access": "token"}):
        answer = sent(admin, "patch", path, refused)
        assert (answer.status_code, fields(answer)) == (400, [f"/{next(iter(refused))}"])


def test_secret_is_replaced_and_not_answered_when_posted(admin):
    made = account()
    answer = sent(admin, "post", f"cloud-accounts/{made.pk}/secret", {"secret": {"token": NEWER}})
    assert answer.status_code == 200
    assert NEWER not in answer.content.decode()
    made.refresh_from_db()
    assert account_secret(account=made) == {"token": NEWER}
    bad = sent(admin, "post", f"cloud-accounts/{made.pk}/secret", {"secret": {"token": "a b"}})
    assert (bad.status_code, fields(bad)) == (400, ["/secret/token"])
    assert admin.get(f"{API}/cloud-accounts/{made.pk}/secret").status_code == 405


# --- check ----------------------------------------------------------------------------------------


@pytest.fixture
def answering(monkeypatch):
    """A broker whose worker asks the provider at once: answering(identity, error)."""
    from backend.config.celery import app

    def prepare(identity, error=""):
        def send_task(name, kwargs=None, **_):
            assert name == "workers.check_account"
            account_mark_checked(account_id=kwargs["account_id"], identity=identity, error=error)

        monkeypatch.setattr(app, "send_task", send_task)

    return prepare


@pytest.mark.django_db(transaction=True)
def test_check_answers_who_the_provider_says_we_are(admin, answering):
    answering("arn:aws:sts::1:assumed-role/bench")
    answer = sent(admin, "post", f"cloud-accounts/{account().pk}/check")
    assert answer.status_code == 200
    assert answer.json()["identity"] == "arn:aws:sts::1:assumed-role/bench"


@pytest.mark.django_db(transaction=True)
def test_check_is_502_with_the_reason_when_the_provider_refuses_us(admin, answering):
    answering("", "auth: unable to authenticate")
    made = account()
    answer = sent(admin, "post", f"cloud-accounts/{made.pk}/check", {})
    assert (answer.status_code, answer.json()["detail"]) == (502, "auth: unable to authenticate")
    assert admin.get(f"{API}/cloud-accounts/{made.pk}").json()["check_error"].startswith("auth")


@pytest.mark.django_db(transaction=True)
def test_check_is_504_when_no_worker_answers(admin, monkeypatch):
    monkeypatch.setattr(cloud_accounts, "CHECK_WAIT_S", 0.2)
    answer = sent(admin, "post", f"cloud-accounts/{account().pk}/check", {})
    assert answer.status_code == 504


# --- what was spent -------------------------------------------------------------------------------


def test_month_counts_what_is_reserved_or_spent_in_the_budget_s_currency(admin):
    made = account(budget=Budget(Decimal(50), "USD"))
    factories.rate("USD", "1.25")
    machine(made, reserved_amount=Decimal(2))  # EUR
    gone = machine(made, state="gone", launched_at=clock.now(), gone_at=clock.now())
    charged(gone, "0.4")
    old = machine(made, state="gone", launched_at=factories.AT.replace(year=2020))
    charged(old, "7")
    machine(made, currency="XXX")
    shown = admin.get(f"{API}/cloud-accounts/{made.pk}").json()
    used = shown["month_used"]
    assert (Decimal(used["amount"]), used["currency"], used["unknown"]) == (3, "USD", ["XXX"])
    assert shown["machines"] == 2


# --- removed, and who may -------------------------------------------------------------------------


def test_delete_disables_and_is_409_while_machines_may_exist(admin):
    made = account()
    alive = machine(made)
    refused = admin.delete(f"{API}/cloud-accounts/{made.pk}")
    assert (refused.status_code, refused.json()["machines"]) == (409, 1)
    alive.delete()
    assert admin.delete(f"{API}/cloud-accounts/{made.pk}").status_code == 204
    shown = admin.get(f"{API}/cloud-accounts/{made.pk}").json()
    assert (shown["enabled"], shown["has_secret"]) == (False, False)


@pytest.mark.parametrize("scope", ["read", "write", "run", None])
def test_everything_is_refused_when_the_caller_is_no_admin(client, caller, settings, scope):
    settings.PUBLIC_READ = True
    made = account()
    asking = caller(scope) if scope else client
    path = f"cloud-accounts/{made.pk}"
    answers = [
        asking.get(f"{API}/cloud-accounts"), asking.get(f"{API}/cloud-accounts.csv"),
        asking.get(f"{API}/{path}"), sent(asking, "post", "cloud-accounts", document()),
        sent(asking, "patch", path, {}), sent(asking, "post", f"{path}/secret", {}),
        sent(asking, "post", f"{path}/check"), asking.delete(f"{API}/{path}"),
    ]  # fmt: skip
    assert {answer.status_code for answer in answers} == {403 if scope else 401}


def test_account_of_another_workspace_is_404_when_asked_for(admin):
    from backend.accounts.models import Workspace

    foreign = account(workspace=Workspace.objects.create(slug="other", name="Other"))
    for path in (f"cloud-accounts/{foreign.pk}", f"cloud-accounts/{uuid4()}"):
        assert admin.get(f"{API}/{path}").status_code == 404
        assert sent(admin, "patch", path, {}).status_code == 404
        assert sent(admin, "post", f"{path}/secret", {"secret": {}}).status_code == 404
        assert sent(admin, "post", f"{path}/check").status_code == 404
        assert admin.delete(f"{API}/{path}").status_code == 404
    assert admin.get(f"{API}/cloud-accounts").json()["results"] == []


def test_published_schema_accepts_what_the_api_accepts(admin, client):
    schema = admin.get(f"{API}/schemas/cloud-account.json").json()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document(), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document(colour="red"), schema)
    detail = admin.get(f"{API}/schemas/cloud-account-detail.json").json()
    jsonschema.validate(admin.get(f"{API}/cloud-accounts/{account().pk}").json(), detail)
    assert "secret" not in detail["properties"]


def test_account_says_what_its_regions_lack(admin):
    made = account()
    line = {
        "region": "fsn1", "topic": "network", "state": "not_ready", "detail": "none",
        "advice": "Make one.",
    }  # fmt: skip
    shown = admin.get(f"{API}/cloud-accounts/{made.pk}").json()
    assert (shown["preflight"], shown["preflight_at"]) == ([], None)
    account_mark_looked_over(account_id=made.pk, lines=[line])
    shown = admin.get(f"{API}/cloud-accounts/{made.pk}").json()
    assert shown["preflight"] == [line]
    assert shown["preflight_at"]
