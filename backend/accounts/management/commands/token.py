"""`manage.py token create|revoke`: API tokens."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.models import ApiToken, Scope, User
from backend.accounts.services.people import user_create
from backend.accounts.services.tokens import DEFAULT_DAYS, token_create, token_revoke
from backend.accounts.services.workspaces import DEFAULT_WORKSPACE, workspace_named
from backend.foundation.errors import DomainError, InvalidValue

FIRST_PERSON = "admin"


class Command(BaseCommand):
    help = "Create an API token, which is shown once, or revoke one."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="make a token and print it")
        create.add_argument("name")
        create.add_argument("--workspace", default=DEFAULT_WORKSPACE, metavar="SLUG")
        create.add_argument(
            "--owner",
            metavar="PERSON",
            help="who answers for it: it ends with them; else who runs the installation",
        )
        create.add_argument("--scope", choices=Scope.values, default=Scope.READ.value)
        create.add_argument("--expires-days", type=int, default=DEFAULT_DAYS, metavar="N")
        revoke = actions.add_parser("revoke", help="end the token of this name at once")
        revoke.add_argument("name")
        revoke.add_argument("--workspace", default=DEFAULT_WORKSPACE, metavar="SLUG")
        for action in (create, revoke):
            action.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            answer = _create(options) if options["action"] == "create" else _revoke(options)
        except DomainError as error:
            raise CommandError(str(error)) from error
        # Without --json the token stands alone on its line, for a shell to keep in a variable.
        self.stdout.write(json.dumps(answer) if options["json"] else next(iter(answer.values())))


def _create(options: dict[str, Any]) -> dict[str, str]:
    token, plaintext = token_create(
        workspace=workspace_named(options["workspace"]),
        owner=_owner(options["owner"]),
        name=options["name"],
        scope=options["scope"],
        expires_days=options["expires_days"],
    )
    return {
        "token": plaintext,
        "name": token.name,
        "scope": token.scope,
        "owner": token.owner.username,
        "expires_at": token.expires_at.isoformat(),
    }


def _owner(name: str | None) -> User:
    """The person of this name, else the first one who runs the installation."""
    if name is None and not User.objects.exists():
        # A script of an operator may come before any person: the first account is made for it.
        return user_create(name=FIRST_PERSON, scope=Scope.ADMIN)
    active = User.objects.filter(is_active=True)
    people = active.filter(username=name) if name else active.filter(is_superuser=True)
    person = people.order_by("date_joined").first()
    if person is None:
        raise InvalidValue(
            "--owner",
            "nobody active has this name"
            if name
            else "a token ends with its owner, and nobody active runs the installation: name one",
        )
    return person


def _revoke(options: dict[str, Any]) -> dict[str, str]:
    tokens = ApiToken.objects.filter(
        workspace=workspace_named(options["workspace"]), name=options["name"], revoked_at=None
    )
    token = tokens.first()
    if token is None:
        raise CommandError(f"no active token is named {options['name']!r}")
    token_revoke(token=token)
    return {"revoked": token.name}
