"""`manage.py login_key [show|replace|drop]`: the key by which Rackrate logs in to hosts that were given none."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.management.workspaces import workspace_argument, workspace_option
from backend.accounts.models import Workspace
from backend.benchmarks.selectors.consequences import earlier_key_consequences
from backend.benchmarks.services.login_keys import (
    login_key_drop,
    login_key_get,
    login_key_replace,
)
from backend.foundation.errors import InvalidValue

ACTOR = "command"


class Command(BaseCommand):
    help = (
        "Show the line for authorized_keys of hosts that were given no key of their own, replace it "
        "(the earlier key logs in as well), or drop the earlier key."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("do", nargs="?", choices=("show", "replace", "drop"), default="show")
        parser.add_argument("--dry-run", action="store_true", help="of drop: say what it means")
        workspace_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        workspace = workspace_option(options)
        if options["do"] == "drop":
            self._drop(workspace, is_dry=options["dry_run"])
            return
        try:
            if options["do"] == "replace":
                login_key_replace(workspace=workspace, actor=ACTOR)
        except InvalidValue as error:
            raise CommandError(error.detail) from error
        key = login_key_get(workspace=workspace)
        self.stdout.write(key.public_key)
        if key.earlier_public_key:
            self.stdout.write(f"earlier key, until it is dropped: {key.earlier_public_key}")

    def _drop(self, workspace: Workspace, *, is_dry: bool) -> None:
        for line in earlier_key_consequences(workspace):
            self.stdout.write(line)
        if not is_dry:
            login_key_drop(workspace=workspace, actor=ACTOR)
            self.stdout.write("only the newest key logs in")
