"""System checks of our own settings, beside Django's."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured

from backend.core.rest.throttles import parse_rate

# With one token and a copy of the database a short pepper could be searched for.
PEPPER_CHARACTERS = 32
# What the function of the audit trail keeps, whatever it is asked for.
AUDIT_DAYS = 90
RATES = (
    "THROTTLE_TOKEN",
    "THROTTLE_ANONYMOUS",
    "THROTTLE_PAGES",
    "THROTTLE_REFUSED",
    "WORK_RATE_TOKEN",
    "WORK_RATE_ANONYMOUS",
)


@checks.register(checks.Tags.security)
def secrets(app_configs: Sequence[Any] | None, **_: Any) -> list[checks.CheckMessage]:
    """The pepper of the tokens is long, and is not another secret used twice."""
    messages: list[checks.CheckMessage] = []
    if len(settings.TOKEN_PEPPER) < PEPPER_CHARACTERS:
        hint = f"Use at least {PEPPER_CHARACTERS} random characters."
        messages.append(checks.Error("TOKEN_PEPPER is too short", hint, id="rackrate.E001"))
    # One secret that leaks must not open what another one guards.
    if settings.TOKEN_PEPPER == settings.SECRET_KEY:
        messages.append(
            checks.Error("TOKEN_PEPPER and SECRET_KEY are the same", id="rackrate.E002")
        )
    return messages


@checks.register(checks.Tags.security)
def limits(app_configs: Sequence[Any] | None, **_: Any) -> list[checks.CheckMessage]:
    """Rates can be read, and a lease outlives several ticks."""
    messages: list[checks.CheckMessage] = []
    for name in RATES:
        try:
            parse_rate(getattr(settings, name))
        except ImproperlyConfigured as error:
            messages.append(checks.Error(f"{name}: {error}", id="rackrate.E003"))
    if settings.LEASE_S < 2 * settings.TICK_S:
        messages.append(checks.Error("LEASE_S must be at least twice TICK_S", id="rackrate.E004"))
    if settings.BREACHED_PASSWORDS and not Path(settings.BREACHED_PASSWORDS).is_file():
        messages.append(checks.Error("BREACHED_PASSWORDS is no file", id="rackrate.E006"))
    # The database refuses less, so that nobody can cover tracks by a setting.
    if 0 < settings.RETAIN_AUDIT_DAYS <= AUDIT_DAYS:
        message = f"RETAIN_AUDIT_DAYS must be 0 or more than {AUDIT_DAYS}"
        messages.append(checks.Error(message, id="rackrate.E005"))
    return messages


# Warnings, since a server may mean each of them: only `check --deploy` looks at them.
@checks.register(checks.Tags.security, deploy=True)
def exposure(app_configs: Sequence[Any] | None, **_: Any) -> list[checks.CheckMessage]:
    """Warn of settings that suit the demo and must be meant on a server."""
    messages: list[checks.CheckMessage] = []
    if settings.PUBLIC_READ:
        hint = "Everybody who reaches the server can read prices, results and raw evidence."
        messages.append(checks.Warning("PUBLIC_READ is on", hint, id="rackrate.W001"))
    if settings.SSH_ALLOW_PRIVATE:
        hint = "People with the scope run can point the worker at machines in its own network."
        messages.append(checks.Warning("SSH_ALLOW_PRIVATE is on", hint, id="rackrate.W002"))
    if settings.WEBHOOK_ALLOW_PRIVATE:
        hint = "People with the scope admin can make the worker call addresses of its own network."
        messages.append(checks.Warning("WEBHOOK_ALLOW_PRIVATE is on", hint, id="rackrate.W005"))
    if settings.CLOUD_ENDPOINTS:
        hint = "People with the scope admin can make the worker call addresses of its own network."
        messages.append(checks.Warning("CLOUD_ENDPOINTS is on", hint, id="rackrate.W006"))
    if settings.CREDENTIAL_KEYS_PREVIOUS:
        hint = "After manage.py rotate_keys they open nothing that the current key does not open."
        messages.append(
            checks.Warning("CREDENTIAL_KEYS_PREVIOUS is not empty", hint, id="rackrate.W007")
        )
    if settings.TOKEN_PEPPERS_PREVIOUS:
        hint = "Tokens that were not used since the change end with them."
        messages.append(
            checks.Warning("TOKEN_PEPPERS_PREVIOUS is not empty", hint, id="rackrate.W008")
        )
    if not settings.HTTPS_ONLY:
        hint = "Tokens and sessions travel in the clear."
        messages.append(checks.Warning("HTTPS_ONLY is off", hint, id="rackrate.W003"))
    elif urlsplit(settings.PUBLIC_URL).scheme != "https":
        hint = "Links in results and exports would lead to an address that only redirects."
        messages.append(checks.Warning("PUBLIC_URL is not https", hint, id="rackrate.W004"))
    return messages
