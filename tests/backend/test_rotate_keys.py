"""The change of every sealed column to other keys."""

import json

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.core.management import CommandError, call_command

from backend.accounts.models import Authenticator, CloudAccount, KeptAnswer
from backend.benchmarks.models import Host
from backend.benchmarks.services.login_keys import host_private_key, login_key_replace
from backend.config import keys
from backend.core import crypto, sealing
from backend.core.crypto import WEB, key_id, seal
from backend.notifications.models import Subscription
from backend.notifications.services.subscriptions import subscription_secret
from backend.rentals.services.account_access import account_secret
from tests import factories
from tests.keys import NEW, OLD, OTHER, set_keys, set_keys_of_web

SECRET = b"correct horse battery staple"


@pytest.fixture(autouse=True)
def _keys(settings):
    set_keys(settings, OLD)


def test_sealed_columns_of_all_apps_are_listed():
    assert {str(column) for column in sealing.secret_columns()} == {
        "accounts.Authenticator.sealed_key",
        "accounts.CloudAccount.sealed_secret",
        "accounts.KeptAnswer.sealed_body",
        "benchmarks.Host.sealed_private_key",
        "benchmarks.LoginKey.sealed_earlier_key",
        "benchmarks.LoginKey.sealed_private_key",
        "notifications.Subscription.sealed_secret",
    }


@pytest.fixture
def rows(db) -> tuple[Host, CloudAccount, Subscription, Authenticator]:
    """A row of each model with a secret, and one host without."""
    factories.host()
    host = factories.host()
    host.sealed_private_key = seal(SECRET, identity=f"host:{host.pk}")
    host.save()
    account = CloudAccount(workspace=factories.workspace(), name="a", provider="hetzner")
    account.sealed_secret = seal(b'{"token": "abc"}', identity=f"cloudaccount:{account.pk}")
    account.save()
    subscription = Subscription(workspace=factories.workspace(), channel="webhook", kinds=[])
    subscription.sealed_secret = seal(SECRET, identity=f"subscription:{subscription.pk}")
    subscription.save()
    login_key_replace(workspace=factories.workspace(), actor="boss")
    answer = KeptAnswer(caller="user 1", key="once", request_sha256=b"")
    answer.sealed_body = seal(SECRET, identity=f"keptanswer:{answer.pk}", ring=WEB)
    answer.save()
    authenticator = Authenticator(user=factories.user(), name="phone")
    authenticator.sealed_key = seal(SECRET, identity=f"authenticator:{authenticator.pk}", ring=WEB)
    authenticator.save()
    return host, account, subscription, authenticator


def rotated(capsys) -> dict[str, dict[str, object]]:
    capsys.readouterr()
    call_command("rotate_keys", "--json")
    answer = json.loads(capsys.readouterr().out)
    assert answer["key"] == key_id(keys.public_key(NEW, stated=b"")).hex()
    return {entry.pop("column"): entry for entry in answer["columns"]}


def test_previous_keys_may_be_emptied_when_the_rotation_is_through(settings, capsys, rows):
    set_keys(settings, NEW, OLD)
    once = {"rewrapped": 1, "current": 0, "broken": []}
    assert rotated(capsys) == {str(column): once for column in sealing.secret_columns()}
    set_keys(settings, NEW)
    for row in rows:
        row.refresh_from_db()
    host, account, subscription, authenticator = rows
    assert host_private_key(host=host) == SECRET
    assert account_secret(account=account) == {"token": "abc"}
    assert subscription_secret(subscription=subscription) == SECRET
    assert authenticator.key() == SECRET


def test_rotation_changes_nothing_when_it_is_done_again(settings, capsys, rows):
    set_keys(settings, NEW, OLD)
    rotated(capsys)
    before = list(Host.objects.values_list("sealed_private_key", flat=True))
    again = {"rewrapped": 0, "current": 1, "broken": []}
    assert rotated(capsys) == {str(column): again for column in sealing.secret_columns()}
    assert list(Host.objects.values_list("sealed_private_key", flat=True)) == before


