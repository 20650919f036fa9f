"""Writes of people and of the links that sign them in."""

import datetime as dt
import secrets

from django.core.exceptions import ValidationError
from django.db import transaction

from backend.accounts.models import ROLES, Scope, SignInLink, User
from backend.accounts.selectors.people import sign_in_links
from backend.accounts.selectors.tokens import token_digest
from backend.accounts.services.audit import audit_record
from backend.accounts.services.tokens import SECRET_BYTES
from backend.accounts.services.workspaces import default_workspace
from backend.common import clock
from backend.domain.errors import InvalidValue

LINK_LIFE = dt.timedelta(hours=24)


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
    # Nobody has to think one up, and none can be guessed: people sign in by a link.
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
    # One row a person: whoever mislaid a link makes it useless by asking for another.
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
    # Deleted and not marked: what is not there can be used by nobody, whatever reads the table.
    link.delete()
    audit_record(
        workspace=default_workspace(),
        actor=user.username,
        action="sign_in_link_use",
        target=user,
    )
    return user
