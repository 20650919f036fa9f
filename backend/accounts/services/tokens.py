"""Writes of API tokens, and of the keys that let in as they do."""

import datetime as dt
import secrets
from typing import Any

from django.db import IntegrityError, transaction

from backend.accounts.models import AccessKey, ApiToken, Scope, User, Workspace
from backend.accounts.selectors.tokens import LOOKUP_LENGTH, TOKEN_PREFIX, token_digest
from backend.accounts.services.audit import audit_record
from backend.core import clock
from backend.foundation.errors import InvalidValue

DEFAULT_DAYS, MAX_DAYS = 90, 365
# 192 random bits: at that length guessing needs no limit of attempts.
SECRET_BYTES = 24
USE_NOTED_EVERY = dt.timedelta(minutes=1)


@transaction.atomic
def token_create(
    *,
    workspace: Workspace,
    owner: User,
    name: str,
    scope: str,
    expires_days: int = DEFAULT_DAYS,
    actor: str = "command",
) -> tuple[ApiToken, str]:
    """A new token and its text, which is shown once and never stored.

    It ends with its owner, and may what its owner may, at most. Raises InvalidValue for a blank or
    used name, an unknown scope, no days or more than a year, and an owner who may not sign in.
    """
    if not name.strip() or len(name) > 100:
        raise InvalidValue("/name", "1 to 100 characters are needed")
    if scope not in Scope.values:
        raise InvalidValue("/scope", f"{scope!r} is not one of {', '.join(Scope.values)}")
    if not 1 <= expires_days <= MAX_DAYS:
        raise InvalidValue("/expires_days", f"between 1 and {MAX_DAYS} days are allowed")
    taken = f"a token named {name!r} exists; revoke it first"
    if not owner.is_active:
        raise InvalidValue("/owner", f"{owner} is not active")
    if ApiToken.objects.filter(workspace=workspace, name=name, revoked_at=None).exists():
        raise InvalidValue("/name", taken)
    plaintext, kept = key_secret(TOKEN_PREFIX)
    try:
        # A savepoint: after the refusal the outer transaction must still be usable.
        with transaction.atomic():
            token = ApiToken.objects.create(
                workspace=workspace,
                owner=owner,
                name=name,
                scope=scope,
                expires_at=clock.now() + dt.timedelta(days=expires_days),
                **kept,
            )
    except IntegrityError:
        raise InvalidValue("/name", taken) from None
    audit_record(
        actor=actor,
        action="token_create",
        target=token,
        detail={"name": name, "scope": scope, "owner": owner.username},
    )
    return token, plaintext


@transaction.atomic
def token_revoke(*, token: ApiToken, actor: str = "command") -> ApiToken:
    """End a token at once; revoking twice changes nothing."""
    if token.revoked_at is None:
        token.revoked_at = clock.now()
        token.save(update_fields=["revoked_at"])
        audit_record(actor=actor, action="token_revoke", target=token, detail={"name": token.name})
    return token


def key_secret(prefix: str) -> tuple[str, dict[str, Any]]:
    """Text of a new key, and what its row keeps of it: only the part to find it by is in the clear."""
    lookup = secrets.token_hex(LOOKUP_LENGTH // 2)
    plaintext = f"{prefix}{lookup}{secrets.token_hex(SECRET_BYTES)}"
    return plaintext, {"lookup": lookup, "digest": token_digest(plaintext)}


def key_mark_used(*, key: AccessKey, plaintext: str) -> None:
    """Note the use of a key, at most once a minute; its digest is of the present pepper then."""
    now = clock.now()
    if key.last_used_at is None or key.last_used_at <= now - USE_NOTED_EVERY:
        # One write a minute: a script that reads in a loop would else write as often.
        rows = type(key)._default_manager.filter(pk=key.pk)
        rows.update(last_used_at=now, digest=token_digest(plaintext))
