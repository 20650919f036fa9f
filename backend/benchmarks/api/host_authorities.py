"""The keys that sign those of hosts."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db.models import Count
from rest_framework.request import Request

from backend.accounts.services.acting import workspace_of
from backend.benchmarks.selectors.hosts import fingerprint, host_authorities
from backend.core.rest.parameters import boolean
from backend.core.rest.permissions import RUN
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import FilteredListView, ListAnswer


class HostAuthoritiesView(FilteredListView):
    """Authorities of the workspace and keys that are revoked, oldest first."""

    name = "host-authorities"
    orders = {"created_at": "created_at"}
    since = "created_at"
    # Patterns say how machines are called, which strangers need not know.
    scopes: ClassVar[Mapping[str, str]] = {"GET": RUN}
    lookups = {"is_revoked": ("is_revoked", boolean)}
    columns = (
        Column("id", ColumnType.TEXT, "Identifier"),
        Column("fingerprint_sha256", ColumnType.TEXT, "Fingerprint of the key"),
        Column("public_key", ColumnType.TEXT, "The key as in known_hosts"),
        Column("patterns", ColumnType.TEXT, "Names that it may sign for, as in known_hosts"),
        Column("is_revoked", ColumnType.BOOLEAN, "Whether it counts no more"),
        Column("host_count", ColumnType.INTEGER, "Hosts that are trusted by it"),
        Column("created_at", ColumnType.TIME, "When it was added"),
    )

    def listing(self, request: Request) -> ListAnswer:
        conditions, paging = self.asked(request)
        known = host_authorities(workspace_of(request)).filter(**conditions)
        known = known.annotate(host_count=Count("hosts")).order_by("created_at", "id")
        return ListAnswer(self.columns, known, known.count(), cells=_cells, **paging)


def _cells(authority: Any) -> dict[str, Any]:
    return {**vars(authority), "fingerprint_sha256": fingerprint(authority.public_key)}
