"""`manage.py export_config`: the file that `manage.py apply` reads, of what there is now."""

from typing import Any

import yaml
from django.core.management.base import BaseCommand, CommandParser

from backend.accounts.management.workspaces import workspace_argument, workspace_option
from backend.benchmarks.selectors.setup_files import setup_current


class Command(BaseCommand):
    help = "Print hosts, campaigns, schedules and subscriptions as the YAML file that apply reads."

    def add_arguments(self, parser: CommandParser) -> None:
        workspace_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        content = setup_current(workspace_option(options))
        self.stdout.write(yaml.safe_dump(content, sort_keys=False, allow_unicode=True), ending="")
