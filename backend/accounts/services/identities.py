"""People who come by single sign-on: who may, and whose account it is."""

import re
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from backend.accounts.models import ROLES, ExternalIdentity, Membership, Scope, User, Workspace
from backend.accounts.services.acting import MembersBackend
from backend.accounts.services.audit import audit_record
from backend.accounts.services.openid import SignInRefused
from backend.accounts.services.people import user_create
from backend.accounts.services.workspaces import workspace_named
from backend.foundation.errors import InvalidValue

ACTOR = "single sign-on"
# ASCII, as OpenID Connect Core 1.0 says in section 2.
SUBJECT = re.compile("[ -~]{1,255}")


def identity_user_get_or_create(claims: Mapping[str, Any]) -> User:
    """The account of the person in the claims; made when they come for the first time.

    Found by issuer and subject alone: an e-mail address may pass to somebody else, or be forged at the
    provider. Raises SignInRefused.
    """
    subject, email, roles = _admit(claims)
    user = _find_user(subject) or _make_user(subject, email, roles)
    if not MembersBackend().user_can_authenticate(user):
        raise SignInRefused("account_disabled")
    return user


def identity_link(*, user: User, workspace: Workspace, claims: Mapping[str, Any]) -> None:
    """From now on whom the claims are about signs in as the person, who has just given their
    password; name, roles and address stay. Raises SignInRefused."""
    subject, _, _ = _admit(claims)
    try:
        with transaction.atomic():
            ExternalIdentity.objects.create(user=user, issuer=settings.OIDC_ISSUER, subject=subject)
            _audit_link("identity_link", user, workspace)
    except IntegrityError as error:
        raise SignInRefused("subject_taken") from error


@transaction.atomic
def identity_unlink(*, user: User, workspace: Workspace) -> None:
    """Nobody comes in as the person by single sign-on any more."""
    ExternalIdentity.objects.filter(user=user, issuer=settings.OIDC_ISSUER).delete()
    _audit_link("identity_unlink", user, workspace)


def _audit_link(action: str, user: User, workspace: Workspace) -> None:
    audit_record(
        workspace=workspace,
        actor=user.get_username(),
        action=action,
        target=user,
        detail={"issuer": settings.OIDC_ISSUER},
    )


def _admit(claims: Mapping[str, Any]) -> tuple[str, str, dict[str, Scope]]:
    """Subject, address and roles of somebody who may come in."""
    email, roles = _email(claims), _roles(claims)
    if not roles:
        raise SignInRefused("not_admitted")
    subject = claims["sub"]
    if not SUBJECT.fullmatch(subject if isinstance(subject, str) else ""):
        raise SignInRefused("claim_sub")
    return subject, email, roles


def _find_user(subject: str) -> User | None:
    identity = (
        ExternalIdentity.objects.filter(issuer=settings.OIDC_ISSUER, subject=subject)
        .select_related("user")
        .first()
    )
    return identity.user if identity else None


@transaction.atomic
def _make_user(subject: str, email: str, roles: Mapping[str, Scope]) -> User:
    # Locked, so that of two first sign-ins at once the second finds what the first made.
    try:
        first, *others = [workspace_named(slug) for slug in roles]
    except InvalidValue as error:
        raise SignInRefused("workspace_unknown") from error
    Workspace.objects.select_for_update().get(pk=first.pk)
    user = _find_user(subject)
    if user is not None:
        return user
    try:
        user = user_create(
            name=email, email=email, scope=roles[first.slug], workspace=first, actor=ACTOR
        )
    except InvalidValue as error:
        # The name is somebody's, who came by another way: nobody takes over an account.
        raise SignInRefused("name_taken") from error
    Membership.objects.bulk_create(
        Membership(workspace=other, user=user, role=roles[other.slug]) for other in others
    )
    ExternalIdentity.objects.create(user=user, issuer=settings.OIDC_ISSUER, subject=subject)
    for workspace in (first, *others):
        audit_record(
            workspace=workspace,
            actor=ACTOR,
            action="member_join",
            target=user,
            detail={"name": email, "role": roles[workspace.slug], "issuer": settings.OIDC_ISSUER},
        )
    return user


def _email(claims: Mapping[str, Any]) -> str:
    email = claims.get("email")
    # A boolean (section 5.1): of a text, "false" would be true as well.
    if claims.get("email_verified") is not True or not isinstance(email, str):
        raise SignInRefused("email_not_verified")
    return email.lower()


def _roles(claims: Mapping[str, Any]) -> dict[str, Scope]:
    """The role in each workspace, by its slug, of the first rule there that the claims fulfil."""
    roles: dict[str, Scope] = {}
    for rule in settings.OIDC_ADMIT:
        if rule.value in _values(claims, rule.claim):
            roles.setdefault(rule.workspace, ROLES[rule.role])
    return roles


def _values(claims: Mapping[str, Any], name: str) -> list[Any]:
    if name == "email_domain":
        return [_email(claims).rpartition("@")[2]]
    value = claims.get(name)
    return value if isinstance(value, list) else [value]
