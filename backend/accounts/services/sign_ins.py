"""Who signed in, out, or tried to, and which tokens and keys were refused, in the audit trail."""

from typing import Any

from django.conf import settings
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest

from backend.accounts.models import User, Workspace
from backend.accounts.selectors.tokens import token_digest
from backend.accounts.services.audit import audit_record
from backend.accounts.services.workspaces import default_workspace
from backend.core.rest.throttles import Allowance, client_network, spend

# Who tried, where that is nobody whom we know: what was typed may be a password.
UNKNOWN = "unknown"


@receiver(user_logged_in)
def _on_sign_in(user: User, **_: Any) -> None:
    _record(user, "login")


@receiver(user_logged_out)
def _on_sign_out(user: User | None, **_: Any) -> None:
    if user is not None:
        _record(user, "logout")


def _record(user: User, action: str) -> None:
    """In the trail of the installation, and of each workspace that the person is a member of."""
    joined = Workspace.objects.filter(memberships__user=user)
    for workspace in {default_workspace(), *joined}:
        audit_record(workspace=workspace, actor=user.username, action=action, target=user)


def must_wait(name: str) -> bool:
    """True if so many failed with the name, from all addresses, that few tries a minute are taken."""
    failures = _failures(name, 0)
    if failures is None or not failures.is_exceeded:
        return False
    tries = spend("sign-in-slow", settings.THROTTLE_SIGN_IN_SLOW, _name_digest(name))
    return tries is not None and tries.is_exceeded


def _failures(name: str, count: int) -> Allowance | None:
    return spend("sign-in-name", settings.THROTTLE_SIGN_IN_NAME, _name_digest(name), count)


def _name_digest(name: str) -> str:
    # What was typed may be a password.
    return token_digest(name.casefold()).hex()[:32]


@receiver(user_login_failed)
def _on_failure(credentials: dict[str, Any], **_: Any) -> None:
    _failures(str(credentials.get("username", "")), 1)
    # PostgreSQL refuses a NUL character by an error, which anybody could cause with a name.
    name = str(credentials.get("username", "")).replace("\0", "")
    user = User.objects.filter(username=name).first()
    if user is not None:
        _record(user, "login_failed")
    else:
        audit_record(actor=UNKNOWN, action="login_failed", target=default_workspace())


def refusal_record(*, request: HttpRequest, action: str, **detail: object) -> Allowance | None:
    """Note a refused token, key or answer of a provider of single sign-on.

    Answers how many an address may still try in vain: beyond that they are neither noted nor
    looked at, so that nobody can fill the trail. None where Redis cannot count.
    """
    allowance = spend("refused", settings.THROTTLE_REFUSED, client_network(request))
    if allowance is None or not allowance.is_exceeded:
        audit_record(actor=UNKNOWN, action=action, target=default_workspace(), detail=detail)
    return allowance
