"""Copy the database into a file."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.core.backups import BackupError, backup, remove_older


class Command(BaseCommand):
    help = (
        "Copy the database into a file of a directory, with a manifest beside it. It may be in use"
        " meanwhile. With BACKUP_KEY the file is sealed. CREDENTIAL_KEY, WEB_KEY and BACKUP_KEY are"
        " not in it: keep them elsewhere."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("directory", type=Path)
        parser.add_argument(
            "--keep", type=int, metavar="N", help="afterwards remove all copies but the newest N"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        keep, directory = options["keep"], options["directory"]
        if keep is not None and keep < 1:
            raise CommandError("--keep needs a number of at least 1")
        try:
            manifest = backup(directory)
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from None
        rows = sum(manifest.rows.values())
        self.stdout.write(
            f"{directory / manifest.file}: {manifest.size_bytes:,} bytes, {rows:,} rows"
        )
        if not settings.BACKUP_KEY:
            self.stderr.write(
                "It is not sealed: whoever has the file reads all of it (BACKUP_KEY)."
            )
        # Only once the new copy is whole, so that one that fails never costs an older one.
        for name in remove_older(directory, keep) if keep else []:
            self.stdout.write(f"removed {name}")
