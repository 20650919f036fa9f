"""Writes of workspaces, of their members, and of the invitations that let people join."""

import datetime as dt
import re
import secrets

from django.db import transaction

from backend.accounts.models import Invitation, Membership, Scope, User, Workspace
from backend.accounts.selectors.people import invitations
from backend.accounts.selectors.tokens import token_digest
from backend.accounts.services.audit import audit_record
from backend.accounts.services.people import foreign_access_end, user_create
from backend.accounts.services.tokens import SECRET_BYTES
from backend.core import clock
from backend.foundation.errors import InvalidValue

INVITATION_LIFE = dt.timedelta(days=7)
SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,49}", re.ASCII)


@transaction.atomic
def workspace_create(*, slug: str, name: str, admin: User | None, actor: str) -> Workspace:
    """A workspace of its own, with its first admin; raises InvalidValue for a slug that is bad or
    taken and a blank name."""
    name = name.strip()
    if not SLUG.fullmatch(slug):
        raise InvalidValue("/slug", "1 to 50 small letters, digits and - are needed")
    if not 1 <= len(name) <= 100:
        raise InvalidValue("/name", "1 to 100 characters are needed")
    workspace, is_new = Workspace.objects.get_or_create(slug=slug, defaults={"name": name})
    if not is_new:
        raise InvalidValue("/slug", f"{slug!r} is taken")
    if admin is not None:
        Membership.objects.create(workspace=workspace, user=admin, role=Scope.ADMIN)
        foreign_access_end(user=admin)
    audit_record(
        actor=actor,
        action="workspace_create",
        target=workspace,
        detail={"slug": slug, "name": name, "admin": admin.username if admin else None},
    )
    return workspace


@transaction.atomic
def invitation_create(
    *, workspace: Workspace, scope: str, note: str = "", actor: str
) -> tuple[Invitation, str]:
    """An invitation for a week, and its secret, which is shown once; raises InvalidValue."""
    if scope not in Scope.values:
        raise InvalidValue("/role", f"{scope!r} is not one of {', '.join(Scope.values)}")
    if len(note) > 100:
        raise InvalidValue("/note", "100 characters are the most")
    secret = secrets.token_hex(SECRET_BYTES)
    invitation = Invitation.objects.create(
        workspace=workspace,
        role=scope,
        note=note.strip(),
        invited_by=actor,
        digest=token_digest(secret),
        expires_at=clock.now() + INVITATION_LIFE,
    )
    detail = {"role": scope, "note": invitation.note}
    audit_record(actor=actor, action="invitation_create", target=invitation, detail=detail)
    return invitation, secret


@transaction.atomic
def invitation_withdraw(*, invitation: Invitation, actor: str) -> None:
    """Nobody joins by it any more."""
    detail = {"note": invitation.note}
    audit_record(actor=actor, action="invitation_withdraw", target=invitation, detail=detail)
    invitation.delete()


@transaction.atomic
def invitation_accept(
    *, secret: str, user: User | None, name: str = "", session_key: str = ""
) -> User | None:
    """The person joins the workspace; one who has no account yet gets one under `name`.

    Of one who has an account, links and sessions end that others could enter by
    (`foreign_access_end`); the session of `session_key` goes on.

    None for an invitation that was used, has expired or never was. Raises InvalidValue for a name
    that is taken or no user name, and for who is a member already.
    """
    # Locked: of two who follow one link at the same time only the first joins.
    invitation = invitations(secret).select_for_update(of=("self",)).first()
    if invitation is None:
        return None
    workspace, scope = invitation.workspace, Scope(invitation.role)
    if user is None:
        user = user_create(name=name, scope=scope, workspace=workspace, actor=name)
    elif Membership.objects.filter(workspace=workspace, user=user).exists():
        raise InvalidValue("/name", f"{user} is a member already")
    else:
        Membership.objects.create(workspace=workspace, user=user, role=scope)
        foreign_access_end(user=user, session_key=session_key)
    invitation.delete()
    audit_record(
        workspace=workspace,
        actor=user.username,
        action="member_join",
        target=user,
        detail={"name": user.username, "role": scope, "invited_by": invitation.invited_by},
    )
    return user


@transaction.atomic
def member_update(*, membership: Membership, scope: str, actor: str) -> Membership:
    """Another role; raises InvalidValue where nobody would be left who manages the workspace."""
    if scope not in Scope.values:
        raise InvalidValue("/role", f"{scope!r} is not one of {', '.join(Scope.values)}")
    before = membership.role
    if before == scope:
        return membership
    if before == Scope.ADMIN:
        _keep_an_admin(membership)
    membership.role = scope
    membership.save(update_fields=["role"])
    _record_role(membership, actor, "member_update", before, scope)
    return membership


@transaction.atomic
def member_remove(*, membership: Membership, actor: str) -> None:
    """The person leaves, or is removed; their tokens there are refused from then on.

    What they made stays with the workspace. Raises InvalidValue for its last admin.
    """
    if membership.role == Scope.ADMIN:
        _keep_an_admin(membership)
    _record_role(membership, actor, "member_remove", membership.role, None)
    membership.delete()


def _keep_an_admin(membership: Membership) -> None:
    # Locked, so that of two admins who leave at once one stays.
    Workspace.objects.select_for_update().get(pk=membership.workspace_id)
    admins = Membership.objects.filter(
        workspace=membership.workspace_id, role=Scope.ADMIN, user__is_active=True
    )
    if not admins.exclude(pk=membership.pk).exists():
        raise InvalidValue("/role", f"{membership.user} is its last admin")


def _record_role(
    membership: Membership, actor: str, action: str, before: str, after: str | None
) -> None:
    audit_record(
        workspace=membership.workspace,
        actor=actor,
        action=action,
        target=membership.user,
        detail={"name": membership.user.username, "before": before, "after": after},
    )
