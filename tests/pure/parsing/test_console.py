"""Host keys in console text: lines as cloud-init writes them between other output."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.providers.console import console_host_key
from backend.providers.host_keys import HostKey, host_key

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2zZJ2mkbrjDA8L1DZWXe4p2XAtnPBsNZ1zRbFCQ2mE"
ED25519 = host_key(KEY)
SHA256 = ED25519.fingerprint
OTHER = "SHA256:" + "A" * 43
ECDSA = HostKey("ecdsa-sha2-nistp256", "SHA256:" + "B" * 43)
RSA = HostKey("ssh-rsa", "SHA256:" + "C" * 43)
FINGERPRINTS = f"""\
[   21.4] cloud-init[612]: Cloud-init v. 22.4.2 running 'modules:final'
<14>Jan  6 15:27:31 cloud-init: #############################################################
<14>Jan  6 15:27:31 cloud-init: -----BEGIN SSH HOST KEY FINGERPRINTS-----
<14>Jan  6 15:27:31 cloud-init: 256 {ECDSA.fingerprint} root@vm1 (ECDSA)
[   21.5] a line of the kernel in between
<14>Jan  6 15:27:31 cloud-init: 256 {SHA256} root@vm1 (ED25519)
<14>Jan  6 15:27:32 cloud-init: 3072 {RSA.fingerprint} root@vm1 (RSA)
<14>Jan  6 15:27:32 cloud-init: -----END SSH HOST KEY FINGERPRINTS-----
"""
KEYS = f"""\
-----BEGIN SSH HOST KEY KEYS-----
ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBA== root@vm1
{KEY} root@vm1
-----END SSH HOST KEY KEYS-----
"""


def test_console_gives_the_ed25519_key_when_cloud_init_printed_several():
    assert console_host_key(FINGERPRINTS) == ED25519


@pytest.mark.parametrize(
    ("damaged", "key"), [(["ED25519"], ECDSA), (["ED25519", "ECDSA"], RSA)], ids=["ecdsa", "rsa"]
)
def test_console_gives_the_next_preferred_key_when_one_is_missing(damaged, key):
    console = FINGERPRINTS
    for name in damaged:
        console = console.replace(f"({name})", f"({name[:3]}[   21.6] a line of the kernel")
    assert console_host_key(console) == key


@pytest.mark.parametrize("bits", ["384", "521"])
def test_console_gives_the_curve_of_an_ecdsa_key(bits):
    console = FINGERPRINTS.replace("(ED25519)", "").replace("256 SHA256:B", f"{bits} SHA256:B")
    assert console_host_key(console) == HostKey(f"ecdsa-sha2-nistp{bits}", ECDSA.fingerprint)


def test_console_gives_no_ecdsa_key_of_an_unknown_curve():
    console = FINGERPRINTS.replace("(ED25519)", "").replace("256 SHA256:B", "255 SHA256:B")
    assert console_host_key(console) == RSA


def test_console_gives_the_key_when_carriage_returns_end_the_lines():
    assert console_host_key(FINGERPRINTS.replace("\n", "\r\n")) == ED25519


def test_console_gives_the_last_key_when_the_machine_booted_again():
    again = FINGERPRINTS.replace(SHA256, OTHER)
    assert console_host_key(FINGERPRINTS + again) == HostKey("ssh-ed25519", OTHER)


def test_console_calculates_the_fingerprint_when_only_md5_is_printed():
    md5 = "256 6b:bf:7d:c9:56:44:0f:bc:c9:ec:1a:7d:09:2e:21:ec  root@vm1 (ED25519)"
    console = FINGERPRINTS.replace(f"256 {SHA256} root@vm1 (ED25519)", md5) + KEYS
    assert console_host_key(console) == ED25519


@pytest.mark.parametrize(
    "console",
    [
        "",
        FINGERPRINTS.partition("-----END")[0],
        FINGERPRINTS.replace("-----BEGIN SSH", "-----"),
        re.sub(r"\((ED25519|ECDSA|RSA)\)", "(DSA)", FINGERPRINTS),
        f"someone says 256 {SHA256} root@vm1 (ED25519)\n",
        KEYS.replace(KEY, "ssh-rsa AAAAB3NzaC1yc2E="),
        KEYS.replace("AAAAC3", "AAAA="),
        KEYS.replace(KEY, f"ssh-ed25519 {'A' * 69}"),
    ],
)
def test_console_gives_nothing_when_no_whole_block_has_a_whole_key(console):
    assert console_host_key(console) is None


@given(st.integers(0, len(FINGERPRINTS)))
def test_console_never_gives_a_part_of_a_fingerprint_when_it_is_cut(length):
    assert console_host_key(FINGERPRINTS[:length]) in {None, ED25519}


@given(st.text(alphabet="-BEGINSSHOTKY FRPUD\nSHA256:(ED)", max_size=400))
def test_console_is_read_without_an_error_whatever_it_holds(noise):
    assert console_host_key(noise) is None
