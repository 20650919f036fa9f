"""Services of cloud accounts: what is kept, who may give them up, how often they are called."""

import datetime as dt
import json
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
from django.db import connection

from backend.accounts.models import AccessKind, AuditEntry, CloudAccount
from backend.core import clock
from backend.core.crypto import SealBroken
from backend.core.sealing import identity_of
from backend.foundation.errors import InvalidValue
from backend.providers.registry import PROVIDERS
from backend.providers.rentals import Budget
from backend.rentals.selectors.cloud_accounts import accounts_visible, secret_age_days
from backend.rentals.services.account_access import (
    account_mark_checked,
    account_mark_used,
    account_secret,
    call_take,
)
from backend.rentals.services.cloud_accounts import (
    AccountInUse,
    account_check,
    account_delete,
    account_secret_replace,
    account_update,
)
from tests import factories
from tests.backend.clouds import TOKEN, account, machine

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]


def updated(of: CloudAccount, **given) -> CloudAccount:
    return account_update(
        **{
            "account": of, "name": of.name, "settings": of.settings, "budget": None,
            "max_machines": of.max_machines, "max_vcpus": of.max_vcpus,
            "is_enabled": True, "actor": "tester", **given,
        }
    )  # fmt: skip


def replaced(of: CloudAccount, **given) -> CloudAccount:
    return account_secret_replace(
        **{
            "account": of, "access": of.access, "settings": of.settings,
            "secret": {"token": "another-token-9"}, "actor": "tester", **given,
        }
    )  # fmt: skip


def refused(call) -> str:
    with pytest.raises(InvalidValue) as refusal:
        call()
    return refusal.value.field


def trail() -> str:
    return json.dumps(list(AuditEntry.objects.values("actor", "action", "detail")))


def test_authentication_methods_are_those_of_the_model_when_compared():
    methods = {method for record in PROVIDERS.values() for method in record.auth_methods}
    assert methods == set(AccessKind.values)


# --- made, changed, removed -----------------------------------------------------------------------


