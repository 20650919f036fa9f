"""Host names, IP literals and fingerprints."""

import pytest

from backend.foundation.addresses import check_address, is_loopback, is_public, key_fingerprint
from backend.foundation.errors import InvalidValue


@pytest.mark.parametrize(
    "text",
    ["example.com", "a", "db-1.internal", "192.0.2.7", "2001:db8::1", "xn--bcher-kva.example"],
)
def test_address_is_kept_when_it_names_a_machine(text):
    assert check_address(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "a b", "-oProxyCommand=x", "a-", "a..b", "a.", ".a", "a_b", "bücher.example",
        "127.1", "2130706433", "a.0x7f", "x" * 64, ".".join(["a" * 60] * 5), "a\nb", "user@a", "[::1]",
    ],
)  # fmt: skip
def test_address_is_refused_when_a_resolver_might_read_it_otherwise(text):
    with pytest.raises(InvalidValue) as raised:
        check_address(text, field="/host")
    assert raised.value.field == "/host"


@pytest.mark.parametrize(
    ("ip", "public"),
    [
        ("8.8.8.8", True), ("2606:4700::1111", True),
        ("127.0.0.1", False), ("10.1.2.3", False), ("169.254.169.254", False), ("::1", False),
        ("fe80::1", False), ("::ffff:10.0.0.1", False), ("224.0.0.1", False), ("0.0.0.0", False),
        ("::127.0.0.1", False), ("fec0::1", False), ("fd00:ec2::254", False), ("192.0.0.8", False),
        ("2002:7f00:1::", False), ("2001:db8::1", False), ("ff0e::1", False), ("100.64.0.1", False),
        ("64:ff9b::7f00:1", False), ("64:ff9b::808:808", True), ("::ffff:8.8.8.8", True),
    ],
)  # fmt: skip
def test_public_is_what_everybody_reaches(ip, public):
    assert is_public(ip) is public


def test_fingerprint_is_the_one_that_ssh_shows():
    # A published key and its fingerprint: github.com, ssh-ed25519.
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
    assert key_fingerprint(key) == "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU"
    assert key_fingerprint(f"{key} a comment") == key_fingerprint(key)


@pytest.mark.parametrize("text", ["", "ssh-ed25519", "ssh-ed25519 ***"])
def test_fingerprint_of_no_key_is_refused(text):
    with pytest.raises(InvalidValue):
        key_fingerprint(text)


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "127.9.9.9", "::1", "::1%lo", "::ffff:127.0.0.1", "localhost", "a.LOCALHOST."],
)
def test_loopback_is_known_by_every_spelling(address):
    assert is_loopback(address)


@pytest.mark.parametrize(
    "address", ["192.0.2.7", "::ffff:192.0.2.7", "fe80::1%eth0", "localhost.x"]
)
def test_other_addresses_are_no_loopback(address):
    assert not is_loopback(address)
