"""How somebody's own ssh logs in: what `~/.ssh/config`, the default keys and the agent say of a machine.

Read by commands for the person who starts them; a worker reads no such file by itself.
"""

import getpass
import os
import socket
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

import asyncssh

from backend.benchmarks.calc.host_lists.ssh_jumps import NoJump, jump_of_command
from workers.remote.ssh_config_files import SYSTEM_CONFIG, SshConfigFault, SshSettings, expand

DEFAULT_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa")
DEFAULT_PORT = 22


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
    """Socket of the agent that it would ask; "" for none."""
    jumps: tuple[str, ...]
    """The machines in between, the first one first."""
    is_configured: bool
    """True if the file says anything of this very name."""


def destination(text: str) -> SshName:
    """[user@]name[:port], [user@][v6]:port; SshConfigFault for a port that is none."""
    username, at, location = text.removeprefix("ssh://").rpartition("@")
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
    """Login as ssh would do it; `config` instead of ~/.ssh/config. Raises SshConfigFault."""
    settings = _settings(where, config, home)
    tokens = _tokens(settings, home)
    named = settings.lists["identityfile"]
    default = [str(home / ".ssh" / name) for name in DEFAULT_KEYS]
    address, port, username = _endpoint(settings)
    jumps = _jumps(settings, tokens, environ)
    _check_canonical(settings, is_behind=bool(jumps))
    return SshLogin(
        name=where.name,
        address=address,
        port=port,
        username=username,
        identities=tuple(
            path for path in _paths(named or default, tokens, environ, home) if path.is_file()
        ),
        is_identity_named=bool(named),
        certificates=_paths(settings.lists["certificatefile"], tokens, environ, home),
        agent_socket=_agent_socket(settings, tokens, environ),
        # A setting for all names also holds for the bastion, which is not reached through itself.
        jumps=tuple(
            takewhile(
                lambda jump: (
                    _endpoint(_settings(destination(jump), config, home))
                    != (address, port, username)
                ),
                jumps,
            )
        ),
        is_configured=settings.is_named,
    )


def is_readable_by_others(path: Path) -> bool:
    """True if ssh itself would refuse the file of a private key."""
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


def _settings(where: SshName, config: Path | None, home: Path) -> SshSettings:
    settings = SshSettings(where.name, getpass.getuser())
    stated = {"user": where.username, "port": where.port and str(where.port)}
    settings.values |= {name: value for name, value in stated.items() if value}
    own = config or home / ".ssh" / "config"
    # As ssh does: a file that is named stands for those of the machine, too.
    files = {own: home / ".ssh"} | ({} if config else {SYSTEM_CONFIG: SYSTEM_CONFIG.parent})
    settings.read({p: directory for p, directory in files.items() if config or p.is_file()})
    return settings


def _endpoint(settings: SshSettings) -> tuple[str, int, str]:
    port = int(settings.values.get("port", DEFAULT_PORT))
    return settings.host.lower(), port, settings.user


def _tokens(settings: SshSettings, home: Path) -> dict[str, str]:
    address, port, username = _endpoint(settings)
    local_name = socket.gethostname()
    return {
        "%": "%", "h": address, "n": settings.name, "p": str(port), "r": username,
        "u": settings.local_user, "d": str(home), "i": str(os.getuid()), "l": local_name,
        "L": local_name.partition(".")[0], "k": settings.values.get("hostkeyalias", settings.name),
    }  # fmt: skip


def _paths(
    named: list[str], tokens: Mapping[str, str], environ: Mapping[str, str], home: Path
) -> tuple[Path, ...]:
    texts = [expand(text, tokens, environ) for text in named if text.lower() != "none"]
    return tuple(
        home / text.removeprefix("~/") if text.startswith("~/") else Path(text).expanduser()
        for text in texts
    )


def _agent_socket(
    settings: SshSettings, tokens: Mapping[str, str], environ: Mapping[str, str]
) -> str:
    """ssh_config(5), IdentityAgent: a path, the name of a variable, or `none`."""
    text = settings.values.get("identityagent", "SSH_AUTH_SOCK")
    if text.lower() == "none":
        return ""
    if text == "SSH_AUTH_SOCK" or text.startswith("$"):
        return environ.get(text.removeprefix("$").strip("{}"), "")
    return str(Path(expand(text, tokens, environ)).expanduser())


def _jumps(
    settings: SshSettings, tokens: Mapping[str, str], environ: Mapping[str, str]
) -> tuple[str, ...]:
    """The machines of ProxyJump, or of a ProxyCommand that means the same; the first one first."""
    command = settings.values.get("proxycommand", "none")
    if command.lower() != "none":
        try:
            return (expand(jump_of_command(command), tokens, environ),)
        except NoJump as error:
            raise SshConfigFault(
                f"{settings.name} is reached by the ProxyCommand {command[:200]!r}, which is not run "
                "here: name the machine in between by ProxyJump, or add the host behind its bastion"
            ) from error
    named = settings.values.get("proxyjump", "none")
    if named.lower() == "none":
        return ()
    return tuple(expand(jump.strip(), tokens, environ) for jump in named.split(","))


def _check_canonical(settings: SshSettings, *, is_behind: bool) -> None:
    """Refuses a name that ssh would complete by asking the DNS."""
    wish = settings.values.get("canonicalizehostname", "no").lower()
    domains = settings.values.get("canonicaldomains", "none").lower()
    is_wished = wish == "always" or (wish in {"yes", "true"} and not is_behind)
    is_address = ":" in settings.host or settings.host.replace(".", "").isdigit()
    if is_wished and domains != "none" and not is_address:
        raise SshConfigFault(
            f"CanonicalizeHostname would complete the name {settings.host} here, which is not "
            "followed: give the whole name by HostName"
        )
