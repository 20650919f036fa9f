"""`manage.py import_hosts FILE|-`: hosts from a list that somebody keeps already."""

import json
from pathlib import PurePath
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.management.workspaces import workspace_argument, workspace_option
from backend.benchmarks.management.texts import bytes_of
from backend.benchmarks.services.host_lists import (
    LIST_FORMATS,
    MAX_LIST_BYTES,
    ImportedHosts,
    hosts_import,
)
from backend.catalog.models import OfferKind
from backend.foundation.errors import InvalidDocument

# What files of these names are, where no format is stated.
SUFFIXES = {".csv": "csv", ".xlsx": "csv", ".ini": "ansible", ".yaml": "ansible", ".yml": "ansible"}
NAMES = {"known_hosts": "known_hosts", "ssh_known_hosts": "known_hosts", "hosts": "ansible"}


class Command(BaseCommand):
    help = "Add and approve the hosts of a CSV, an Ansible inventory, a known_hosts file or fingerprints."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the list; - reads standard input")
        parser.add_argument("--format", choices=LIST_FORMATS, help="default: by the file's name")
        parser.add_argument(
            "--user", default="", metavar="NAME", help="who logs in where the list names nobody"
        )
        parser.add_argument("--kind", choices=OfferKind.values, default=OfferKind.DEDICATED.value)
        parser.add_argument("--dry-run", action="store_true", help="say it all, store nothing")
        parser.add_argument("--json", action="store_true", help="print JSON")
        workspace_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        name, is_dry = options["file"], options["dry_run"]
        try:
            done = hosts_import(
                workspace=workspace_option(options),
                text=bytes_of(name, MAX_LIST_BYTES),
                format=options["format"] or _format(name),
                username=options["user"],
                kind=options["kind"],
                actor="command",
                is_dry=is_dry,
            )
        except InvalidDocument as error:
            for pointer, detail in error.errors:
                self.stderr.write(f"line {pointer.rpartition('/')[2]}: {detail}")
            detail = f"{len(error.errors)} lines are wrong; nothing was stored"
            raise CommandError(detail) from error
        if options["json"]:
            self.stdout.write(json.dumps({**done.report("name"), "is_dry": is_dry}))
        else:
            self._print(done, "would be " if is_dry else "")

    def _print(self, done: ImportedHosts, would: str) -> None:
        for host in done.added:
            tags = f" ({' '.join(host.tags)})" if host.tags else ""
            login = f"{host.username}@{host.address}:{host.port}"
            self.stdout.write(f"{would}added: {host.name}, {login}{tags}")
        for host in done.approved:
            self.stdout.write(f"{would}approved: {host.name}")
        for host in done.changed:
            self.stdout.write(f"{would}changed: {host.name}")
        self.stdout.write(
            f"{would}added: {len(done.added)}, {would}approved: {len(done.approved)}, "
            f"authorities: {done.authorities}, unchanged: {done.unchanged}"
        )


def _format(name: str) -> str:
    path = PurePath(name)
    if (list_format := SUFFIXES.get(path.suffix.lower()) or NAMES.get(path.name)) is None:
        raise CommandError(f"--format is needed: {', '.join(LIST_FORMATS)}")
    return list_format
