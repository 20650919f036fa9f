"""Access to clouds in the worker: what is opened, what is noted, and what never gets out."""

import logging

import pytest

from backend.accounts.models import AuditEntry, CloudAccount
from backend.foundation.errors import DriverError, Reason
from backend.rentals.services.cloud_accounts import account_check
from tests.backend.clouds import TOKEN, account
from tests.fakes.fake.cloud import FakeCloud, Fault
from tests.fakes.fake.driver import FakeDriver
from workers import tasks
from workers.rentals import account_access
from workers.rentals.account_access import access_of, check

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]


@pytest.fixture
def provider(tmp_path, settings) -> FakeCloud:
    settings.CLOUD_ENDPOINTS = True
    return FakeCloud(tmp_path)


@pytest.fixture
def stored(provider, tmp_path) -> CloudAccount:
    return account(
        provider="fake", settings={"regions": ["here-1"], "folder": str(tmp_path)},
        secret={"token": TOKEN},
    )  # fmt: skip


def checked(of: CloudAccount) -> CloudAccount:
    account_check(account=of, actor="tester")
    tasks.check_account(account_id=str(of.pk))
    return CloudAccount.objects.get(pk=of.pk)


def test_access_holds_the_opened_secret_and_does_not_show_it(stored):
    access = access_of(stored)
    assert (access.kind, access.secret) == ("token", {"token": TOKEN})
    assert access.settings["regions"] == ["here-1"]
    assert TOKEN not in repr(access)
    assert CloudAccount.objects.get().last_used_at is not None
    used = AuditEntry.objects.get(action="cloud_account_use")
    assert (used.actor, used.object_id) == ("worker", str(stored.pk))
    access_of(stored)
    assert AuditEntry.objects.filter(action="cloud_account_use").count() == 1


def test_access_is_refused_like_by_a_driver_without_a_readable_secret(stored):
    stored.sealed_secret = account(name="other").sealed_secret
    with pytest.raises(DriverError) as refusal:
        access_of(stored)
    assert (refusal.value.reason, refusal.value.retryable) == (Reason.AUTH, False)
    stored.save()
    assert (
        checked(stored).check_error
        == "auth: a sealed value does not open with the keys of this server"
    )


def test_check_keeps_who_the_provider_says_we_are(stored, tmp_path):
    found = checked(stored)
    assert (found.identity, found.check_error) == (f"fake {tmp_path.name}", "")
    assert found.check_requested_at is None
    assert found.checked_at is not None


def test_check_keeps_why_the_provider_refuses_us(stored, provider):
    provider.fault(Fault.AUTH, times=1)
    found = checked(stored)
    assert found.check_error.startswith("auth: ")
    assert (found.identity, found.check_requested_at) == ("", None)


def test_check_asks_nobody_where_only_prices_are_read():
    found = checked(account(provider="digitalocean", settings={}))
    assert (found.identity, found.check_error, found.check_requested_at) == ("", "", None)


def test_look_at_regions_is_forgotten_when_none_is_left(stored):
    assert checked(stored).preflight
    stored.settings.pop("regions")
    stored.save()
    assert checked(stored).preflight == []


@pytest.mark.parametrize(
    "error",
    [DriverError(Reason.AUTH, f"{TOKEN} is wrong", retryable=False), ValueError(f"bad {TOKEN}")],
)
def test_check_shows_no_secret_when_the_driver_quotes_it(stored, monkeypatch, caplog, error):
    class Quoting(FakeDriver):
        async def whoami(self) -> str:
            raise error

    monkeypatch.setattr(account_access, "cloud", lambda _, access: Quoting(access))
    with caplog.at_level(logging.DEBUG):
        found = checked(stored)
    assert TOKEN not in found.check_error + caplog.text
    assert found.check_error in {"auth: (secret) is wrong", "bug: ValueError"}
    assert found.check_requested_at is None
    assert ("ValueError: bad (secret)" in caplog.text) == isinstance(error, ValueError)


def test_check_of_a_forgotten_account_is_an_error_of_its_own():
    with pytest.raises(CloudAccount.DoesNotExist):
        check("00000000-0000-0000-0000-000000000000")