def test_account_keeps_its_secret_sealed_and_asks_who_we_are_when_made(
    queued, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        made = account(budget=Budget(Decimal(50), "EUR"))
    row = CloudAccount.objects.get()
    assert TOKEN.encode() not in bytes(row.sealed_secret or b"")
    assert account_secret(account=row) == {"token": TOKEN}
    assert row.check_requested_at is not None
    assert queued == [("workers.check_account", {"account_id": str(made.pk)})]
    assert (row.budget_amount, row.budget_currency) == (Decimal(50), "EUR")
    assert secret_age_days(row) == 0
    assert TOKEN not in trail()
    assert "50 EUR" in trail()


def test_secret_opens_only_for_its_own_row_when_copied():
    one, other = account(), account()
    other.sealed_secret = one.sealed_secret
    with pytest.raises(SealBroken):
        account_secret(account=other)
    assert identity_of(one) == f"cloudaccount:{one.pk}"


def test_account_has_no_secret_when_its_method_needs_none():
    made = account(
        provider="aws", access="workload_identity", settings={"regions": ["eu-west-1"]}, secret={}
    )
    assert made.sealed_secret is None
    assert account_secret(account=made) == {}
    assert secret_age_days(made) is None


@pytest.mark.parametrize(
    ("pointer", "given"),
    [
        ("/name", {"name": " "}),
        ("/name", {"name": "x" * 101}),
        ("/name", {"name": "a\nb"}),
        ("/provider", {"provider": "moon"}),
        ("/access", {"access": "static_key"}),
        ("/settings/regions", {"settings": {"regions": "fsn1"}}),
        ("/secret/token", {"secret": {}}),
        ("/max_machines", {"max_machines": -1}),
        ("/max_machines", {"max_machines": 1001}),
        ("/max_vcpus", {"max_vcpus": 0}),
        ("/budget/amount", {"budget": Budget(Decimal(0), "EUR")}),
    ],
)
def test_account_is_refused_by_pointer_when_it_is_not_sound(pointer, given):
    assert refused(lambda: account(**given)) == pointer
    assert not CloudAccount.objects.exists()


def test_name_is_refused_when_another_account_of_the_workspace_has_it():
    first = account(name="ours")
    assert refused(lambda: account(name="ours")) == "/name"
    second = account(name="theirs")
    assert refused(lambda: updated(second, name="ours")) == "/name"
    assert updated(first, name="ours").name == "ours"


def test_limits_change_without_asking_the_provider_when_the_settings_stay():
    made = account()
    account_mark_checked(account_id=made.pk, identity="project 7", error="")
    changed = updated(made, max_machines=0, budget=Budget(Decimal("9.5"), "EUR"))
    assert (changed.max_machines, changed.budget_amount) == (0, Decimal("9.5"))
    assert changed.check_requested_at is None
    assert updated(made, budget=None).budget_amount is None
    assert updated(made, settings={"regions": ["hel1"]}).check_requested_at is not None


def test_another_address_needs_the_secret_anew_when_one_is_kept(settings):
    settings.CLOUD_ENDPOINTS = True
    made = account()
    moved = {"regions": ["fsn1", "nbg1"], "endpoint_url": "http://127.0.0.1:9"}
    assert refused(lambda: updated(made, settings=moved)) == "/settings/endpoint_url"
    assert replaced(made, settings=moved).settings == moved
    open_one = account(
        provider="aws", access="workload_identity", settings={"regions": ["eu-west-1"]}, secret={}
    )
    moved = {"regions": ["eu-west-1"], "endpoint_url": "http://127.0.0.1:9"}
    assert updated(open_one, settings=moved).settings == moved


def test_secret_and_authentication_method_are_replaced_together():
    made = account(
        provider="aws", access="static_key", settings={"regions": ["eu-west-1"]},
        secret={"access_key_id": "AKIAEXAMPLE", "secret_access_key": "y" * 40},
    )  # fmt: skip
    account_mark_checked(account_id=made.pk, identity="arn:aws:iam::1:user/x", error="")
    role = {
        "regions": ["eu-west-1"], "external_id": "rack:1",
        "role_arn": "arn:aws:iam::123456789012:role/bench",
    }  # fmt: skip
    changed = replaced(made, access="assume_role", settings=role, secret={})
    assert (changed.access, changed.sealed_secret, changed.identity) == ("assume_role", None, "")
    assert changed.check_requested_at is not None
    back = {"regions": ["eu-west-1"]}
    pointer = refused(lambda: replaced(made, access="static_key", settings=back, secret={}))
    assert pointer == "/secret/access_key_id"


def test_account_is_disabled_and_its_secret_forgotten_when_given_up():
    made = account()
    given_up = account_delete(account=made, actor="tester")
    assert (given_up.is_enabled, given_up.sealed_secret, given_up.secret_set_at) == (
        False, None, None,
    )  # fmt: skip
    assert refused(lambda: updated(given_up)) == "/enabled"
    assert updated(replaced(given_up), is_enabled=True).is_enabled


def test_account_stays_when_a_machine_of_it_may_exist():
    made = account()
    alive = machine(made)
    with pytest.raises(AccountInUse, match="1 machine of this account"):
        account_delete(account=made, actor="tester")
    alive.state, alive.gone_at = "gone", clock.now()
    alive.save()
    with pytest.raises(AccountInUse):  # the provider may tell of another one only later
        account_delete(account=made, actor="tester")
    alive.gone_at = clock.now() - dt.timedelta(hours=1)
    alive.save()
    machine(made, state="gone", called_at=None, gone_at=clock.now())  # never asked for
    assert not account_delete(account=made, actor="tester").is_enabled


def test_account_may_be_disabled_when_machines_of_it_are_alive():
    made = account()
    machine(made)
    stopped = updated(made, is_enabled=False)
    assert not stopped.is_enabled
    assert stopped.sealed_secret is not None


@pytest.mark.parametrize(
    ("pointer", "change"),
    [
        ("/settings/regions", {"regions": ["nbg1"]}),
        ("/settings/endpoint_url", {"endpoint_url": "http://127.0.0.1:9"}),
    ],
)
def test_settings_are_refused_when_we_would_lose_sight_of_a_machine(settings, pointer, change):
    settings.CLOUD_ENDPOINTS = True
    made = account()
    alive = machine(made, region="fsn1")
    wanted = {**made.settings, **change}
    assert refused(lambda: replaced(made, settings=wanted)) == pointer
    assert replaced(made, settings={"regions": ["fsn1", "hel1"]}).settings["regions"][1] == "hel1"
    alive.state = "gone"
    alive.save()
    assert replaced(made, settings=wanted).settings == wanted


def test_accounts_are_listed_with_the_machines_that_may_exist_when_asked():
    one, other = account(), account()
    for state in ("wanted", "called", "created", "gone"):
        machine(one, state=state)
    found = {row.pk: row.machines for row in accounts_visible(factories.workspace())}
    assert found == {one.pk: 3, other.pk: 0}


# --- checks and use -------------------------------------------------------------------------------


def test_check_keeps_who_we_were_when_the_provider_refuses_us():
    made = account()
    account_mark_checked(account_id=made.pk, identity="project 7", error="")
    made.refresh_from_db()
    assert (made.identity, made.check_error, made.check_requested_at) == ("project 7", "", None)
    account_check(account=made, actor="tester")
    account_mark_checked(account_id=made.pk, identity="", error="auth: refused" + "x" * 600)
    made.refresh_from_db()
    assert made.identity == "project 7"
    assert made.check_error.startswith("auth: refused")
    assert len(made.check_error) == 500
    assert made.checked_at is not None


def test_repeated_use_is_noted_each_minute_and_audited_each_hour(monkeypatch):
    made = account()
    at = clock.now()
    steps = ((0, True, 1), (0.5, False, 1), (1.1, True, 1), (61, True, 2), (61.5, False, 2))
    for minutes, is_noted, entries in steps:
        now = at + dt.timedelta(minutes=minutes)
        monkeypatch.setattr(clock, "now", lambda now=now: now)
        made.refresh_from_db()
        account_mark_used(account=made)
        made.refresh_from_db()
        assert (made.last_used_at == now) == is_noted
        assert AuditEntry.objects.filter(action="cloud_account_use").count() == entries


# --- the bucket of calls --------------------------------------------------------------------------


def test_bucket_gives_its_burst_and_then_says_how_long_to_wait():
    made = account()
    given = [call_take(account=made, rate_per_s=0.001, burst=3) for _ in range(5)]
    assert given[:3] == [0, 0, 0]
    assert 0 < given[3] <= 1000
    assert given[4] <= given[3]


def test_bucket_of_ends_is_full_when_all_other_calls_are_taken():
    made = account()
    while call_take(account=made, rate_per_s=0.001, burst=3) == 0:
        pass
    ends = [call_take(account=made, is_end=True, rate_per_s=0.001, burst=3) for _ in range(4)]
    assert (ends[:3], ends[3] > 0) == ([0, 0, 0], True)


def test_bucket_fills_with_time_and_never_over_its_burst():
    made = account()
    long_ago = clock.now() - dt.timedelta(seconds=2)
    CloudAccount.objects.filter(pk=made.pk).update(calls_left=0.5, calls_at=long_ago)
    assert call_take(account=made, rate_per_s=1, burst=20) == 0
    made.refresh_from_db()
    assert 1.5 <= made.calls_left < 3
    CloudAccount.objects.filter(pk=made.pk).update(
        calls_left=0, calls_at=factories.AT.replace(year=2000)
    )
    assert call_take(account=made, rate_per_s=1, burst=2) == 0
    made.refresh_from_db()
    assert made.calls_left == 1


def test_bucket_stays_as_it_is_when_the_clock_went_back():
    made = account()
    ahead = clock.now() + dt.timedelta(hours=1)
    CloudAccount.objects.filter(pk=made.pk).update(calls_left=0.25, calls_at=ahead)
    assert call_take(account=made, rate_per_s=0.5, burst=20) == pytest.approx(1.5)


def test_bucket_is_refused_when_the_account_is_gone():
    with pytest.raises(CloudAccount.DoesNotExist):
        call_take(account=CloudAccount())


@pytest.mark.django_db(transaction=True)
def test_bucket_never_gives_more_than_it_holds_when_many_ask_at_once():
    made = account()

    def taken(_: int) -> int:
        try:
            return sum(call_take(account=made, rate_per_s=0.0001, burst=20) == 0 for _ in range(10))
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(taken, range(8))) == 20
