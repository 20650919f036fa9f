"""`manage.py samples exclude|include ID…`: leave samples out of every score, or count them again."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from backend.accounts.management.workspaces import workspace_argument, workspace_option
from backend.accounts.services.workspaces import NotOwned
from backend.benchmarks.selectors.samples import samples_visible
from backend.benchmarks.services.imports import sample_exclude, sample_include
from backend.domain.errors import InvalidValue

ACTOR = "command"


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

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        workspace = workspace_option(options)
        known = samples_visible(workspace).in_bulk(options["samples"])
        if missing := [one for one in options["samples"] if one not in known]:
            raise CommandError(f"there is no sample {missing[0]}")
        try:
            for sample in known.values():
                if options["action"] == "exclude":
                    sample_exclude(
                        workspace=workspace, sample=sample, reason=options["reason"], actor=ACTOR
                    )
                else:
                    sample_include(workspace=workspace, sample=sample, actor=ACTOR)
        except InvalidValue as error:
            raise CommandError(error.detail) from error
        except NotOwned as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{len(known)} samples {options['action']}d")
