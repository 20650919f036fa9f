"""How long sessions and the audit trail are kept."""

import datetime as dt

from django.contrib.sessions.models import Session
from django.db import connection

from backend.accounts.models import AuditEntry
from backend.core.retention import Retention

FORGET = "accounts_audit_forget(timestamptz, integer)"


def _forget_entries(before: dt.datetime, size: int) -> int:
    # The only way: triggers refuse every other one, and the function keeps 90 days by itself.
    with connection.cursor() as cursor:
        # The application's own role may not (docs/security.md): then the owner of the tables does.
        cursor.execute("SELECT has_function_privilege(%s, 'EXECUTE')", [FORGET])
        if cursor.fetchone() == (False,):
            return 0
        cursor.execute("SELECT accounts_audit_forget(%s, %s)", [before, size])
        (gone,) = cursor.fetchone()
    return int(gone)


POLICIES = (
    Retention(
        "sessions",
        "RETAIN_SESSIONS_DAYS",
        lambda before: Session.objects.filter(expire_date__lt=before),
    ),
    Retention(
        "audit",
        "RETAIN_AUDIT_DAYS",
        lambda before: AuditEntry.objects.filter(at__lt=before),
        _forget_entries,
    ),
)
