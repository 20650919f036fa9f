"""Put a copy of the database in its place."""

from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.core.alone import schema_alone
from backend.core.backups import BackupError, missing_keys, restore
from backend.core.crypto import KeyMissing, SealBroken
from backend.core.database_roles import grant, roles_with_grants

SEALED_UNDER = {"CREDENTIAL_KEY": "The stored credentials", "WEB_KEY": "Second factors"}


class Command(BaseCommand):
    help = (
        "Put a copy made by `backup` in the place of the database's tables, in one transaction, and"
        " migrate them to this version. Web, workers and beat have to be stopped."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--replace", action="store_true", help="also where the database has data: they are lost"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # The copy comes without rights, and the schema that has them is dropped.
        roles = roles_with_grants()
        try:
            manifest = restore(options["file"], is_replacing=options["replace"])
        except (BackupError, SealBroken, OSError) as error:
            raise CommandError(str(error)) from None
        try:
            with schema_alone():
                call_command("migrate", interactive=False, verbosity=0)
        except KeyMissing as error:
            raise CommandError(
                f"The rows are restored, but not migrated to this version: {error}. `manage.py"
                " migrate` does so where it is set."
            ) from None
        grant(roles)
        for role in roles:
            self.stdout.write(f"{role} has its rights again")
        rows = sum(manifest.rows.values())
        self.stdout.write(f"restored {rows:,} rows of {manifest.created_at}")
        for name, key_id in missing_keys(manifest).items():
            self.stderr.write(
                f"{SEALED_UNDER[name]} were sealed under another {name} (id {key_id}): set it, or"
                " replace them."
            )
