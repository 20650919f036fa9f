"""Tables that people send, read as the last one of the same hoster was."""

import datetime as dt
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from django.db import transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.accounts.services.workspaces import demand_owner
from backend.catalog.calc.tables.offer_rows import ParsedTable
from backend.catalog.calc.tables.offers import offers
from backend.catalog.calc.tables.price_rows import prices_of_table
from backend.catalog.calc.tables.quotes import quotes
from backend.catalog.calc.tables.table_files import sheet
from backend.catalog.calc.tables.tables import Options, RefusedTable, Remark
from backend.catalog.models import TableMapping
from backend.catalog.selectors.tables import mappings_of
from backend.catalog.services.price_tables import PriceTableImport
from backend.catalog.services.table_rows import TableImport, TableReport, provider_slug
from backend.core import clock


@dataclass(frozen=True)
class TableKind:
    """Reader of a table, and the service that takes its rows into the catalog."""

    read: Callable[..., ParsedTable]
    importing: type[TableImport] = TableImport
    is_learning: bool = False


TABLES: Mapping[str, TableKind] = MappingProxyType(
    {
        "quotes": TableKind(quotes),
        "offers": TableKind(offers, is_learning=True),
        "prices": TableKind(prices_of_table, PriceTableImport),
    }
)
REMEMBERED = ("locale", "currency")


@transaction.atomic
def table_import(
    *,
    kind: str,
    workspace: Workspace,
    text: bytes | str,
    actor: str,
    options: Options | None = None,
    is_replacing: bool = False,
    known_providers: Collection[str] = (),
    is_dry: bool = False,
    is_recalling: bool = True,
    today: dt.date | None = None,
) -> TableReport:
    """Store the good rows of a table of TABLES; a dry run reports the same and stores nothing.

    What is said of it is remembered for its hoster, and holds for the next table of the same one as
    far as nothing else is said; the report says so. Corrections and new providers: TableImport.
    """
    said, today = options or Options(), today or clock.now().date()
    recalled = _recall_mapping(kind, workspace, text, said, today) if is_recalling else None
    meant = said if recalled is None else _merge_options(said, recalled)
    table = TABLES[kind].read(text, today=today, options=meant)
    report = (
        TABLES[kind]
        .importing(
            workspace,
            f"{kind}_import",
            actor,
            is_learning=TABLES[kind].is_learning,
            is_replacing=is_replacing,
            known_providers=known_providers,
        )
        .run(table, is_dry=is_dry)
    )
    if recalled is not None:
        report.recalled = recalled.provider
        report.warnings.insert(0, Remark(1, "", _words(recalled)))
    is_kept = bool(report.lines or report.offers_new) and not is_dry
    if is_kept and (said.columns or any(said.defaults.get(name) for name in REMEMBERED)):
        _remember(kind, workspace, {row.provider for row in table.rows}, meant, actor)
    return report


@transaction.atomic
def mapping_forget(*, mapping: TableMapping, actor: str) -> None:
    """The next table of the hoster is read without it."""
    demand_owner(mapping.workspace, mapping)
    audit_record(
        actor=actor,
        action="table_mapping_forget",
        target=mapping,
        detail={"kind": mapping.kind, "provider": mapping.provider},
    )
    mapping.delete()


def _recall_mapping(
    kind: str, workspace: Workspace, text: bytes | str, options: Options, today: dt.date
) -> TableMapping | None:
    """Mapping of the last table of the hoster that this one is of; None where that is open."""
    known = list(mappings_of(workspace).filter(kind=kind))
    if stated := options.defaults.get("provider"):
        return next(
            (mapping for mapping in known if mapping.provider == provider_slug(stated)), None
        )
    if not known:
        return None
    try:
        lines = sheet(text, len).lines
    except RefusedTable:
        return None
    # Reading the table by each mapping takes long, so only hosters that are named in it are tried.
    cells = {cell.casefold() for _, line in lines for cell in line}
    named = [mapping for mapping in known if {mapping.provider, *_names(mapping)} & cells]
    # A word of one hoster may mean something else to another: all rows have to be of this one.
    fitting = [
        mapping
        for mapping in named
        if {
            provider_slug(row.provider)
            for row in TABLES[kind]
            .read(text, today=today, options=_merge_options(options, mapping))
            .rows
        }
        == {mapping.provider}
    ]
    return fitting[0] if len(fitting) == 1 else None


def _names(mapping: TableMapping) -> set[str]:
    return {str(name).casefold() for name in mapping.defaults.get("names", ())}


def _merge_options(options: Options, mapping: TableMapping) -> Options:
    """The remembered mapping with the new answers, which win."""
    kept = {name: mapping.defaults.get(name, "") for name in REMEMBERED}
    said = {name: value for name, value in options.defaults.items() if value}
    return Options({**kept, **said}, {**mapping.columns, **options.columns})


def _remember(
    kind: str, workspace: Workspace, names: Collection[str], options: Options, actor: str
) -> None:
    slugs = {provider_slug(name) for name in names}
    # A table of several hosters says nothing of how any one of them writes.
    if len(slugs) != 1:
        return
    said = {name: options.defaults.get(name, "") for name in REMEMBERED}
    stated = {"columns": dict(options.columns), "defaults": said | {"names": sorted(names)}}
    mapping, is_new = TableMapping.objects.get_or_create(
        workspace=workspace, kind=kind, provider=slugs.pop()[:50], defaults=stated
    )
    if not is_new and (mapping.columns, mapping.defaults) == tuple(stated.values()):
        return
    mapping.columns, mapping.defaults = stated["columns"], stated["defaults"]
    mapping.save()
    audit_record(
        actor=actor,
        action="table_mapping_remember",
        target=mapping,
        detail={"kind": kind, "provider": mapping.provider, **stated},
    )


def _words(mapping: TableMapping) -> str:
    said = [f"{name} {mapping.defaults[name]}" for name in REMEMBERED if mapping.defaults.get(name)]
    said += [f"{header} = {column}" for header, column in mapping.columns.items()]
    return f"read as the last table of {mapping.provider}: {', '.join(said)}"
