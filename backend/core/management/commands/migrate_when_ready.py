"""Migrate, for the start of a deployment."""

import time
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor

from backend.core.alone import schema_alone

PAUSE_S = 1.0


class Command(BaseCommand):
    help = (
        "Wait until the database answers, then migrate it to this version; of several that are "
        "started at once one does it. With --wait-only it waits until another has done so."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--within-s", type=float, default=300.0, metavar="S")
        parser.add_argument("--wait-only", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        deadline = time.monotonic() + options["within_s"]
        while fault := _fault(is_waiting=options["wait_only"]):
            if time.monotonic() > deadline:
                raise CommandError(f"not ready within {options['within_s']:g} s: {fault}")
            connection.close()
            self.stderr.write(f"waiting: {fault}")
            time.sleep(PAUSE_S)
        if not options["wait_only"]:
            # A replaced job must not run into the one before it.
            with schema_alone():
                call_command("migrate", interactive=False, stdout=self.stdout)


def _fault(*, is_waiting: bool) -> str:
    """Why it is too early, without the address and its password; empty when it is not."""
    try:
        connection.ensure_connection()
        if is_waiting:
            executor = MigrationExecutor(connection)
            if plan := executor.migration_plan(executor.loader.graph.leaf_nodes()):
                return f"{len(plan)} migrations are not applied"
    except OperationalError as error:
        return str(error).splitlines()[0]
    return ""
