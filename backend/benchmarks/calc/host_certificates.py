"""SSH certificates of hosts: which names an authority may sign for, and why a certificate is refused.

Formats: https://man.openbsd.org/ssh-keygen#CERTIFICATES, https://man.openbsd.org/sshd#SSH_KNOWN_HOSTS_FILE_FORMAT and
https://cvsweb.openbsd.org/src/usr.bin/ssh/PROTOCOL.certkeys, read on 2026-11-23.
"""

import datetime as dt
import re
from collections.abc import Collection
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from backend.foundation.addresses import key_fingerprint

_SSH_PORT = 22


def names_match(patterns: str, address: str, port: int) -> bool:
    """True if one of the patterns (separated by commas, with * and ?) is the machine's name, and none
    that begins with ! is. A pattern without a port is meant for all ports, as with ssh."""
    names = {address.lower()}
    if port != _SSH_PORT:
        # So ssh writes a machine at another port.
        names.add(f"[{address.lower()}]:{port}")
    matches = False
    for pattern in patterns.lower().split(","):
        text = re.escape(pattern.removeprefix("!")).replace(r"\*", ".*").replace(r"\?", ".")
        if any(re.fullmatch(text, name) for name in names):
            if pattern.startswith("!"):
                return False
            matches = True
    return matches


def certificate_refusal(
    line: str, *, address: str, trusted: Collection[str], revoked: Collection[str], now: dt.datetime
) -> str:
    """Why a certificate (`type base64`) does not make sure that a host is the one at the address; "" when it does.

    `trusted` are the authorities' keys, `revoked` those of authorities or hosts that count no more.
    """
    certificate = _read(line)
    if certificate is None:
        return "its certificate cannot be read"
    return (
        _key_refusal(certificate, trusted, revoked)
        or _name_refusal(certificate, address)
        or _time_refusal(certificate, now.timestamp())
    )


def _key_refusal(
    certificate: serialization.SSHCertificate, trusted: Collection[str], revoked: Collection[str]
) -> str:
    authority, key = _line(certificate.signature_key()), _line(certificate.public_key())
    if authority in revoked:
        return f"its certificate is signed by the revoked key {key_fingerprint(authority)}"
    if key in revoked:
        return f"its key {key_fingerprint(key)} is revoked"
    if authority not in trusted:
        return f"its certificate is signed by {key_fingerprint(authority)}, which is no authority"
    try:
        certificate.verify_cert_signature()
    except InvalidSignature:
        return "the signature of its certificate is wrong"
    return ""


def _name_refusal(certificate: serialization.SSHCertificate, address: str) -> str:
    if certificate.type != serialization.SSHCertificateType.HOST:
        return "its certificate is one of a user"
    # OpenSSH defines none for hosts, and what is not known and critical has to be refused.
    if certificate.critical_options:
        return "its certificate has options that are not known for hosts"
    # One without names would stand for every host that the authority may sign for.
    names = [name.decode(errors="replace") for name in certificate.valid_principals]
    if address.lower() in names:
        return ""
    stated = f"for {', '.join(names)[:200]}" if names else "for no name"
    return f"its certificate is {stated}, not for {address}"


def _time_refusal(certificate: serialization.SSHCertificate, now_s: float) -> str:
    if now_s < certificate.valid_after:
        return f"its certificate is not valid before {_time(certificate.valid_after)}"
    if now_s >= certificate.valid_before:
        return f"its certificate expired at {_time(certificate.valid_before)}; sign a new one"
    return ""


def signing_key(line: str) -> str:
    """The authority's public key, `type base64`; "" where the certificate cannot be read."""
    certificate = _read(line)
    return "" if certificate is None else _line(certificate.signature_key())


def key_of_certificate(line: str) -> str:
    """The host's public key that the certificate is about; "" where it cannot be read."""
    certificate = _read(line)
    return "" if certificate is None else _line(certificate.public_key())


def _read(line: str) -> serialization.SSHCertificate | None:
    try:
        identity = serialization.load_ssh_public_identity(line.encode())
    except (ValueError, UnsupportedAlgorithm):
        return None
    return identity if isinstance(identity, serialization.SSHCertificate) else None


def _line(key: Any) -> str:
    form = (serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return str(key.public_bytes(*form), "ascii")


def _time(seconds: int) -> str:
    # A certificate may name any 64 bits, and dates end with the year 9999.
    limited = min(seconds, 253_402_300_799)
    return f"{dt.datetime.fromtimestamp(limited, tz=dt.UTC):%Y-%m-%d %H:%M:%S} UTC"
