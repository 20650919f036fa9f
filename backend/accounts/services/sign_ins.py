"""Who signed in, out, or tried to, and which tokens and keys were refused, in the audit trail."""

from typing import Any

from django.conf import settings
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest

from backend.accounts.models import User
from backend.accounts.services.audit import audit_record
from backend.accounts.services.workspaces import default_workspace
from backend.common.rest.throttles import Allowance, client_address, spent

# Who tried, where that is nobody whom we know: what was typed may be a password.
UNKNOWN = "unknown"


@receiver(user_logged_in)
def _signed_in(user: User, **_: Any) -> None:
    audit_record(workspace=default_workspace(), actor=user.username, action="login", target=user)


@receiver(user_logged_out)
def _signed_out(user: User | None, **_: Any) -> None:
    if user is not None:
        audit_record(
            workspace=default_workspace(), actor=user.username, action="logout", target=user
        )


@receiver(user_login_failed)
def _failed(credentials: dict[str, Any], **_: Any) -> None:
    workspace = default_workspace()
    # PostgreSQL refuses a NUL character by an error, which anybody could cause with a name.
    name = str(credentials.get("username", "")).replace("\0", "")
    user = User.objects.filter(username=name).first()
    audit_record(
        workspace=workspace,
        actor=user.username if user else UNKNOWN,
        action="login_failed",
        target=user or workspace,
    )


def refusal_record(*, request: HttpRequest, action: str, presented: str) -> Allowance | None:
    """Note a refused token or key by the part of it that is no secret.

    Answers how many an address may still try in vain: beyond that they are neither noted nor
    looked at, so that nobody can fill the trail. None where Redis cannot count.
    """
    allowance = spent("refused", settings.THROTTLE_REFUSED, client_address(request))
    if allowance is None or not allowance.is_exceeded:
        workspace = default_workspace()
        audit_record(
            workspace=workspace,
            actor=UNKNOWN,
            action=action,
            target=workspace,
            detail={"begins": _printable(presented[:11])},
        )
    return allowance


def single_sign_on_refused(*, request: HttpRequest, reason: str) -> None:
    """Note that a provider's answer let nobody in; as seldom as other refusals."""
    allowance = spent("refused", settings.THROTTLE_REFUSED, client_address(request))
    if allowance is None or not allowance.is_exceeded:
        workspace = default_workspace()
        audit_record(
            workspace=workspace,
            actor=UNKNOWN,
            action="login_failed",
            target=workspace,
            detail={"by": "single sign-on", "reason": reason},
        )


def _printable(text: str) -> str:
    return "".join(c if c.isascii() and c.isprintable() else "?" for c in text)
