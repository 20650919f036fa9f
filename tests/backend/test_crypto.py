"""Sealed values, and the keys that seal and open them."""

import base64
import hmac

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from backend.config import environment, keys, web_keys
from backend.core.crypto import (
    CREDENTIALS,
    WEB,
    KeyMissing,
    SealBroken,
    is_current,
    key_id,
    rewrap,
    seal,
    unseal,
)
from tests.keys import NEW, OLD, OTHER, set_keys, set_keys_of_web

SECRET = b"correct horse battery staple"


@pytest.fixture(autouse=True)
def _keys(settings):
    set_keys(settings, OLD)


def for_the_web(secret: bytes, identity: str) -> bytes:
    return seal(secret, identity=identity, ring=WEB)


RINGS = pytest.mark.parametrize("ring", [CREDENTIALS, WEB], ids=["credentials", "web"])


def test_secret_comes_back_and_its_value_names_the_key_when_sealed():
    value = seal(SECRET, identity="host:1")
    assert unseal(value, identity="host:1") == SECRET
    assert value[:5] == b"\x01" + key_id(keys.public_key(OLD, stated=b""))
    assert SECRET not in value
    assert OLD not in value
    assert seal(SECRET, identity="host:1") != value
    assert is_current(value)


def test_value_of_the_web_names_the_key_of_the_web(settings):
    set_keys(settings, OLD, web_key=NEW)
    value = seal(SECRET, identity="authenticator:1", ring=WEB)
    assert unseal(value, identity="authenticator:1", ring=WEB) == SECRET
    own = X25519PrivateKey.from_private_bytes(NEW).public_key().public_bytes_raw()
    assert value[:5] == b"\x01" + key_id(own)
    with pytest.raises(SealBroken):
        unseal(value, identity="authenticator:1")


@RINGS
@pytest.mark.parametrize("at", [0, 1, 5, 20, 70, 100, -1])
def test_value_does_not_open_when_one_byte_of_it_is_changed(at, ring):
    value = bytearray(seal(SECRET, identity="host:1", ring=ring))
    value[at] ^= 0x80
    with pytest.raises(SealBroken):
        unseal(bytes(value), identity="host:1", ring=ring)


@RINGS
@pytest.mark.parametrize("length", [0, 1, 5, 36, 40, 76, 84, 96, 112])
def test_value_does_not_open_when_it_is_cut_off(length, ring):
    with pytest.raises(SealBroken):
        unseal(seal(SECRET, identity="host:1", ring=ring)[:length], identity="host:1", ring=ring)


@RINGS
def test_value_does_not_open_when_it_is_copied_to_another_row(ring):
    with pytest.raises(SealBroken):
        unseal(seal(SECRET, identity="host:1", ring=ring), identity="host:2", ring=ring)


def test_value_does_not_open_when_its_key_is_of_another_row():
    """Neither the wrapped key nor the ciphertext fits beside those of another row."""
    one, other = (seal(SECRET, identity=f"host:{number}") for number in (1, 2))
    for value in (one[:85] + other[85:], other[:85] + one[85:]):
        with pytest.raises(SealBroken):
            unseal(value, identity="host:1")


def test_value_is_an_envelope_of_rfc_9180_when_sealed():
    """By X25519, HKDF and AES-GCM themselves, after chapter 4.1 and 5.1 of the RFC."""
    value = seal(SECRET, identity="host:1")
    header, sent, wrapped = value[:5], value[5:37], value[37:85]
    private = keys.private_key(OLD)
    received = private.public_key().public_bytes_raw()
    kem, suite = b"KEM\0\x20", b"HPKE\0\x20\0\x01\0\x02"
    shared = private.exchange(X25519PublicKey.from_public_bytes(sent))
    eae = labelled_extract(kem, b"", b"eae_prk", shared)
    shared = labelled_expand(kem, eae, b"shared_secret", sent + received, 32)
    context = b"\0" + labelled_extract(suite, b"", b"psk_id_hash", b"")
    context += labelled_extract(suite, b"", b"info_hash", header + b"host:1")
    secret = labelled_extract(suite, shared, b"secret", b"")
    key = labelled_expand(suite, secret, b"key", context, 32)
    nonce = labelled_expand(suite, secret, b"base_nonce", context, 12)
    data_key = AESGCM(key).decrypt(nonce, wrapped, b"")
    assert AESGCM(data_key).decrypt(value[85:97], value[97:], b"host:1") == SECRET


def labelled_extract(suite: bytes, salt: bytes, label: bytes, material: bytes) -> bytes:
    text = b"HPKE-v1" + suite + label + material
    return hmac.digest(salt or bytes(32), text, "sha256")


def labelled_expand(suite: bytes, key: bytes, label: bytes, info: bytes, length: int) -> bytes:
    text = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return HKDFExpand(SHA256(), length, text).derive(key)


@RINGS
def test_value_opens_with_a_previous_key_only_while_that_is_given(settings, ring):
    value = seal(SECRET, identity="host:1", ring=ring)
    set_keys(settings, NEW, OLD)
    assert unseal(value, identity="host:1", ring=ring) == SECRET
    assert not is_current(value, ring=ring)
    set_keys(settings, NEW, OTHER)
    with pytest.raises(SealBroken, match="keys of this server"):
        unseal(value, identity="host:1", ring=ring)


def test_web_opens_what_it_sealed_before_it_had_a_key_of_its_own(settings):
    value = for_the_web(SECRET, "authenticator:1")
    set_keys(settings, OLD, web_key=NEW)
    assert unseal(value, identity="authenticator:1", ring=WEB) == SECRET
    assert not is_current(value, ring=WEB)


