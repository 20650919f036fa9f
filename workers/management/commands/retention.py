"""`manage.py retention`: delete what is older than the RETAIN_… settings keep."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.core.object_store import StoreAway
from workers import retention


class Command(BaseCommand):
    """Says of each kind how many rows went, or would go."""

    help = "Delete what is older than the RETAIN_… settings keep; nothing that a number needs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="say what would go")

    def handle(self, *_: Any, **options: Any) -> None:
        is_dry = options["dry_run"]
        rows = retention.count_expired() if is_dry else retention.delete_expired(most=10**9)
        word = "would be " if is_dry else ""
        try:
            for policy, count in rows:
                days = getattr(settings, policy.setting)
                kept = f"{days} days ({policy.setting})" if days else "for good"
                self.stdout.write(f"{policy.kind:<15} kept {kept}: {count} {word}{policy.done}")
        except StoreAway as error:
            raise CommandError(f"old texts stay in the database: {error}") from error
