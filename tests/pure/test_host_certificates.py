"""Certificates of hosts as ssh-keygen signs them: which are taken, and one clear line for each other."""

import base64
import datetime as dt
import shutil
import subprocess

import pytest

from backend.benchmarks.calc.host_certificates import (
    certificate_refusal,
    key_of_certificate,
    names_match,
    signing_key,
)
from backend.foundation.addresses import key_fingerprint

NOW = dt.datetime(2026, 11, 23, 12, tzinfo=dt.UTC)
VALID = ("-V", "20261101000000Z:20261201000000Z")
pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    for name, kind in {"ca": "rsa", "other": "ed25519", "host": "ecdsa"}.items():
        made = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(folder / name)]
        subprocess.run(made, check=True)
    return folder


@pytest.fixture(scope="module")
def public(folder):
    return {
        name: " ".join((folder / f"{name}.pub").read_text().split()[:2])
        for name in ("ca", "other", "host")
    }


@pytest.fixture
def signed(folder):
    def sign(*options, by="ca"):
        sign = ["ssh-keygen", "-q", "-s", str(folder / by), "-I", "rack", *options]
        subprocess.run([*sign, str(folder / "host.pub")], check=True)
        return " ".join((folder / "host-cert.pub").read_text().split()[:2])

    return sign


@pytest.fixture
def refused(public):
    def refusal(line, *, address="rack.example.org", revoked=()):
        trusted = [public["ca"]]
        return certificate_refusal(line, address=address, trusted=trusted, revoked=revoked, now=NOW)

    return refusal


def test_certificate_of_the_name_that_is_valid_now_is_taken(signed, refused, public):
    line = signed("-h", "-n", "rack.example.org,192.0.2.7", *VALID)
    assert (signing_key(line), key_of_certificate(line)) == (public["ca"], public["host"])
    assert refused(line) == refused(line, address="RACK.example.org") == ""
    assert refused(signed("-h", "-n", "192.0.2.7"), address="192.0.2.7") == ""


def test_certificate_that_makes_nothing_sure_is_refused_in_words(signed, refused, public):
    good = signed("-h", "-n", "rack.example.org", *VALID)
    ca, host = key_fingerprint(public["ca"]), key_fingerprint(public["host"])
    assert refused(good, address="db.example.org") == (
        "its certificate is for rack.example.org, not for db.example.org"
    )
    assert (
        refused(good, revoked=[public["ca"]])
        == f"its certificate is signed by the revoked key {ca}"
    )
    assert refused(good, revoked=[public["host"]]) == f"its key {host} is revoked"
    other = signed("-h", "-n", "rack.example.org", by="other")
    assert refused(other).endswith("which is no authority")
    assert "for no name" in refused(signed("-h"))
    assert "one of a user" in refused(signed("-n", "rack.example.org"))
    name = ("-h", "-n", "rack.example.org")
    assert refused(signed(*name, "-V", "20261101000000Z:20261123115959Z")) == (
        "its certificate expired at 2026-11-23 11:59:59 UTC; sign a new one"
    )
    late = refused(signed(*name, "-V", "20261201000000Z:forever"))
    assert late == "its certificate is not valid before 2026-12-01 00:00:00 UTC"
    options = signed(*name, "-O", "critical:unheard@example.org=x", *VALID)
    assert "options that are not known" in refused(options)


def test_changed_or_cut_certificate_is_refused(signed, refused):
    good = signed("-h", "-n", "rack.example.org", *VALID)
    kind, blob = good.split()
    content = bytearray(base64.b64decode(blob))
    content[-1] ^= 1
    forged = f"{kind} {base64.b64encode(content).decode()}"
    assert refused(forged) == "the signature of its certificate is wrong"
    for line in (f"{kind} {blob[:40]}", "ssh-ed25519 AAAA", ""):
        assert refused(line) == "its certificate cannot be read"
        assert (signing_key(line), key_of_certificate(line)) == ("", "")


@pytest.mark.parametrize(
    ("patterns", "address", "port", "matches"),
    [
        ("*", "192.0.2.7", 22, True),
        ("*.example.org", "rack.EXAMPLE.org", 22, True),
        ("*.example.org", "example.org", 22, False),
        ("*.example.org,!db.*", "db.example.org", 22, False),
        ("rack-?", "rack-7", 2222, True),
        ("[rack-7]:2222", "rack-7", 2222, True),
        ("[rack-7]:2222", "rack-7", 22, False),
        ("ra.k", "rack", 22, False),
    ],
)
def test_patterns_name_hosts_as_in_known_hosts(patterns, address, port, matches):
    assert names_match(patterns, address, port) is matches
