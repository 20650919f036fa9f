"""The private keys by which hosts are logged in to."""

import base64
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from django.db import transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.benchmarks.models import Host, LoginKey
from backend.benchmarks.services.queue_lock import schedule_lock
from backend.benchmarks.services.workers import worker_get
from backend.core.crypto import seal, unseal
from backend.foundation.errors import InvalidValue

MAX_KEY_BYTES = 20_000
MIN_RSA_BITS = 2048
# First words of public keys in OpenSSH form; sk- are those of security keys.
PUBLIC_KINDS = {b"ssh-ed25519", b"ssh-rsa", b"ssh-dss"}
SECURITY_KINDS = (b"sk-ssh-ed25519", b"sk-ecdsa-sha2-")


def fresh_private_key() -> bytes:
    """A new key in OpenSSH form."""
    return ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        serialization.NoEncryption(),
    )


@transaction.atomic
def login_key_get(*, workspace: Workspace) -> LoginKey:
    """The key by which Rackrate logs in to hosts that were given none; made on first use."""
    schedule_lock(workspace_id=workspace.pk)
    known = LoginKey.objects.filter(workspace=workspace).first()
    if known is not None:
        return known
    made = LoginKey(workspace=workspace)
    _fill(made)
    made.save()
    return made


def _fill(key: LoginKey) -> None:
    private_key = fresh_private_key()
    # The word behind the key shows in a host's authorized_keys whose line it is.
    key.public_key = f"{public_line(private_key)} rackrate"
    key.sealed_private_key = seal(private_key, identity=_pair(key))


def _pair(key: LoginKey) -> str:
    return f"loginkey:{key.pk}"


@transaction.atomic
def login_key_replace(*, workspace: Workspace, actor: str) -> LoginKey:
    """Log in with another key to hosts that were given none. The earlier key also logs in until it
    is dropped, so that hosts can be given the new line one after the other; raises InvalidValue
    while an even earlier one is still kept."""
    key = login_key_get(workspace=workspace)
    if key.earlier_public_key:
        raise InvalidValue("/login_key", "an earlier key still logs in: drop that one first")
    key.earlier_public_key, key.sealed_earlier_key = key.public_key, key.sealed_private_key
    _fill(key)
    key.save()
    detail = {"key": key.public_key, "earlier": key.earlier_public_key}
    audit_record(actor=actor, action="login_key_replace", target=key, detail=detail)
    return key


@transaction.atomic
def login_key_drop(*, workspace: Workspace, actor: str) -> None:
    """Forget the earlier key, if any: hosts that accept only that one refuse Rackrate from then on."""
    schedule_lock(workspace_id=workspace.pk)
    key = LoginKey.objects.filter(workspace=workspace).exclude(earlier_public_key="").first()
    if key is None:
        return
    dropped = key.earlier_public_key
    key.earlier_public_key, key.sealed_earlier_key = "", None
    key.save(update_fields=["earlier_public_key", "sealed_earlier_key"])
    audit_record(actor=actor, action="login_key_drop", target=key, detail={"earlier": dropped})


def public_line(private_key: bytes) -> str:
    """The public half of a key that was just given or made."""
    return _line(_load_key(private_key).public_key())


