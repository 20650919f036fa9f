"""The environment of every child: what the person set wins over .env, .env over the defaults."""

import os
from collections.abc import Mapping
from pathlib import Path

from launcher.console import LauncherError
from launcher.paths import BIN, HOST_TOOLS, ROOT, TOOLS
from launcher.state import StackState

# Set by ./rackrate for its own Python; the programs it starts must not inherit them.
OWN_VARIABLES = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONHOME", "VIRTUAL_ENV")

WEB_KEYS = ("CREDENTIAL_PUBLIC_KEY", "WEB_KEY", "WEB_KEYS_PREVIOUS")
KEYS = ("CREDENTIAL_KEY", "CREDENTIAL_KEYS_PREVIOUS", "BACKUP_KEY", *WEB_KEYS)


def dotenv(path: Path) -> dict[str, str]:
    """NAME=value lines; blank lines and comments are left out, quotes around a value removed."""
    if not path.is_file():
        return {}
    values = {}
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        name, equals, value = line.strip().partition("=")
        if not name or name.startswith("#"):
            continue
        if not equals or not name.isidentifier():
            raise LauncherError(f"{path}, line {number}: expected NAME=value.")
        values[name] = value.strip().strip("\"'")
    return values


def plain_environment() -> dict[str, str]:
    """The person's environment without what ./rackrate added, with the project's tools on PATH."""
    environment = {key: value for key, value in os.environ.items() if key not in OWN_VARIABLES}
    path = environment.get("PATH", os.defpath)
    # The tools for measuring come last: those of the system are what its owner means to measure with.
    environment["PATH"] = os.pathsep.join((str(BIN), path, str(HOST_TOOLS)))
    # The stack runs on the Python that started it.
    environment["UV_PYTHON_DOWNLOADS"] = "never"
    # Nothing is written outside the checkout, and hard links out of the cache cost no space.
    environment.setdefault("UV_CACHE_DIR", str(TOOLS / "cache/uv"))
    environment.setdefault("npm_config_cache", str(TOOLS / "cache/npm"))
    return environment


def choice(name: str) -> str | None:
    """The person's value of this variable, or of the file that has it, in the environment or in
    .env; None when nothing."""
    known = {**dotenv(ROOT / ".env"), **os.environ}
    return known.get(name) or known.get(f"{name}_FILE") or None


def application_environment(state: StackState, defaults: Mapping[str, str]) -> dict[str, str]:
    """Environment of everything that loads the settings; defaults are those of the embedded stack."""
    known = state.secrets()
    generated = {
        "SECRET_KEY": known["SECRET_KEY"],
        "CREDENTIAL_KEY": known["CREDENTIAL_KEY"],
        "TOKEN_PEPPER": known["TOKEN_PEPPER"],
        "ALLOWED_HOSTS": "127.0.0.1,localhost,[::1]",
        # Loopback only, so no certificate: browsers take 127.0.0.1 for secure without one.
        "HTTPS_ONLY": "0",
        "PUBLIC_READ": "1",
        "SSH_ALLOW_PRIVATE": "1",
        **defaults,
    }
    own = {**dotenv(ROOT / ".env"), **plain_environment()}
    # A secret in a file wins over the one that was generated.
    environment = {name: value for name, value in generated.items() if f"{name}_FILE" not in own}
    environment.update(own)
    environment["DJANGO_SETTINGS_MODULE"] = "backend.config.settings"
    # Else the last lines of a child that was killed never reach its log.
    environment["PYTHONUNBUFFERED"] = "1"
    return environment


def without_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """For a process that seals and opens nothing."""
    names = {*KEYS, *(f"{name}_FILE" for name in KEYS)}
    return {name: value for name, value in environment.items() if name not in names}


def web_environment(environment: Mapping[str, str], directory: Path) -> dict[str, str]:
    """For the web process: the keys that `backend.config.web_keys` wrote into the directory, which
    open no credentials, and no others."""
    files = {f"{name}_FILE": str(directory / name.lower()) for name in WEB_KEYS}
    return {**without_keys(environment), **files}


def process_environments(
    environment: Mapping[str, str], web_keys: Path
) -> dict[str, Mapping[str, str]]:
    """Environments of web, worker and beat: each has the keys that it needs, as where others reach
    it."""
    return {
        "web": web_environment(environment, web_keys),
        "worker": environment,
        "beat": without_keys(environment),
    }


def production_environment() -> dict[str, str]:
    """Stand-in values, production-like, for commands that read the settings but reach no service."""
    return {
        **plain_environment(),
        "DJANGO_SETTINGS_MODULE": "backend.config.settings",
        # Port 1: a command that connects all the same fails at once, instead of changing a database.
        "DATABASE_URL": "postgresql://rackrate:unused@127.0.0.1:1/rackrate",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "SECRET_KEY": "stand-in-for-checks-only-0123456789-abcdefghijklmnopqrstuvwxyz",
        "CREDENTIAL_KEY": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
        "TOKEN_PEPPER": "stand-in-for-checks-only-0123456789",
        "ALLOWED_HOSTS": "rackrate.example",
        "PUBLIC_URL": "https://rackrate.example",
        "PUBLIC_READ": "0",
        "SSH_ALLOW_PRIVATE": "0",
        "HTTPS_ONLY": "1",
        "DEBUG": "0",
    }
