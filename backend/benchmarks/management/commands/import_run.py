"""`manage.py import_run FILE --offer SLUG`: a run that was measured by another Rackrate."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.management.workspaces import workspace_argument, workspace_option
from backend.benchmarks.services.archive_import import run_import
from backend.benchmarks.services.archive_reading import MAX_PACKED_BYTES
from backend.catalog.selectors.offers import offers_visible
from backend.foundation.errors import DomainError


class Command(BaseCommand):
    help = "Import the archive of a run, verified, as imported results of an offer."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="the archive of a run, JSON or that by gzip")
        parser.add_argument("--offer", required=True, metavar="SLUG")
        parser.add_argument("--json", action="store_true", help="print JSON")
        workspace_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        workspace = workspace_option(options)
        offer = offers_visible(workspace.slug).filter(slug=options["offer"]).first()
        if offer is None:
            raise CommandError(f"no offer is called {options['offer']!r}")
        try:
            with options["file"].open("rb") as file:
                # One byte more than allowed shows a file that is too large, however large it is.
                content = file.read(MAX_PACKED_BYTES + 1)
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror}") from error
        try:
            run = run_import(workspace=workspace, offer=offer, content=content, actor="command")
        except DomainError as error:
            raise CommandError(str(error)) from error
        samples, evidence = run.samples.count(), run.evidence.count()
        if options["json"]:
            answer = {
                "run": str(run.pk),
                "state": run.state,
                "samples": samples,
                "evidence": evidence,
            }
            self.stdout.write(json.dumps(answer))
            return
        self.stdout.write(
            f"run {run.pk} ({run.state}): {samples} samples, {evidence} raw outputs, all verified"
        )
