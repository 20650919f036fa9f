"""Writes of people and of the links that sign them in."""

import datetime as dt
import secrets

from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q

from backend.accounts.models import AuditEntry, Membership, Scope, SignInLink, User, Workspace
from backend.accounts.selectors.people import sessions_of, sign_in_links
from backend.accounts.selectors.tokens import token_digest
from backend.accounts.services.audit import audit_record
from backend.accounts.services.tokens import SECRET_BYTES
from backend.accounts.services.workspaces import default_workspace
from backend.core import clock
from backend.foundation.errors import InvalidValue

LINK_LIFE = dt.timedelta(hours=24)
# Key of the session: the person came by a link, so another password needs no former one.
BY_LINK = "by_link"
# Actor of what is done in a terminal of the installation.
COMMAND = "command"


@transaction.atomic
def user_create(
    *,
    name: str,
    scope: Scope,
    email: str = "",
    workspace: Workspace | None = None,
    actor: str = COMMAND,
) -> User:
    """A person without a password, who signs in by a link (`sign_in_link_create`), as a member of
    a workspace.

    An admin for whom no workspace is named is a superuser of the default one: runs the
    installation, manages people and reads notices in Django's own pages. Raises InvalidValue for
    a name that is taken or no user name.
    """
    is_superuser = scope is Scope.ADMIN and workspace is None
    workspace = workspace or default_workspace()
    user = User(username=name, email=email, is_staff=is_superuser, is_superuser=is_superuser)
    # Nobody has to think one up, and none can be guessed: people sign in by a link.
    user.set_unusable_password()
    try:
        user.full_clean()
    except ValidationError as error:
        raise InvalidValue("/name", " ".join(error.messages)) from error
    user.save()
    Membership.objects.create(workspace=workspace, user=user, role=scope)
    audit_record(
        workspace=workspace,
        actor=actor,
        action="user_create",
        target=user,
        detail={"name": name, "role": scope.role},
    )
    return user


@transaction.atomic
def user_switch(*, user: User, is_active: bool, workspace: Workspace, actor: str) -> User:
    """Let a person in no more, or again; disabling ends their sessions and links at once, and no
    token of theirs is taken. Raises InvalidValue for the last active superuser."""
    # Every superuser: of two who disable each other at once the second sees what the first did.
    people = User.objects.filter(Q(pk=user.pk) | Q(is_superuser=True)).order_by("pk")
    user = next(person for person in people.select_for_update() if person.pk == user.pk)
    if user.is_active == is_active:
        return user
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
    if user.is_superuser and not is_active and not others.exists():
        raise InvalidValue("/name", f"{user} is the last one who runs this installation")
    user.is_active = is_active
    user.save(update_fields=["is_active"])
    if not is_active:
        SignInLink.objects.filter(user=user).delete()
        sessions_end(user=user)
    audit_record(
        workspace=workspace,
        actor=actor,
        action="user_enable" if is_active else "user_disable",
        target=user,
        detail={"name": user.username, "before": not is_active, "after": is_active},
    )
    return user


@transaction.atomic
def password_set(*, user: User, password: str, is_by_link: bool = False) -> None:
    """Another password, which a form has checked by the rules."""
    user.set_password(password)
    user.save(update_fields=["password"])
    audit_record(
        actor=user.username,
        action="password_set",
        target=user,
        detail={"by_link": True} if is_by_link else {},
    )


def foreign_access_end(*, user: User, session_key: str = "") -> None:
    """End what an admin of a person's workspace could enter as them, when they join another one.

    The sign-in link, sessions that a link opened (except the one that joins), and a password that
    was set in such a session after somebody who does not run the installation made the link.
    """
    SignInLink.objects.filter(user=user).delete()
    keys = [row.session_key for row in sessions_of(user) if row.get_decoded().get(BY_LINK)]
    Session.objects.filter(session_key__in=[key for key in keys if key != session_key]).delete()
    if _password_is_foreign(user):
        user.set_unusable_password()
        user.save(update_fields=["password"])


def _password_is_foreign(user: User) -> bool:
    entries = AuditEntry.objects.filter(object_type="user", object_id=str(user.pk)).order_by("-id")
    last = entries.filter(action="password_set").first()
    if last is None or not last.detail.get("by_link") or not user.has_usable_password():
        return False
    link = entries.filter(action="sign_in_link_create", id__lt=last.pk).first()
    installers = User.objects.filter(is_superuser=True).values_list("username", flat=True)
    return link is None or link.actor not in {COMMAND, *installers}


def sessions_end(*, user: User, but: str = "") -> int:
    """End every session of a person, or all but one (its key); how many there were."""
    keys = [session.session_key for session in sessions_of(user) if session.session_key != but]
    return Session.objects.filter(session_key__in=keys).delete()[0]


@transaction.atomic
def sign_in_link_create(*, user: User, actor: str = COMMAND) -> tuple[SignInLink, str]:
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
    audit_record(actor=user.username, action="sign_in_link_use", target=user)
    return user