def test_rotation_goes_on_where_it_was_interrupted(settings, capsys, rows, monkeypatch):
    set_keys(settings, NEW, OLD)
    real, calls = sealing.rewrap, []

    def failing(value, *, identity, ring):
        if calls:
            raise KeyboardInterrupt
        calls.append(identity)
        return real(value, identity=identity, ring=ring)

    monkeypatch.setattr(sealing, "rewrap", failing)
    with pytest.raises(KeyboardInterrupt):
        call_command("rotate_keys")
    monkeypatch.setattr(sealing, "rewrap", real)
    counts = [entry["rewrapped"] for entry in rotated(capsys).values()]
    assert sorted(counts) == [0, *[1] * (len(counts) - 1)]


def test_rotation_keeps_what_a_person_replaced_meanwhile(settings, capsys, rows, monkeypatch):
    host = rows[0]
    set_keys(settings, NEW, OLD)
    real = sealing.rewrap

    def late(value, *, identity, ring):
        if identity == f"host:{host.pk}":
            newer = seal(b"newer", identity=identity)
            Host.objects.filter(pk=host.pk).update(sealed_private_key=newer)
        return real(value, identity=identity, ring=ring)

    monkeypatch.setattr(sealing, "rewrap", late)
    answer = rotated(capsys)
    assert answer["benchmarks.Host.sealed_private_key"]["current"] == 1
    host.refresh_from_db()
    assert host_private_key(host=host) == b"newer"


def test_rotation_names_the_rows_that_no_key_opens_and_leaves_them(settings, capsys, rows):
    host = rows[0]
    set_keys(settings, OTHER)
    host.sealed_private_key = seal(SECRET, identity=f"host:{host.pk}")
    host.save()
    set_keys(settings, NEW, OLD)
    with pytest.raises(CommandError, match="1 values open with none"):
        call_command("rotate_keys", "--json")
    captured = capsys.readouterr()
    columns = {column["column"]: column for column in json.loads(captured.out)["columns"]}
    assert columns["benchmarks.Host.sealed_private_key"]["broken"] == [str(host.pk)]
    assert "benchmarks.Host.sealed_private_key: 0 wrapped again, 0 already, 1 not" in captured.err
    set_keys(settings, NEW, OTHER)
    assert host_private_key(host=Host.objects.get(pk=host.pk)) == SECRET


def test_rotation_prints_progress_when_there_are_many_rows(settings, capsys, rows, monkeypatch):
    monkeypatch.setattr(sealing, "CHUNK", 1)
    set_keys(settings, NEW, OLD)
    call_command("rotate_keys")
    told = [line for line in capsys.readouterr().err.splitlines() if "Host" in line]
    assert told == ["benchmarks.Host.sealed_private_key: 1 wrapped again, 0 already"] * 2


def test_rotation_never_opens_a_secret(settings, capsys, rows, monkeypatch):
    def forbidden(*_, **__):
        raise AssertionError("a secret was opened")

    set_keys(settings, NEW, OLD)
    monkeypatch.setattr(crypto, "unseal", forbidden)
    lengths = []
    real = AESGCM.decrypt
    monkeypatch.setattr(
        crypto, "AESGCM", type("Counting", (), {
            "__init__": lambda self, key: setattr(self, "cipher", AESGCM(key)),
            "encrypt": lambda self, *a: self.cipher.encrypt(*a),
            "decrypt": lambda self, *a: lengths.append(len(a[1])) or real(self.cipher, *a),
        }),
    )  # fmt: skip
    rotated(capsys)
    assert lengths == []


def test_rotation_is_refused_without_the_key_of_the_credentials(settings, db):
    host = factories.host()
    set_keys(settings, OTHER)
    host.sealed_private_key = seal(SECRET, identity=f"host:{host.pk}")
    host.save()
    set_keys_of_web(settings, OLD, NEW)
    with pytest.raises(CommandError, match="has no CREDENTIAL_KEY"):
        call_command("rotate_keys")
