"""Give the application's database role its rights."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from backend.core.database_roles import grant, role_exists


class Command(BaseCommand):
    help = (
        "Give a database role what the application needs: it reads and writes all tables and cannot"
        " change the audit trail. Log in as the owner of the tables; `restore` does it again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("role", help="name of a role that exists")

    def handle(self, *args: Any, **options: Any) -> None:
        role = options["role"]
        if not role_exists(role):
            raise CommandError(f"there is no role {role}: CREATE ROLE {role} LOGIN PASSWORD '…'")
        try:
            grant([role])
        except DatabaseError as error:
            reason = str(error).strip().partition("\n")[0]
            raise CommandError(f"{reason}: log in as the owner of the tables") from None
        self.stdout.write(f"{role} may do what the application needs.")