def _line(public_key: Any) -> str:
    form = (serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return str(public_key.public_bytes(*form), "ascii")


def _load_key(content: bytes, passphrase: bytes | None = None) -> Any:
    """The key in either form; raises what the readers of both raise."""
    is_openssh = b"BEGIN OPENSSH PRIVATE KEY" in content
    load = serialization.load_ssh_private_key if is_openssh else serialization.load_pem_private_key
    return load(content, password=passphrase)


def _identity(host: Host) -> str:
    return f"host:{host.pk}"


def host_key_seal(*, host: Host, private_key: bytes) -> None:
    """Put the key, sealed for this row, into the host, which is not saved."""
    host.sealed_private_key = seal(private_key, identity=_identity(host))


def host_private_key(*, host: Host) -> bytes:
    """The key in the clear, for the worker that logs in: the host's own, else the workspace's;
    empty where nobody logs in."""
    if host.sealed_private_key is not None:
        return unseal(bytes(host.sealed_private_key), identity=_identity(host))
    key = _login_key(host)
    return unseal(bytes(key.sealed_private_key), identity=_pair(key)) if key else b""


def host_earlier_key(*, host: Host) -> bytes:
    """The workspace's earlier key, in the clear, while it may still log in; else empty."""
    key = None if host.sealed_private_key else _login_key(host)
    if key is None or key.sealed_earlier_key is None:
        return b""
    return unseal(bytes(key.sealed_earlier_key), identity=_pair(key))


def _login_key(host: Host) -> LoginKey | None:
    if host.is_rented or not host.address:
        return None
    return getattr(host.workspace, "login_key", None)


def check_certificate(text: str, public_key: str) -> str:
    """A user certificate in OpenSSH form for that key, without its comment; "" for none.

    Without a public key it is taken as it is: a key that was sealed is opened by workers only.
    """
    line = " ".join(text.split()[:2])
    if not line:
        return ""
    try:
        certificate = serialization.load_ssh_public_identity(line.encode())
    except (ValueError, UnsupportedAlgorithm):
        certificate = None
    if (
        not isinstance(certificate, serialization.SSHCertificate)
        or certificate.type != serialization.SSHCertificateType.USER
    ):
        raise InvalidValue("/certificate", "not a user certificate in OpenSSH form")
    if public_key and _line(certificate.public_key()) != " ".join(public_key.split()[:2]):
        raise InvalidValue("/certificate", "it is for another key than the one that logs in")
    return line


@transaction.atomic
def host_agent_set(*, host: Host, agent_socket: str, worker_id: str, actor: str) -> None:
    """Log in by the keys of an SSH agent on the machine of a worker from now on, and by no key that
    was given; only workers there can then do the host's runs."""
    host.agent_socket = agent_socket
    host.worker = worker_get(worker_id=worker_id)
    host.sealed_private_key = None
    host.certificate = ""
    host.save(update_fields=["agent_socket", "worker", "sealed_private_key", "certificate"])
    audit_record(actor=actor, action="host_agent_set", target=host, detail={"worker": worker_id})


@transaction.atomic
def host_private_key_replace(
    *, host: Host, private_key: str, actor: str, certificate: str | None = None
) -> None:
    """Log in with another key from now on, instead of an agent too, and with its certificate where
    one is given; raises InvalidValue("/private_key") or of "/certificate"."""
    key = check_private_key(private_key)
    host_key_seal(host=host, private_key=key)
    if certificate is not None:
        host.certificate = check_certificate(certificate, public_line(key))
    if host.agent_socket:
        host.agent_socket, host.worker = "", None
    host.save(update_fields=["sealed_private_key", "certificate", "agent_socket", "worker"])
    audit_record(actor=actor, action="host_key_replace", target=host)


@transaction.atomic
def host_private_key_forget(*, host: Host, actor: str) -> None:
    """Delete the key that a host was given, and its certificate; it has to let in Rackrate's own
    key from now on."""
    # Made before the host's own key is gone, so that there is a line which the host can be given.
    login_key_get(workspace=host.workspace)
    host.sealed_private_key, host.certificate = None, ""
    host.save(update_fields=["sealed_private_key", "certificate"])
    audit_record(actor=actor, action="host_key_forget", target=host)


def is_encrypted(text: str) -> bool:
    """True if a private key asks for a passphrase; False for what is no key."""
    try:
        _load_key(text.strip().encode() + b"\n")
    # How the reader says that a password is missing.
    except TypeError:
        return True
    except (ValueError, UnsupportedAlgorithm):
        return False
    return False


def decrypt_key(text: str, passphrase: str) -> str:
    """The key without its passphrase, in OpenSSH form; raises InvalidValue("/passphrase")."""
    try:
        key = _load_key(text.strip().encode() + b"\n", passphrase.encode())
    except (TypeError, ValueError, UnsupportedAlgorithm):
        raise InvalidValue("/passphrase", "it does not open the key") from None
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH)
    return str(key.private_bytes(*form, serialization.NoEncryption()), "ascii")


def _why_unreadable(content: bytes) -> str:
    """Error for a text given in place of a private key, with the remedy."""
    first, _, rest = content.partition(b"\n")
    if first.startswith(b"PuTTY-User-Key-File"):
        return "a key of PuTTY: export it in puttygen as an OpenSSH key"
    words = first.split(b" ")
    if first.startswith(b"---- BEGIN SSH2 PUBLIC KEY") or b"PUBLIC KEY-----" in first:
        return "a public key: give the private one, of the file without .pub"
    # A security key keeps its secret to itself, in a file that looks like a private key.
    if _is_security_key(words[0]) or _is_security_key(_decode(rest)):
        return "a security key: nobody is there to touch it; give a key of a file"
    if words[0] in PUBLIC_KINDS or words[0].startswith(b"ecdsa-sha2-"):
        return "a public key: give the private one, of the file without .pub"
    return "not an unencrypted private key in OpenSSH or PEM form"


def _is_security_key(content: bytes) -> bool:
    return any(kind in content for kind in SECURITY_KINDS)


def _decode(armoured: bytes) -> bytes:
    """The inside of a key in OpenSSH form; empty for anything else."""
    body = armoured.partition(b"-----END")[0]
    try:
        return base64.b64decode(b"".join(body.split()))
    except ValueError:
        return b""


def check_private_key(text: str) -> bytes:
    """The key as given, with a line feed at its end; RSA, ECDSA or Ed25519, not encrypted."""
    content = text.strip().encode() + b"\n"
    if len(content) > MAX_KEY_BYTES:
        raise InvalidValue("/private_key", "too long for a private key")
    try:
        key = _load_key(content)
    # How the reader says that a password is missing.
    except TypeError:
        raise InvalidValue("/private_key", "the key is encrypted; give it unencrypted") from None
    except (ValueError, UnsupportedAlgorithm):
        # The reader's own words may quote the key.
        raise InvalidValue("/private_key", _why_unreadable(content)) from None
    if isinstance(key, rsa.RSAPrivateKey) and key.key_size < MIN_RSA_BITS:
        raise InvalidValue("/private_key", f"RSA keys need {MIN_RSA_BITS} bits or more")
    if not isinstance(
        key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
    ):
        raise InvalidValue("/private_key", "RSA, ECDSA or Ed25519 is needed")
    return content
