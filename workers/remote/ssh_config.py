"""How somebody's own ssh logs in: what `~/.ssh/config`, the default keys and the agent say of a machine.

Read by commands for the person who starts them; a worker reads no such file by itself.
"""

import getpass
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import asyncssh
from asyncssh.config import SSHClientConfig

from backend.domain.errors import DomainError

DEFAULT_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa")
DEFAULT_PORT = 22
# Not a name that anybody has: what a file says of it, it says of all.
ANY_NAME = "any.invalid"


class SshConfigFault(DomainError):
    """A file of ssh's settings that cannot be read, with its line."""


@dataclass(frozen=True)
class SshName:
    """user@name:port as it was written; None for what was not said."""

    name: str
    username: str | None = None
    port: int | None = None


@dataclass(frozen=True)
class SshLogin:
    """Where ssh would log in, and with what."""

    name: str
    """The alias, or the address where there is none."""
    address: str
    port: int
    username: str
    identities: tuple[Path, ...]
    """Files of private keys that exist: those that the file names, else the default ones."""
    is_identity_named: bool
    certificates: tuple[Path, ...]
    agent_socket: str = field(repr=False)
    """Of the agent that it would ask; "" for none."""
    jumps: tuple[str, ...]
    """The machines in between, the first one first."""
    is_configured: bool
    """Whether the file says anything of this very name."""


def destination(text: str) -> SshName:
    """[user@]name[:port], [user@][v6]:port; SshConfigFault for a port that is none."""
    username, at, location = text.rpartition("@")
    name, colon, port = location.rpartition(":")
    # Several colons without brackets are an IPv6 address, and none of them stands before a port.
    if location.endswith("]") or not colon or (name.count(":") and not name.endswith("]")):
        name, port = location, ""
    if colon and name != location and not (port.isascii() and port.isdigit()):
        raise SshConfigFault(f"{port!r} in {text!r} is not a port")
    return SshName(name.strip("[]"), username if at else None, int(port) if port else None)


def login(
    where: SshName, *, config: Path | None, environ: Mapping[str, str], home: Path
) -> SshLogin:
    """What ssh would do; `config` instead of ~/.ssh/config. Raises SshConfigFault."""
    settings = _settings(where, config, home)
    named = _paths(settings, "IdentityFile")
    identities = named or tuple(home / ".ssh" / name for name in DEFAULT_KEYS)
    of_all = _settings(SshName(ANY_NAME, where.username, where.port), config, home)
    return SshLogin(
        name=where.name,
        address=str(settings.get("Hostname") or where.name),
        port=where.port or _port(settings),
        username=where.username or str(settings.get("User") or getpass.getuser()),
        identities=tuple(path for path in identities if path.is_file()),
        is_identity_named=bool(named),
        certificates=_paths(settings, "CertificateFile"),
        agent_socket=_agent_socket(settings, environ),
        jumps=_jumps(settings),
        is_configured=settings.get_options(reload=False) != of_all.get_options(reload=False),
    )


def is_readable_by_others(path: Path) -> bool:
    """Whether ssh itself would refuse the file of a private key."""
    return bool(path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def certificate_for(private_key: str, identity: Path, named: tuple[Path, ...]) -> str:
    """The certificate of a key, in OpenSSH form: of those that are named the one for this key, else
    what ssh looks for beside the key; "" for none. Raises SshConfigFault."""
    beside = identity.with_name(f"{identity.name}-cert.pub")
    public = asyncssh.import_private_key(private_key).public_data
    for path in (*named, *([beside] if beside.is_file() else [])):
        try:
            certificate = asyncssh.read_certificate(path)
            text = path.read_text().strip()
        except (OSError, ValueError, asyncssh.KeyImportError) as error:
            raise SshConfigFault(f"the certificate {path} cannot be read: {error}") from error
        if certificate.key.public_data == public:
            return text
    return ""


def _settings(where: SshName, config: Path | None, home: Path) -> SSHClientConfig:
    path = config or home / ".ssh" / "config"
    paths = [str(path)] if config is not None or path.is_file() else []
    try:
        return cast(
            "SSHClientConfig",
            SSHClientConfig.load(
                None, paths, False, False, False, getpass.getuser(),
                where.username or (), where.name, where.port or (),
            ),
        )  # fmt: skip
    except (OSError, UnicodeDecodeError, asyncssh.ConfigParseError) as error:
        raise SshConfigFault(f"{path}: {error}") from error


def _port(settings: SSHClientConfig) -> int:
    port = settings.get("Port")
    return port if isinstance(port, int) else DEFAULT_PORT


def _paths(settings: SSHClientConfig, option: str) -> tuple[Path, ...]:
    named = settings.get(option)
    return tuple(Path(path).expanduser() for path in named) if isinstance(named, list) else ()


def _agent_socket(settings: SSHClientConfig, environ: Mapping[str, str]) -> str:
    """ssh_config(5), IdentityAgent: a path, the name of a variable, or `none`."""
    named = settings.get("IdentityAgent", "SSH_AUTH_SOCK")
    if named is None:
        return ""
    text = str(named)
    if text == "SSH_AUTH_SOCK" or text.startswith("$"):
        return environ.get(text.removeprefix("$").strip("{}"), "")
    return str(Path(text).expanduser())


def _jumps(settings: SSHClientConfig) -> tuple[str, ...]:
    named = settings.get("ProxyJump")
    return tuple(one.strip() for one in str(named).split(",")) if named else ()
