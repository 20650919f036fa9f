"""Sealed values, the keys that open them, and the change of all of them to another key."""

import base64
import json
import os

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from backend.accounts.models import Authenticator, CloudAccount, KeptAnswer
from backend.benchmarks.models import Host
from backend.benchmarks.services.login_keys import host_private_key, login_key_replace
from backend.common import crypto, sealing
from backend.common.crypto import SealBroken, is_current, key_id, opened, rewrapped, sealed
from backend.config import environment
from backend.notifications.models import Subscription
from backend.notifications.services.subscriptions import subscription_secret
from backend.rentals.services.account_access import account_secret
from tests import factories

OLD, NEW, OTHER = (bytes([number]) * 32 for number in (1, 2, 3))
SECRET = b"correct horse battery staple"


@pytest.fixture(autouse=True)
def _keys(settings):
    settings.CREDENTIAL_KEY, settings.CREDENTIAL_KEYS_PREVIOUS = OLD, []


def in_first_form(secret: bytes, identity: str, key: bytes = OLD) -> bytes:
    """What the first version of the program stored: it did not name its key."""
    data_key, key_nonce, nonce = os.urandom(32), os.urandom(12), os.urandom(12)
    bound = identity.encode()
    wrapped = AESGCM(key).encrypt(key_nonce, data_key, bound)
    return b"\x01" + key_nonce + wrapped + nonce + AESGCM(data_key).encrypt(nonce, secret, bound)


def test_secret_comes_back_and_its_value_names_the_key_when_sealed():
    value = sealed(SECRET, identity="host:1")
    assert opened(value, identity="host:1") == SECRET
    assert value[:5] == b"\x02" + key_id(OLD)
    assert SECRET not in value
    assert OLD not in value
    assert sealed(SECRET, identity="host:1") != value
    assert is_current(value)


@pytest.mark.parametrize("at", [0, 1, 5, 20, 70, -1])
def test_value_does_not_open_when_one_byte_of_it_is_changed(at):
    value = bytearray(sealed(SECRET, identity="host:1"))
    value[at] ^= 0x80
    with pytest.raises(SealBroken):
        opened(bytes(value), identity="host:1")


@pytest.mark.parametrize("length", [0, 1, 5, 40, 76])
def test_value_does_not_open_when_it_is_cut_off(length):
    with pytest.raises(SealBroken):
        opened(sealed(SECRET, identity="host:1")[:length], identity="host:1")


def test_value_does_not_open_when_it_is_copied_to_another_row():
    with pytest.raises(SealBroken):
        opened(sealed(SECRET, identity="host:1"), identity="host:2")


def test_value_of_the_first_format_opens_with_current_and_previous_key(settings):
    value = in_first_form(SECRET, "host:1")
    assert opened(value, identity="host:1") == SECRET
    assert not is_current(value)
    settings.CREDENTIAL_KEY, settings.CREDENTIAL_KEYS_PREVIOUS = NEW, [OTHER, OLD]
    assert opened(value, identity="host:1") == SECRET


def test_value_opens_with_a_previous_key_only_while_that_is_given(settings):
    value = sealed(SECRET, identity="host:1")
    settings.CREDENTIAL_KEY, settings.CREDENTIAL_KEYS_PREVIOUS = NEW, [OLD]
    assert opened(value, identity="host:1") == SECRET
    assert not is_current(value)
    settings.CREDENTIAL_KEYS_PREVIOUS = [OTHER]
    with pytest.raises(SealBroken, match="keys of this server"):
        opened(value, identity="host:1")


@pytest.mark.parametrize("make", [in_first_form, lambda s, i: sealed(s, identity=i)])
def test_only_the_data_key_is_wrapped_anew_when_the_key_changes(settings, make):
    value = make(SECRET, "host:1")
    content = value[-(12 + len(SECRET) + 16) :]
    settings.CREDENTIAL_KEY, settings.CREDENTIAL_KEYS_PREVIOUS = NEW, [OLD]
    wrapped = rewrapped(value, identity="host:1")
    assert wrapped.endswith(content)
    settings.CREDENTIAL_KEYS_PREVIOUS = []
    assert opened(wrapped, identity="host:1") == SECRET
    with pytest.raises(SealBroken):
        rewrapped(value, identity="host:1")


