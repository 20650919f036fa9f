"""Writes of people, API tokens and the audit trail."""

import datetime as dt
import secrets

from django.core.exceptions import ValidationError
from django.db import models, transaction

from backend.accounts.models import (
    ROLES,
    ApiToken,
    AuditEntry,
    Scope,
    SignInLink,
    User,
    Workspace,
)
from backend.accounts.selectors import (
    LOOKUP_LENGTH,
    TOKEN_PREFIX,
    default_workspace,
    sign_in_links,
    token_digest,
)
from backend.common import clock
from backend.domain.errors import InvalidValue

DEFAULT_LIFE = dt.timedelta(days=90)
SECRET_BYTES = 24
USE_NOTED_EVERY = dt.timedelta(minutes=1)
LINK_LIFE = dt.timedelta(hours=24)


def audit_record(
    *,
    workspace: Workspace,
    actor: str,
    action: str,
    target: models.Model,
    detail: dict[str, object] | None = None,
) -> AuditEntry:
    """Append who did what to which object; `detail` holds no secret."""
    return AuditEntry.objects.create(
        workspace=workspace,
        actor=actor,
        action=action,
        object_type=target._meta.model_name or "",
        object_id=str(target.pk),
        detail=detail or {},
    )


# --- people ---------------------------------------------------------------------------------------


@transaction.atomic
def user_create(*, name: str, role: str, actor: str = "command") -> User:
    """A person without a password, who signs in by a link (`sign_in_link_create`).

    An admin also manages people and reads notices in Django's own pages. Raises InvalidValue for
    a name that is taken or no user name, and for an unknown role.
    """
    if role not in ROLES:
        raise InvalidValue("/role", f"{role!r} is not one of {', '.join(ROLES)}")
    is_admin = ROLES[role] is Scope.ADMIN
    user = User(username=name, role=ROLES[role], is_staff=is_admin, is_superuser=is_admin)
    user.set_unusable_password()
    try:
        user.full_clean()
    except ValidationError as error:
        raise InvalidValue("/name", " ".join(error.messages)) from error
    user.save()
    audit_record(
        workspace=default_workspace(),
        actor=actor,
        action="user_create",
        target=user,
        detail={"name": name, "role": role},
    )
    return user


@transaction.atomic
def sign_in_link_create(*, user: User, actor: str = "command") -> tuple[SignInLink, str]:
    """A link for a day, and its secret, which is shown once; the person's earlier link ends.

    Raises InvalidValue for a person who may not sign in.
    """
    if not user.is_active:
        raise InvalidValue("/name", f"{user} is not active")
    secret = secrets.token_hex(SECRET_BYTES)
    link, _ = SignInLink.objects.update_or_create(
        user=user,
        defaults={"digest": token_digest(secret), "expires_at": clock.now() + LINK_LIFE},
    )
    audit_record(
        workspace=default_workspace(),
        actor=actor,
        action="sign_in_link_create",
        target=user,
        detail={"name": user.username},
    )
    return link, secret


@transaction.atomic
def sign_in_link_use(*, secret: str) -> User | None:
    """The person whom the link signs in; None when it was used, has expired or never was."""
    # Of two who come at once the second waits here, and then there is no row any more.
    link = sign_in_links(secret).select_related("user").select_for_update(of=("self",)).first()
    if link is None:
        return None
    user = link.user
    link.delete()
    audit_record(
        workspace=default_workspace(),
        actor=user.username,
        action="sign_in_link_use",
        target=user,
    )
    return user


# --- API tokens -----------------------------------------------------------------------------------


@transaction.atomic
def token_create(
    *,
    workspace: Workspace,
    name: str,
    scope: str,
    expires_at: dt.datetime | None = None,
    actor: str = "command",
) -> tuple[ApiToken, str]:
    """A new token and its text, which is shown once and never stored; 90 days by default.

    Raises InvalidValue for a blank or used name, an unknown scope, or an expiry in the past.
    """
    now = clock.now()
    expires_at = expires_at or now + DEFAULT_LIFE
    if not name.strip() or len(name) > 100:
        raise InvalidValue("/name", "1 to 100 characters are needed")
    if scope not in Scope.values:
        raise InvalidValue("/scope", f"{scope!r} is not one of {', '.join(Scope.values)}")
    if expires_at <= now:
        raise InvalidValue("/expires_at", "the token would have expired already")
    if ApiToken.objects.filter(workspace=workspace, name=name, revoked_at=None).exists():
        raise InvalidValue("/name", f"a token named {name!r} exists; revoke it first")
    lookup = secrets.token_hex(LOOKUP_LENGTH // 2)
    plaintext = f"{TOKEN_PREFIX}{lookup}{secrets.token_hex(SECRET_BYTES)}"
    token = ApiToken.objects.create(
        workspace=workspace,
        name=name,
        lookup=lookup,
        digest=token_digest(plaintext),
        scope=scope,
        expires_at=expires_at,
    )
    audit_record(
        workspace=workspace,
        actor=actor,
        action="token_create",
        target=token,
        detail={"name": name, "scope": scope},
    )
    return token, plaintext


@transaction.atomic
def token_revoke(*, token: ApiToken, actor: str = "command") -> ApiToken:
    """End a token at once; revoking twice changes nothing."""
    if token.revoked_at is None:
        token.revoked_at = clock.now()
        token.save(update_fields=["revoked_at"])
        audit_record(
            workspace=token.workspace,
            actor=actor,
            action="token_revoke",
            target=token,
            detail={"name": token.name},
        )
    return token


def token_used(*, token: ApiToken) -> None:
    """Note the use of a token, at most once a minute."""
    now = clock.now()
    if token.last_used_at is None or token.last_used_at <= now - USE_NOTED_EVERY:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
