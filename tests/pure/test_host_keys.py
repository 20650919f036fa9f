"""Host keys: whole or not, and which of several is preferred."""

import asyncssh
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.providers.host_keys import TYPES, HostKey, best_key, host_key

KEYS = {one: asyncssh.generate_private_key(one) for one in TYPES}
LINES = {one: key.export_public_key("openssh").decode().strip() for one, key in KEYS.items()}


@pytest.mark.parametrize("key_type", TYPES)
def test_host_key_is_named_by_type_and_fingerprint(key_type):
    key = host_key(LINES[key_type])
    assert key == HostKey(key_type, KEYS[key_type].get_fingerprint("sha256"))
    assert host_key(f"{LINES[key_type]} root@vm1") == key
    assert str(key) == f"{key_type} {key.fingerprint}"


@given(st.sampled_from(TYPES), st.data())
def test_host_key_that_is_cut_is_none(key_type, data):
    line = LINES[key_type].rstrip("=")
    assert host_key(line[: data.draw(st.integers(0, len(line) - 1))]) is None


@pytest.mark.parametrize(
    "line",
    [
        "",
        "ssh-ed25519",
        "ssh-ed25519 \N{SNOWMAN}",
        "ssh-dss AAAAB3NzaC1kc3M=",
        LINES["ssh-rsa"].replace("ssh-rsa", "ssh-ed25519"),
        LINES["ecdsa-sha2-nistp256"].replace("ecdsa-sha2-nistp256", "ssh-rsa"),
    ],
)
def test_host_key_of_no_key_or_another_type_is_none(line):
    assert host_key(line) is None


def test_ed25519_is_preferred_to_ecdsa_and_that_to_rsa():
    keys = [HostKey(one, f"SHA256:{one}") for one in reversed(TYPES)]
    while keys:
        assert best_key(keys) == keys.pop()
    assert best_key(keys) is None


def test_last_key_of_a_type_is_preferred():
    first, last = HostKey("ssh-rsa", "SHA256:a"), HostKey("ssh-rsa", "SHA256:b")
    assert best_key([first, last]) == last
