"""`manage.py token create|revoke`: API tokens."""

import datetime as dt
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.models import ApiToken, Scope
from backend.accounts.services.tokens import DEFAULT_LIFE, token_create, token_revoke
from backend.accounts.services.workspaces import default_workspace
from backend.common import clock
from backend.domain.errors import DomainError


class Command(BaseCommand):
    help = "Create an API token, which is shown once, or revoke one."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="make a token and print it")
        create.add_argument("name")
        create.add_argument("--scope", choices=Scope.values, default=Scope.READ.value)
        create.add_argument("--expires-days", type=int, default=DEFAULT_LIFE.days, metavar="N")
        revoke = actions.add_parser("revoke", help="end the token of this name at once")
        revoke.add_argument("name")
        for action in (create, revoke):
            action.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            answer = self._create(options) if options["action"] == "create" else _revoke(options)
        except DomainError as error:
            raise CommandError(str(error)) from error
        # Without --json the token stands alone on its line, for a shell to keep in a variable.
        self.stdout.write(json.dumps(answer) if options["json"] else next(iter(answer.values())))

    def _create(self, options: dict[str, Any]) -> dict[str, str]:
        if not 0 < options["expires_days"] <= 36500:
            raise CommandError("--expires-days must be between 1 and 36500")
        token, plaintext = token_create(
            workspace=default_workspace(),
            name=options["name"],
            scope=options["scope"],
            expires_at=clock.now() + dt.timedelta(days=options["expires_days"]),
        )
        return {
            "token": plaintext,
            "name": token.name,
            "scope": token.scope,
            "expires_at": token.expires_at.isoformat(),
        }


def _revoke(options: dict[str, Any]) -> dict[str, str]:
    tokens = ApiToken.objects.filter(
        workspace=default_workspace(), name=options["name"], revoked_at=None
    )
    token = tokens.first()
    if token is None:
        raise CommandError(f"no active token is named {options['name']!r}")
    token_revoke(token=token)
    return {"revoked": token.name}
