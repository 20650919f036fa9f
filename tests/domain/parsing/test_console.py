"""Host keys in console text: lines as cloud-init writes them between other output."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.domain.addresses import key_fingerprint
from backend.domain.parsing.console import host_key_fingerprint

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2zZJ2mkbrjDA8L1DZWXe4p2XAtnPBsNZ1zRbFCQ2mE"
SHA256 = key_fingerprint(KEY)
OTHER = "SHA256:" + "A" * 43
FINGERPRINTS = f"""\
[   21.4] cloud-init[612]: Cloud-init v. 22.4.2 running 'modules:final'
<14>Jan  6 15:27:31 cloud-init: #############################################################
<14>Jan  6 15:27:31 cloud-init: -----BEGIN SSH HOST KEY FINGERPRINTS-----
<14>Jan  6 15:27:31 cloud-init: 256 {"SHA256:" + "B" * 43} root@vm1 (ECDSA)
[   21.5] a line of the kernel in between
<14>Jan  6 15:27:31 cloud-init: 256 {SHA256} root@vm1 (ED25519)
<14>Jan  6 15:27:32 cloud-init: 3072 {"SHA256:" + "C" * 43} root@vm1 (RSA)
<14>Jan  6 15:27:32 cloud-init: -----END SSH HOST KEY FINGERPRINTS-----
"""
KEYS = f"""\
-----BEGIN SSH HOST KEY KEYS-----
ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBA== root@vm1
{KEY} root@vm1
-----END SSH HOST KEY KEYS-----
"""


def test_console_tells_the_ed25519_fingerprint_when_cloud_init_printed_several():
    assert host_key_fingerprint(FINGERPRINTS) == SHA256


def test_console_tells_it_when_carriage_returns_end_the_lines():
    assert host_key_fingerprint(FINGERPRINTS.replace("\n", "\r\n")) == SHA256


def test_console_tells_the_last_one_when_the_machine_booted_again():
    again = FINGERPRINTS.replace(SHA256, OTHER)
    assert host_key_fingerprint(FINGERPRINTS + again) == OTHER


def test_console_reckons_it_from_the_key_when_only_md5_is_printed():
    md5 = "256 6b:bf:7d:c9:56:44:0f:bc:c9:ec:1a:7d:09:2e:21:ec  root@vm1 (ED25519)"
    assert (
        host_key_fingerprint(FINGERPRINTS.replace(f"256 {SHA256} root@vm1", md5) + KEYS) == SHA256
    )


@pytest.mark.parametrize(
    "console",
    [
        "",
        FINGERPRINTS.partition("-----END")[0],
        FINGERPRINTS.replace("-----BEGIN SSH", "-----"),
        FINGERPRINTS.replace("ED25519", "DSA"),
        f"someone says 256 {SHA256} root@vm1 (ED25519)\n",
        KEYS.replace(KEY, "ssh-rsa AAAAB3NzaC1yc2E="),
        KEYS.replace("AAAAC3", "AAAA="),
        KEYS.replace(KEY, f"ssh-ed25519 {'A' * 69}"),
    ],
)
def test_console_tells_nothing_when_no_whole_block_has_an_ed25519_key(console):
    assert host_key_fingerprint(console) is None


@given(st.integers(0, len(FINGERPRINTS)))
def test_console_never_tells_a_part_of_a_fingerprint_when_it_is_cut(length):
    assert host_key_fingerprint(FINGERPRINTS[:length]) in {None, SHA256}


@given(st.text(alphabet="-BEGINSSHOTKY FRPUD\nSHA256:(ED)", max_size=400))
def test_console_is_read_without_an_error_whatever_it_holds(noise):
    assert host_key_fingerprint(noise) is None
