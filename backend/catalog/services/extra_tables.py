"""Prices of extras that a person states in a table. Good lines are stored and bad ones told."""

import datetime as dt

from django.db import transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.accounts.services.workspaces import demand_owner
from backend.catalog.calc.tables.extras import ExtraRow, extras
from backend.catalog.calc.tables.tables import Options, Remark
from backend.catalog.models import ExtraPrice, Provider, Region
from backend.catalog.services.data_version import data_version_bump
from backend.catalog.services.extras import extra_record
from backend.catalog.services.table_rows import TableReport, provider_slug
from backend.core import clock
from backend.foundation.errors import InvalidValue
from backend.money.pricing.extras import tiers_document


@transaction.atomic
def extras_import(
    *,
    workspace: Workspace,
    text: bytes | str,
    actor: str,
    options: Options | None = None,
    is_dry: bool = False,
    today: dt.date | None = None,
) -> TableReport:
    """Store the prices of a CSV table (catalog.calc.tables.extras) for everybody.

    Another price of a stored day is refused, never overwritten. A dry run stores nothing. Raises
    NotOwned for a workspace that only sees them.
    """
    demand_owner(workspace, None)
    table = extras(text, today=today or clock.now().date(), options=options)
    report = TableReport(is_dry, table.total, warnings=list(table.warnings))
    report.refused = list(table.refused)
    for row in table.rows:
        _store(row, report)
    report.refused.sort(key=lambda remark: remark.line)
    if report.prices_new:
        data_version_bump()
        audit_record(
            actor=actor,
            action="extras_import",
            target=workspace,
            detail={"prices_new": report.prices_new, "refused": len(report.refused)},
        )
    # All is written and then taken back, so that a dry run also meets what only the database
    # refuses.
    if is_dry:
        transaction.set_rollback(True)
    return report


def extras_load(text: bytes, *, today: dt.date) -> int:
    """Record the prices of a table that comes with the program, where their regions are known; how
    many are new. Raises InvalidValue for a line that is refused."""
    table = extras(text, today=today)
    if table.refused:
        raise InvalidValue("extras", str(table.refused[0]))
    regions = {
        (row.provider.slug, row.code): row for row in Region.objects.select_related("provider")
    }
    return sum(
        extra_record(
            provider=region.provider,
            region=region,
            kind=row.kind,
            tiers=row.tiers,
            currency=row.currency,
            observed_on=row.observed_on,
            source=row.source,
        )
        for row in table.rows
        if (region := regions.get((row.provider, row.region))) is not None
    )


def _store(row: ExtraRow, report: TableReport) -> None:
    provider = Provider.objects.filter(slug=provider_slug(row.provider)).first()
    region = Region.objects.filter(provider=provider, code=row.region).first()
    if provider is None:
        report.refused.append(Remark(row.line, "provider", f"{row.provider!r} is not known"))
        return
    if row.region and region is None:
        detail = f"{provider.slug} has no region {row.region!r}"
        report.refused.append(Remark(row.line, "region", detail))
        return
    stored = ExtraPrice.objects.filter(
        provider=provider, region=region, kind=row.kind, observed_on=row.observed_on
    ).first()
    terms = (tiers_document(row.tiers), row.currency)
    if stored is not None and (stored.tiers, stored.currency) != terms:
        detail = f"another price of {row.observed_on} is stored"
        report.refused.append(Remark(row.line, "", detail))
        return
    is_new = extra_record(
        provider=provider,
        region=region,
        kind=row.kind,
        tiers=row.tiers,
        currency=row.currency,
        observed_on=row.observed_on,
        source=row.source,
    )
    report.prices_new += is_new
    report.prices_unchanged += not is_new
