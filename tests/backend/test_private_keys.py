"""What people paste in place of a private key, and the answer that says what to do."""

import base64

import pytest

from backend.benchmarks.services.login_keys import check_private_key
from backend.foundation.errors import InvalidValue


def armoured(kind):
    """A private key in OpenSSH form as far as its kind, which is what a reader looks at."""
    inside = b"openssh-key-v1\0" + b"\0\0\0\4none" * 2 + b"\0\0\0\0\0\0\0\1" + kind + b"\0" * 90
    body = base64.encodebytes(inside).decode()
    return f"-----BEGIN OPENSSH PRIVATE KEY-----\n{body}-----END OPENSSH PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (armoured(b"sk-ssh-ed25519@openssh.com"), "a security key: nobody is there to touch it"),
        (armoured(b"sk-ecdsa-sha2-nistp256@openssh.com"), "a security key"),
        ("sk-ssh-ed25519@openssh.com AAAAGnNr me@laptop", "a security key"),
        ("ssh-ed25519 AAAAC3Nz me@laptop", "a public key: give the private one"),
        ("ssh-rsa AAAAB3Nz me@laptop", "a public key"),
        ("ecdsa-sha2-nistp256 AAAAE2Vj me@laptop", "a public key"),
        ("---- BEGIN SSH2 PUBLIC KEY ----\nAAAA\n---- END SSH2 PUBLIC KEY ----", "a public key"),
        ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "a public key"),
        ("PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none", "export it in puttygen"),
        ("secret words", "not an unencrypted private key in OpenSSH or PEM form"),
        (armoured(b"ssh-ed25519"), "not an unencrypted private key in OpenSSH or PEM form"),
    ],
)
def test_key_that_is_none_is_named_by_its_kind(text, words):
    with pytest.raises(InvalidValue) as refused:
        check_private_key(text)
    assert words in refused.value.detail
    assert refused.value.field == "/private_key"
    # Whatever was pasted may be a secret.
    assert "AAAA" not in refused.value.detail
    assert "secret" not in refused.value.detail
