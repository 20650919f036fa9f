"""Writes of bills: keep what one contains, and remove it."""

from django.db import IntegrityError, transaction

from backend.accounts.services.audit import audit_record
from backend.bills.models import Bill
from backend.core.slugs import free_slug, slug_base
from backend.foundation.errors import InvalidValue
from backend.foundation.reading.texts import why_not_kept

MOST_NAME = 100
RESERVED = frozenset({"state"})


def bill_name(name: str) -> str:
    """The name as it is kept; InvalidValue for one that cannot be."""
    if not name.strip() or len(name.strip()) > MOST_NAME or why_not_kept(name):
        raise InvalidValue("/name", f"1 to {MOST_NAME} characters are needed")
    return name.strip()


@transaction.atomic
def bill_store(*, bill: Bill) -> Bill:
    """Keep what a bill contains under a slug of its name.

    InvalidValue where the same files were imported before.
    """
    workspace = bill.workspace
    known = Bill.objects.filter(workspace=workspace, sha256=bill.sha256).first()
    if known is not None:
        raise InvalidValue("/file", f"it was imported as {known.name!r} ({known.slug})")
    base = slug_base(bill.name, "bill")
    taken = Bill.objects.filter(workspace=workspace, slug__startswith=base)
    bill.slug = free_slug(base, RESERVED | set(taken.values_list("slug", flat=True)))
    try:
        # A savepoint: after an error PostgreSQL takes no more statements in a transaction.
        with transaction.atomic():
            bill.save(force_insert=True)
    except IntegrityError:
        raise InvalidValue("/name", f"{bill.slug!r} was taken just now; try again") from None
    _record(bill, bill.created_by, "bill_import")
    return bill


@transaction.atomic
def bill_delete(*, bill: Bill, actor: str) -> None:
    """Take a bill away; the audit trail keeps that it was."""
    _record(bill, actor, "bill_delete")
    bill.delete()


def _record(bill: Bill, actor: str, action: str) -> None:
    detail = {"slug": bill.slug, "name": bill.name, "lines": bill.line_count}
    audit_record(actor=actor, action=action, target=bill, detail=detail)
