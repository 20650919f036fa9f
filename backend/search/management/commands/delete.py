"""`manage.py delete KIND NAME`: says what depends on an object, asks, and deletes it."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Model, QuerySet

from backend.accounts.management.workspaces import workspace_argument, workspace_option
from backend.accounts.models import Workspace
from backend.accounts.services.workspaces import NotOwned
from backend.benchmarks.models import Campaign
from backend.benchmarks.selectors import consequences
from backend.benchmarks.selectors.evidence import evidence_visible
from backend.benchmarks.selectors.hosts import hosts_visible
from backend.benchmarks.selectors.runs import runs_visible
from backend.benchmarks.services.archive_import import archived_run_delete
from backend.benchmarks.services.campaigns import campaign_delete
from backend.benchmarks.services.hosts import host_remove, host_update
from backend.benchmarks.services.imports import import_delete
from backend.benchmarks.services.offers import offer_delete
from backend.catalog.selectors.consequences import hardware_consequences, price_consequences
from backend.catalog.selectors.current_prices import prices_visible
from backend.catalog.selectors.hardware import hardware_visible
from backend.catalog.selectors.offers import offers_visible
from backend.catalog.services.hardware import hardware_delete
from backend.catalog.services.prices import price_remove
from backend.foundation.errors import DomainError, InvalidValue
from backend.foundation.texts import text as _
from backend.search.selectors.mentions import offer_mentions

ACTOR = "command"
YES = frozenset({"y", "yes"})


class Kind(NamedTuple):
    """Objects of a kind: how they are named, what is said before, and what deletes one."""

    rows: Callable[[Workspace], QuerySet[Any]]
    field: str
    consequences: Callable[[Any, Workspace], Iterable[str]]
    delete: Callable[[Any, Workspace], object]


def _of(service: Callable[..., object], name: str, *, is_scoped: bool = True) -> Any:
    """The service as a function of row and workspace; `name` is its argument for the row."""

    def delete(row: Model, workspace: Workspace) -> object:
        scope = {"workspace": workspace} if is_scoped else {}
        return service(**{name: row, **scope}, actor=ACTOR)

    return delete


def _alone(function: Callable[[Any], Iterable[str]]) -> Callable[[Any, Workspace], Iterable[str]]:
    return lambda row, _workspace: function(row)


def _campaigns(workspace: Workspace) -> QuerySet[Campaign]:
    return Campaign.objects.filter(workspace=workspace)


def _consequences(row: Any) -> Iterable[str]:
    return [_("{name} has to let in Rackrate's own key from then on.", name=row.name)]


KINDS: Mapping[str, Kind] = {
    "host": Kind(
        hosts_visible,
        "name",
        _alone(consequences.host_consequences),
        _of(host_remove, "host", is_scoped=False),
    ),
    "host-key": Kind(
        hosts_visible,
        "name",
        _alone(_consequences),
        _of(partial(host_update, changes={"private_key": ""}), "host", is_scoped=False),
    ),
    "offer": Kind(
        lambda workspace: offers_visible(workspace.slug),
        "slug",
        offer_mentions,
        _of(offer_delete, "offer"),
    ),
    "price": Kind(
        lambda workspace: prices_visible(workspace.slug),
        "pk",
        _alone(price_consequences),
        _of(price_remove, "observation"),
    ),
    "hardware": Kind(
        hardware_visible,
        "name",
        _alone(hardware_consequences),
        _of(hardware_delete, "model", is_scoped=False),
    ),
    "campaign": Kind(
        _campaigns,
        "name",
        _alone(consequences.campaign_consequences),
        _of(campaign_delete, "campaign", is_scoped=False),
    ),
    "import": Kind(
        lambda workspace: evidence_visible(workspace).filter(run=None),
        "pk",
        _alone(consequences.import_consequences),
        _of(import_delete, "evidence"),
    ),
    "run": Kind(
        runs_visible, "pk", _alone(consequences.run_consequences), _of(archived_run_delete, "run")
    ),
}


class Command(BaseCommand):
    help = (
        "Delete a host, the key that it was given, an offer of one's own, a price that a person "
        "stated, the newest version of a cost model of own hardware, a campaign, an imported result, "
        "or a run that came as an archive. What depends on it is said first."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kind", choices=KINDS)
        parser.add_argument("name", help="its name, slug (offer) or id (price, import, run)")
        parser.add_argument("--dry-run", action="store_true", help="say it all, delete nothing")
        parser.add_argument("--yes", action="store_true", help="delete without asking")
        workspace_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        kind, name = KINDS[options["kind"]], options["name"]
        workspace = workspace_option(options)
        row = _row(kind.rows(workspace), kind.field, name)
        if row is None:
            raise CommandError(f"there is no {options['kind']} {name!r}")
        for line in kind.consequences(row, workspace):
            self.stdout.write(line)
        if options["dry_run"]:
            return
        if not options["yes"]:
            self._ask()
        try:
            kind.delete(row, workspace)
        except InvalidValue as error:
            raise CommandError(error.detail) from error
        except (DomainError, NotOwned) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{options['kind']} {name} is deleted")

    def _ask(self) -> None:
        if not self.stderr.isatty():
            raise CommandError("nothing was deleted: add --yes if that is right")
        if input("Delete it? [y/N] ").strip().lower() not in YES:
            raise CommandError("nothing was deleted")


def _row(rows: QuerySet[Any], field: str, name: str) -> Any:
    if field == "pk":
        try:
            key: object = int(name) if name.isascii() and name.isdigit() else UUID(name)
            return rows.filter(pk=key).first()
        # A number where a UUID is asked for, or neither.
        except (ValueError, TypeError, OverflowError):
            return None
    # PostgreSQL refuses a NUL character by an error, and nothing can be called so.
    return None if "\0" in name else rows.filter(**{field: name}).first()
