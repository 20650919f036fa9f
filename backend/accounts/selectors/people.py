"""People, the links that sign them in, invitations and sessions."""

from collections.abc import Iterator

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db.models import QuerySet

from backend.accounts.models import (
    ExternalIdentity,
    Invitation,
    Membership,
    SignInLink,
    User,
    Workspace,
)
from backend.accounts.selectors.tokens import token_digests
from backend.core import clock


def sign_in_links(secret: str) -> QuerySet[SignInLink]:
    """The link in force that this secret opens, or none; the person must be active.

    The digest is under a key, so nothing useful leaks through the time of the lookup.
    """
    return SignInLink.objects.filter(
        digest__in=token_digests(secret), expires_at__gt=clock.now(), user__is_active=True
    )


def invitations(secret: str) -> QuerySet[Invitation]:
    """The invitation in force that this secret opens, or none."""
    in_force = Invitation.objects.filter(
        digest__in=token_digests(secret), expires_at__gt=clock.now()
    )
    return in_force.select_related("workspace")


def invitations_of(workspace: Workspace) -> QuerySet[Invitation]:
    """Invitations that nobody has used yet."""
    return Invitation.objects.filter(workspace=workspace, expires_at__gt=clock.now())


def members_of(workspace: Workspace) -> QuerySet[Membership]:
    """The members of a workspace, by name."""
    return Membership.objects.filter(workspace=workspace).select_related("user")


def memberships_of(user: User) -> QuerySet[Membership]:
    """The workspaces of a person, with the role in each."""
    rows = Membership.objects.filter(user=user).select_related("workspace")
    return rows.order_by("workspace__name")


def is_linked(user: User, issuer: str) -> bool:
    """True if the person signs in with that provider of single sign-on."""
    return ExternalIdentity.objects.filter(user=user, issuer=issuer).exists()


def workspaces_open_to(user: User) -> QuerySet[Workspace]:
    """Workspaces that the person may act in: a superuser in all."""
    if user.is_superuser:
        return Workspace.objects.order_by("name")
    return Workspace.objects.filter(memberships__user=user).order_by("name")


def person_by_id(pk: str) -> User | None:
    return User.objects.filter(pk=pk).first()


def manages(admin: User, person: User, workspace: Workspace) -> bool:
    """True if an admin of the workspace may disable the person and let them in by a link.

    Only for who runs the installation is anybody theirs; an admin of one workspace would else enter
    others as a person who is a member of them, too.
    """
    if admin.is_superuser:
        return True
    return not person.is_superuser and not (
        Membership.objects.filter(user=person).exclude(workspace=workspace).exists()
    )


def sessions_of(user: User) -> Iterator[Session]:
    """Sessions in force. Their rows name nobody, so each is opened; there are few."""
    for session in Session.objects.filter(expire_date__gt=clock.now()).iterator():
        if session.get_decoded().get(SESSION_KEY) == str(user.pk):
            yield session
