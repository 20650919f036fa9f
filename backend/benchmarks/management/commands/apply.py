"""`manage.py apply FILE|-`: make hosts, campaigns, schedules and subscriptions what a file says."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.management.workspaces import workspace_argument, workspace_option
from backend.benchmarks.calc.setup_document import MAX_FILE_BYTES, SetupFile, read_setup
from backend.benchmarks.management.texts import text_of
from backend.benchmarks.services.setup_files import SetupChange, setup_apply
from backend.foundation.errors import InvalidDocument

ACTOR = "command"
SIGNS = {"create": "+", "update": "~", "delete": "-"}


class Command(BaseCommand):
    help = (
        "Make hosts, campaigns, schedules and subscriptions what a YAML file says, and print what "
        "differed. What it does not name stays, unless --prune is given."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the YAML file; - reads standard input")
        parser.add_argument("--dry-run", action="store_true", help="say it all, change nothing")
        parser.add_argument("--prune", action="store_true", help="delete what the file lacks")
        parser.add_argument("--yes", action="store_true", help="delete without asking")
        parser.add_argument("--json", action="store_true", help="print one JSON document")
        workspace_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        self.workspace = workspace_option(options)
        is_dry, is_pruning = options["dry_run"], options["prune"]
        try:
            file = read_setup(text_of(options["file"], MAX_FILE_BYTES))
            # What is deleted is listed before anything is.
            deleted = [
                change
                for change in (
                    self._apply(file, is_pruning=True, is_dry=True) if is_pruning else ()
                )
                if change.action == "delete"
            ]
            if deleted and not (is_dry or options["yes"]):
                self._ask(deleted)
            changes = self._apply(file, is_pruning=is_pruning, is_dry=is_dry)
        except InvalidDocument as error:
            for line, detail in error.errors:
                self.stderr.write(f"{line}: {detail}")
            detail = f"{len(error.errors)} faults; nothing was changed"
            raise CommandError(detail) from error
        if options["json"]:
            rows = [vars(change) for change in changes]
            self.stdout.write(json.dumps({"is_dry": is_dry, "changes": rows}, default=str))
            return
        for change in changes:
            self.stdout.write("\n".join(_lines(change)))
        would = "would be made" if is_dry else "made"
        self.stdout.write(f"{len(changes)} changes {would}" if changes else "nothing differs")

    def _apply(self, file: SetupFile, *, is_pruning: bool, is_dry: bool) -> list[SetupChange]:
        return setup_apply(
            workspace=self.workspace,
            file=file,
            actor=ACTOR,
            is_pruning=is_pruning,
            is_dry=is_dry,
        )

    def _ask(self, deleted: list[SetupChange]) -> None:
        for change in deleted:
            self.stderr.write("\n".join(_lines(change)), style_func=str)
        if not self.stderr.isatty():
            raise CommandError(f"{len(deleted)} would be deleted: add --yes if that is right")
        if input("Delete these? [y/N] ").strip().lower() not in {"y", "yes"}:
            raise CommandError("nothing was changed")


def _lines(change: SetupChange) -> list[str]:
    head = f"{SIGNS[change.action]} {change.kind} {change.name}"
    return [head, *(f"    {name}: {a!r} → {b!r}" for name, (a, b) in change.fields.items())]
