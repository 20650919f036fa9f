"""People's answers about tables that they brought."""

from django.db import models

from backend.accounts.models import Workspace
from backend.core.models import Identified


class TableMapping(Identified):
    """How the last table of a hoster was meant, so that nobody has to say it again."""

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, related_name="table_mappings"
    )
    kind = models.CharField(max_length=10)
    """quotes, offers or prices."""
    provider = models.CharField(max_length=50)
    """Slug of the hoster."""
    columns = models.JSONField(default=dict)
    """Column by header; - for one that is not read."""
    defaults = models.JSONField(default=dict)
    """locale and currency."""
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("kind", "provider")
        constraints = [
            models.UniqueConstraint(
                fields=("workspace", "kind", "provider"), name="mapping_once_a_hoster"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.provider}"

    @property
    def owner(self) -> Workspace | None:
        """Who may write it (accounts.services.workspaces)."""
        return self.workspace
