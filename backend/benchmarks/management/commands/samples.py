"""`manage.py samples exclude|include ID…`: leave samples out of every score, or count them again."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.management.workspaces import workspace_argument, workspace_option
from backend.accounts.services.workspaces import NotOwned
from backend.benchmarks.services.imports import samples_mark
from backend.foundation.errors import InvalidDocument


class Command(BaseCommand):
    help = "Leave samples out of every score for a reason, or count them again. All or none."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        for name, meaning in (("exclude", "leave them out"), ("include", "count them again")):
            action = actions.add_parser(name, help=meaning)
            action.add_argument("samples", nargs="+", type=int, metavar="ID")
            if name == "exclude":
                action.add_argument("--reason", required=True)
            workspace_argument(action)

    def handle(self, *args: Any, **options: Any) -> None:
        # None counts a sample again.
        reasons = [(option, options.get("reason")) for option in options["samples"]]
        try:
            samples_mark(workspace=workspace_option(options), reasons=reasons, actor="command")
        except InvalidDocument as error:
            raise CommandError(error.errors[0][1]) from error
        except NotOwned as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{len(reasons)} samples {options['action']}d")
