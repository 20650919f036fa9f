"""The audit trail as a list, for admins."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework.request import Request

from backend.accounts.models import AuditEntry
from backend.accounts.selectors.audit import audit_entries, audit_narrowed
from backend.accounts.services.acting import workspace_of
from backend.core.rest.parameters import Reader, day, text
from backend.core.rest.permissions import ADMIN
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import ListAnswer, ListView

AUDIT_COLUMNS = (
    Column("at", ColumnType.TIME, "When it was done"),
    Column("actor", ColumnType.TEXT, "User name, token and its name, or the part of Rackrate"),
    Column("action", ColumnType.TEXT, "What was done, such as run_create, login or export"),
    Column("object_type", ColumnType.TEXT, "Kind of the object"),
    Column("object_id", ColumnType.TEXT, "Its identifier"),
    Column("detail", ColumnType.TEXT, "JSON: what belongs to the action"),
    Column("before", ColumnType.TEXT, "JSON: fields that were changed, as they were"),
    Column("after", ColumnType.TEXT, "JSON: the same as they are since then"),
    Column("address", ColumnType.TEXT, "Where the request came from; empty for workers"),
    Column("request_id", ColumnType.TEXT, "X-Request-ID of the answer, as in the log"),
)
READERS: Mapping[str, Reader] = {
    "actor": text,
    "action": text,
    "about": text,
    "since": day,
    "until": day,
}


class AuditView(ListView):
    """Who did what to which object, newest first."""

    name = "audit"
    columns = AUDIT_COLUMNS
    orders = {"at": "at"}
    scopes: ClassVar[Mapping[str, str]] = {"GET": ADMIN}

    def parameter_readers(self) -> Mapping[str, Reader]:
        return {**READERS, **super().parameter_readers()}

    def parameter_descriptions(self) -> Mapping[str, str]:
        return {
            "actor": "Part of the name of who did it",
            "action": "",
            "about": "Part of the object's identifier or kind",
            "since": "First day (UTC)",
            "until": "Last day (UTC)",
            "sort": "",
        }

    def listing(self, request: Request) -> ListAnswer:
        values, shown = self.parameters(request)
        narrowed = {name: values[name] for name in READERS if name in values}
        entries = audit_narrowed(audit_entries(workspace_of(request)), **narrowed)
        return ListAnswer(AUDIT_COLUMNS, entries, entries.count(), _cells, **shown)


def _cells(entry: AuditEntry) -> Mapping[str, Any]:
    documents = {
        name: json.dumps(getattr(entry, name), sort_keys=True)
        for name in ("detail", "before", "after")
    }
    return {**vars(entry), **documents}
