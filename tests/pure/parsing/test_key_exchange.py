"""What an SSH server offers, and what of it is too old."""

import pytest

from backend.measure.readers.key_exchange import KINDS, outdated_algorithms, read_offer

LISTS = (b"curve25519-sha256,ext-info-s", b"ssh-rsa", b"aes128-ctr,aes128-cbc")
OFFER = dict(zip(KINDS, (tuple(one.decode().split(",")) for one in LISTS), strict=True))


def packet(*lists, kind=20):
    payload = bytes([kind]) + b"c" * 16
    payload += b"".join(len(one).to_bytes(4, "big") + one for one in lists)
    body = bytes([6]) + payload + b"p" * 6
    return len(body).to_bytes(4, "big") + body


WHOLE = b"SSH-2.0-OpenSSH_5.3\r\n" + packet(*LISTS, b"aes128-ctr")


def test_offer_is_read_after_the_version_and_lines_before_it():
    assert read_offer(WHOLE) == OFFER
    assert read_offer(b"Authorized use only.\r\n" + WHOLE) == OFFER


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"SSH-2.0-x",
        b"SSH-2.0-x\r\n",
        b"220 mail ESMTP\r\n",
        WHOLE[:-1],
        b"SSH-2.0-x\r\n" + packet(*LISTS, kind=1),
    ],
)
def test_bytes_that_are_no_whole_offer_give_none(content):
    assert read_offer(content) == {}


def test_what_is_too_old_is_named_with_what_can_be_done():
    accepted = dict(zip(KINDS, (["curve25519-sha256"], ["ssh-rsa"], ["aes128-ctr"]), strict=True))
    assert outdated_algorithms(OFFER, accepted) == outdated_algorithms({}, accepted) == ""
    said = outdated_algorithms(OFFER, accepted | {"host key signatures": ["ssh-ed25519"]})
    assert "only host key signatures that are no longer safe" in said
    assert "(ssh-rsa): OpenSSH 7.2 of 2016 or newer" in said
