"""The private keys by which hosts are logged in to."""

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from django.db import transaction

from backend.accounts.services.audit import audit_record
from backend.benchmarks.models import Host
from backend.common.crypto import opened, sealed
from backend.domain.errors import InvalidValue

MAX_KEY_BYTES = 20_000
MIN_RSA_BITS = 2048


def _identity(host: Host) -> str:
    return f"host:{host.pk}"


def host_key_seal(*, host: Host, private_key: bytes) -> None:
    """Put the key, sealed for this row, into the host, which is not saved."""
    host.sealed_private_key = sealed(private_key, identity=_identity(host))


def host_private_key(*, host: Host) -> bytes:
    """The key in the clear, for the worker that logs in; empty for a host without one."""
    if host.sealed_private_key is None:
        return b""
    return opened(bytes(host.sealed_private_key), identity=_identity(host))


@transaction.atomic
def host_private_key_replace(*, host: Host, private_key: str, actor: str) -> None:
    """Log in with another key from now on; raises InvalidValue("/private_key")."""
    host_key_seal(host=host, private_key=checked_private_key(private_key))
    host.save(update_fields=["sealed_private_key"])
    audit_record(
        workspace=host.workspace, actor=actor, action="host_key_replace", target=host, detail={}
    )


def checked_private_key(text: str) -> bytes:
    """The key as given, with a line feed at its end; RSA, ECDSA or Ed25519, not encrypted."""
    content = text.strip().encode() + b"\n"
    if len(content) > MAX_KEY_BYTES:
        raise InvalidValue("/private_key", "too long for a private key")
    is_openssh = b"BEGIN OPENSSH PRIVATE KEY" in content
    load = serialization.load_ssh_private_key if is_openssh else serialization.load_pem_private_key
    try:
        key = load(content, password=None)
    except TypeError:
        raise InvalidValue("/private_key", "the key is encrypted; give it unencrypted") from None
    except (ValueError, UnsupportedAlgorithm):
        # The reader's own words may quote the key.
        raise InvalidValue(
            "/private_key", "not an unencrypted private key in OpenSSH or PEM form"
        ) from None
    if isinstance(key, rsa.RSAPrivateKey) and key.key_size < MIN_RSA_BITS:
        raise InvalidValue("/private_key", f"RSA keys need {MIN_RSA_BITS} bits or more")
    if not isinstance(
        key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
    ):
        raise InvalidValue("/private_key", "RSA, ECDSA or Ed25519 is needed")
    return content