@RINGS
def test_only_the_data_key_is_wrapped_anew_when_the_key_changes(settings, ring):
    value = seal(SECRET, identity="host:1", ring=ring)
    content = value[-(12 + len(SECRET) + 16) :]
    set_keys(settings, NEW, OLD)
    wrapped = rewrap(value, identity="host:1", ring=ring)
    assert wrapped.endswith(content)
    set_keys(settings, NEW)
    assert unseal(wrapped, identity="host:1", ring=ring) == SECRET
    with pytest.raises(SealBroken):
        rewrap(value, identity="host:1", ring=ring)


# --- processes that have some of the keys ---------------------------------------------------------


def test_credential_is_sealed_and_not_opened_with_the_keys_of_the_web(settings):
    set_keys_of_web(settings, OLD, NEW)
    value = seal(SECRET, identity="host:1")
    with pytest.raises(KeyMissing, match="has no CREDENTIAL_KEY"):
        unseal(value, identity="host:1")
    own = for_the_web(SECRET, "authenticator:1")
    assert unseal(own, identity="authenticator:1", ring=WEB) == SECRET
    set_keys(settings, OLD)
    assert unseal(value, identity="host:1") == SECRET
    with pytest.raises(SealBroken):
        unseal(own, identity="authenticator:1", ring=WEB)


@RINGS
def test_nothing_is_sealed_or_opened_without_keys(settings, ring):
    value = seal(SECRET, identity="host:1", ring=ring)
    set_keys(settings, b"")
    with pytest.raises(KeyMissing, match="this process"):
        seal(SECRET, identity="host:1", ring=ring)
    with pytest.raises(KeyMissing, match="this process"):
        unseal(value, identity="host:1", ring=ring)


# --- settings -------------------------------------------------------------------------------------


def stated(key: bytes) -> str:
    return base64.b64encode(key).decode()


def test_public_key_is_that_of_the_key_unless_there_is_none():
    own = keys.public_key(OLD, stated=b"")
    assert len(own) == 32
    assert keys.public_key(OLD, stated=own) == keys.public_key(b"", stated=own) == own
    assert keys.public_key(b"", stated=b"") == b""
    with pytest.raises(ImproperlyConfigured, match="does not belong to CREDENTIAL_KEY") as refusal:
        keys.public_key(NEW, stated=own)
    assert stated(own) not in str(refusal.value)


def test_derived_keys_are_those_of_hkdf_whatever_the_version():
    """By the formula: another derivation would lose all that is stored."""

    def derived(info: bytes) -> bytes:
        return hmac.digest(hmac.digest(bytes(32), OLD, "sha256"), info + b"\x01", "sha256")

    pair = X25519PrivateKey.from_private_bytes(derived(b"rackrate credential key pair"))
    assert keys.public_key(OLD, stated=b"") == pair.public_key().public_bytes_raw()
    (web,) = keys.web_keys(b"", [], credential_key=OLD, credential_keys_previous=[])
    assert web == derived(b"rackrate web key")


def test_web_seals_with_its_stated_key_and_opens_with_derived_ones():
    def made(key: bytes, *previous: bytes, of: bytes, before: list[bytes]) -> list[bytes]:
        return keys.web_keys(key, previous, credential_key=of, credential_keys_previous=before)

    (derived,) = made(b"", of=OLD, before=[])
    assert derived not in {OLD, keys.public_key(OLD, stated=b"")}
    assert made(NEW, OTHER, of=OLD, before=[]) == [NEW, OTHER, derived]
    assert made(b"", of=NEW, before=[OLD]) == [*made(b"", of=NEW, before=[]), derived]
    assert made(b"", OTHER, of=OLD, before=[]) == [derived, OTHER]
    assert made(derived, of=OLD, before=[]) == [derived]
    assert made(NEW, of=b"", before=[]) == [NEW]
    assert made(b"", of=b"", before=[]) == []


def test_keys_of_the_web_are_files_that_its_settings_take(monkeypatch, settings, tmp_path):
    for name in ("CREDENTIAL_PUBLIC_KEY", "WEB_KEYS_PREVIOUS", "CREDENTIAL_KEYS_PREVIOUS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CREDENTIAL_KEY", stated(OLD))
    monkeypatch.setenv("WEB_KEY", stated(NEW))
    web_keys.write(tmp_path / "own")
    web_keys.write(tmp_path / "own")  # each start of a deployment
    set_keys(settings, OLD, web_key=NEW)
    monkeypatch.delenv("CREDENTIAL_KEY")
    monkeypatch.delenv("WEB_KEY")
    for path in (tmp_path / "own").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
        monkeypatch.setenv(f"{path.name.upper()}_FILE", str(path))
    assert environment.optional_key("CREDENTIAL_PUBLIC_KEY") == settings.CREDENTIAL_PUBLIC_KEY
    assert environment.optional_key("WEB_KEY") == NEW
    assert [NEW, *environment.keys_bytes("WEB_KEYS_PREVIOUS")] == settings.WEB_KEYS
    with pytest.raises(ImproperlyConfigured, match="CREDENTIAL_KEY is not set"):
        web_keys.write(tmp_path)


def test_public_key_is_printed_and_is_no_secret_of_the_server(settings, capsys):
    call_command("credential_public_key")
    printed = capsys.readouterr().out.strip()
    assert printed == stated(settings.CREDENTIAL_PUBLIC_KEY)
    set_keys(settings, b"")
    with pytest.raises(CommandError, match="CREDENTIAL_KEY is not set"):
        call_command("credential_public_key")


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