# --- settings -------------------------------------------------------------------------------------


def test_previous_keys_are_read_from_a_comma_separated_variable(monkeypatch):
    texts = [base64.b64encode(key).decode() for key in (OLD, NEW)]
    monkeypatch.setenv("CREDENTIAL_KEYS_PREVIOUS", f" {texts[0]}, {texts[1]},")
    assert environment.keys_bytes("CREDENTIAL_KEYS_PREVIOUS") == [OLD, NEW]
    monkeypatch.delenv("CREDENTIAL_KEYS_PREVIOUS")
    assert environment.keys_bytes("CREDENTIAL_KEYS_PREVIOUS") == []


@pytest.mark.parametrize("text", ["c2hvcnQ=", "not base64!"])
def test_invalid_previous_keys_are_refused_without_being_quoted(monkeypatch, text):
    monkeypatch.setenv("CREDENTIAL_KEYS_PREVIOUS", text)
    with pytest.raises(ImproperlyConfigured, match="CREDENTIAL_KEYS_PREVIOUS") as refusal:
        environment.keys_bytes("CREDENTIAL_KEYS_PREVIOUS")
    assert text not in str(refusal.value)


# --- every column ---------------------------------------------------------------------------------


def test_sealed_columns_of_all_apps_are_listed():
    assert {str(column) for column in sealing.sealed_columns()} == {
        "accounts.Authenticator.sealed_key",
        "accounts.CloudAccount.sealed_secret",
        "accounts.KeptAnswer.sealed_body",
        "benchmarks.Host.sealed_private_key",
        "benchmarks.LoginKey.sealed_earlier_key",
        "benchmarks.LoginKey.sealed_private_key",
        "notifications.Subscription.sealed_secret",
    }


@pytest.fixture
def rows(db) -> tuple[Host, CloudAccount, Subscription]:
    """A row of each model with a secret, the host's in the first form; and one host without."""
    factories.host()
    host = factories.host()
    host.sealed_private_key = in_first_form(SECRET, f"host:{host.pk}")
    host.save()
    account = CloudAccount(workspace=factories.workspace(), name="a", provider="hetzner")
    account.sealed_secret = sealed(b'{"token": "abc"}', identity=f"cloudaccount:{account.pk}")
    account.save()
    subscription = Subscription(workspace=factories.workspace(), channel="webhook", kinds=[])
    subscription.sealed_secret = sealed(SECRET, identity=f"subscription:{subscription.pk}")
    subscription.save()
    login_key_replace(workspace=factories.workspace(), actor="boss")
    answer = KeptAnswer(caller="user 1", key="once", request_sha256=b"")
    answer.sealed_body = sealed(SECRET, identity=f"keptanswer:{answer.pk}")
    answer.save()
    authenticator = Authenticator(user=factories.user(), name="phone")
    authenticator.sealed_key = sealed(SECRET, identity=f"authenticator:{authenticator.pk}")
    authenticator.save()
    return host, account, subscription


def rotated(capsys) -> dict[str, dict[str, object]]:
    capsys.readouterr()
    call_command("rotate_keys", "--json")
    answer = json.loads(capsys.readouterr().out)
    assert answer["key"] == key_id(NEW).hex()
    return {entry.pop("column"): entry for entry in answer["columns"]}


def test_previous_keys_may_be_emptied_when_the_rotation_is_through(settings, capsys, rows):
    settings.CREDENTIAL_KEY, settings.CREDENTIAL_KEYS_PREVIOUS = NEW, [OLD]
    once = {"rewrapped": 1, "current": 0, "broken": []}
    assert rotated(capsys) == {str(column): once for column in sealing.sealed_columns()}
    settings.CREDENTIAL_KEYS_PREVIOUS = []
    for row in rows:
        row.refresh_from_db()
    host, account, subscription = rows
    assert host_private_key(host=host) == SECRET
    assert account_secret(account=account) == {"token": "abc"}
    assert subscription_secret(subscription=subscription) == SECRET


