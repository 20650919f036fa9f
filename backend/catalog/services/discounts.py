"""Writes of contract discounts, each with its entry in the audit trail."""

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.db import transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.accounts.services.workspaces import demand_owner
from backend.catalog.models import ContractDiscount, Provider
from backend.catalog.services.data_version import data_version_bump
from backend.foundation.errors import InvalidValue


@transaction.atomic
def discount_create(
    *,
    workspace: Workspace,
    provider: str,
    service: str,
    percent: Decimal,
    valid_from: dt.date | None = None,
    valid_until: dt.date | None = None,
    actor: str,
) -> ContractDiscount:
    """Store a discount. Raises InvalidValue for an unknown provider, and as _check does."""
    known = Provider.objects.filter(slug=provider).first()
    if known is None:
        raise InvalidValue("/provider", f"no provider is called {provider!r}")
    row = ContractDiscount(
        workspace=workspace,
        provider=known,
        service=service,
        percent=percent,
        valid_from=valid_from,
        valid_until=valid_until,
    )
    _check(row)
    row.save()
    _record(row, "discount_create", actor)
    return row


@transaction.atomic
def discount_change(
    *, workspace: Workspace, discount: ContractDiscount, changes: Mapping[str, Any], actor: str
) -> ContractDiscount:
    """Change percent, service or days. Raises InvalidValue as _check does."""
    demand_owner(workspace, discount)
    for name, value in changes.items():
        setattr(discount, name, value)
    _check(discount)
    discount.save()
    _record(discount, "discount_change", actor)
    return discount


@transaction.atomic
def discount_delete(*, workspace: Workspace, discount: ContractDiscount, actor: str) -> None:
    """Forget a discount: list prices count again."""
    demand_owner(workspace, discount)
    # First, as a row that is deleted has no key any more that the record could name.
    _record(discount, "discount_delete", actor)
    discount.delete()


def _check(row: ContractDiscount) -> None:
    """Raises InvalidValue for a percentage or days that cannot be, and for a second row of one
    service on the same day."""
    if not 0 < row.percent < 100:
        raise InvalidValue("/percent", f"{row.percent} is not above 0 and below 100")
    first, last = row.valid_from or dt.date.min, row.valid_until or dt.date.max
    if last < first:
        raise InvalidValue("/until", f"{last} is before the first day, {first}")
    # Two changes at once must not both find the days free.
    Workspace.objects.select_for_update(no_key=True).get(pk=row.workspace_id)
    others = ContractDiscount.objects.filter(
        workspace=row.workspace, provider=row.provider, service=row.service
    ).exclude(pk=row.pk)
    for other in others:
        if first <= (other.valid_until or dt.date.max) and last >= (
            other.valid_from or dt.date.min
        ):
            detail = f"a discount of {other.percent:f} % on {row.service} holds then already"
            raise InvalidValue("/from", detail)


def _record(row: ContractDiscount, action: str, actor: str) -> None:
    # Rankings under the contract are other ones now.
    data_version_bump()
    audit_record(
        actor=actor,
        action=action,
        target=row,
        detail={
            "name": f"{row.provider.slug} {row.service}",
            "percent": format(row.percent, "f"),
            "from": row.valid_from and row.valid_from.isoformat(),
            "until": row.valid_until and row.valid_until.isoformat(),
        },
    )
