"""Key that a machine presents: seen as a whole, before asyncssh judges it."""

import base64
from collections.abc import Callable

import asyncssh

from backend.providers.host_keys import TYPES

# RSA keys sign by SHA-2 although their type is called ssh-rsa: asked for by that name they would sign by
# SHA-1, which new servers refuse.
SIGNATURES = {"ssh-rsa": ("rsa-sha2-512", "rsa-sha2-256")}
ALGORITHMS = {key_type: SIGNATURES.get(key_type, (key_type,)) for key_type in TYPES}
CERTIFICATE_ALGORITHMS = [
    f"{name}-cert-v01@openssh.com" for names in ALGORITHMS.values() for name in names
]


class PresentedKey(asyncssh.SSHClient):
    """Gives the key or certificate that a machine presents, as a line, to `judge`, whose words refuse it
    before the login."""

    def __init__(self, judge: Callable[[str], str]) -> None:
        self._judge = judge

    def connection_made(self, conn: asyncssh.SSHClientConnection) -> None:
        # The library's own callbacks get the key of a certificate without its names and dates.
        accept = conn.validate_server_host_key

        def judged(key_data: bytes) -> asyncssh.SSHKey:
            if refusal := self._judge(_line(key_data)):
                raise asyncssh.HostKeyNotVerifiable(refusal)
            return accept(key_data)

        conn.validate_server_host_key = judged  # type: ignore[method-assign]


def _line(key_data: bytes) -> str:
    # RFC 4253, section 6.6: the type comes first, with its length before it.
    length = int.from_bytes(key_data[:4])
    kind = key_data[4 : 4 + length].decode("ascii", errors="replace")
    return f"{kind} {base64.b64encode(key_data).decode()}"