def test_rotation_changes_nothing_when_it_is_done_again(settings, capsys, rows):
    settings.CREDENTIAL_KEY, settings.CREDENTIAL_KEYS_PREVIOUS = NEW, [OLD]
    rotated(capsys)
    before = list(Host.objects.values_list("sealed_private_key", flat=True))
    again = {"rewrapped": 0, "current": 1, "broken": []}
    assert rotated(capsys) == {str(column): again for column in sealing.sealed_columns()}
    assert list(Host.objects.values_list("sealed_private_key", flat=True)) == before


def test_rotation_goes_on_where_it_was_interrupted(settings, capsys, rows, monkeypatch):
    settings.CREDENTIAL_KEY, settings.CREDENTIAL_KEYS_PREVIOUS = NEW, [OLD]
    real, calls = sealing.rewrapped, []

    def failing(value, *, identity):
        if calls:
            raise KeyboardInterrupt
        calls.append(identity)
        return real(value, identity=identity)

    monkeypatch.setattr(sealing, "rewrapped", failing)
    with pytest.raises(KeyboardInterrupt):
        call_command("rotate_keys")
    monkeypatch.setattr(sealing, "rewrapped", real)
    counts = [entry["rewrapped"] for entry in rotated(capsys).values()]
    assert sorted(counts) == [0, *[1] * (len(counts) - 1)]


def test_rotation_keeps_what_a_person_replaced_meanwhile(settings, capsys, rows, monkeypatch):
    host = rows[0]
    settings.CREDENTIAL_KEY, settings.CREDENTIAL_KEYS_PREVIOUS = NEW, [OLD]
    real = sealing.rewrapped

    def late(value, *, identity):
        if identity == f"host:{host.pk}":
            newer = sealed(b"newer", identity=identity)
            Host.objects.filter(pk=host.pk).update(sealed_private_key=newer)
        return real(value, identity=identity)

    monkeypatch.setattr(sealing, "rewrapped", late)
    answer = rotated(capsys)
    assert answer["benchmarks.Host.sealed_private_key"]["current"] == 1
    host.refresh_from_db()
    assert host_private_key(host=host) == b"newer"


def test_rotation_names_the_rows_that_no_key_opens_and_leaves_them(settings, capsys, rows):
    host = rows[0]
    host.sealed_private_key = in_first_form(SECRET, f"host:{host.pk}", key=OTHER)
    host.save()
    settings.CREDENTIAL_KEY, settings.CREDENTIAL_KEYS_PREVIOUS = NEW, [OLD]
    with pytest.raises(CommandError, match="1 values open with none"):
        call_command("rotate_keys", "--json")
    captured = capsys.readouterr()
    columns = {column["column"]: column for column in json.loads(captured.out)["columns"]}
    assert columns["benchmarks.Host.sealed_private_key"]["broken"] == [str(host.pk)]
    assert "benchmarks.Host.sealed_private_key: 0 wrapped again, 0 already, 1 not" in captured.err
    settings.CREDENTIAL_KEYS_PREVIOUS = [OTHER]
    assert host_private_key(host=Host.objects.get(pk=host.pk)) == SECRET


def test_rotation_prints_progress_when_there_are_many_rows(settings, capsys, rows, monkeypatch):
    monkeypatch.setattr(sealing, "CHUNK", 1)
    settings.CREDENTIAL_KEY, settings.CREDENTIAL_KEYS_PREVIOUS = NEW, [OLD]
    call_command("rotate_keys")
    told = [line for line in capsys.readouterr().err.splitlines() if "Host" in line]
    assert told == ["benchmarks.Host.sealed_private_key: 1 wrapped again, 0 already"] * 2


def test_rotation_never_opens_a_secret(settings, capsys, rows, monkeypatch):
    def forbidden(*_, **__):
        raise AssertionError("a secret was opened")

    settings.CREDENTIAL_KEY, settings.CREDENTIAL_KEYS_PREVIOUS = NEW, [OLD]
    monkeypatch.setattr(crypto, "opened", forbidden)
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
    assert set(lengths) == {crypto.WRAPPED_KEY_BYTES}
