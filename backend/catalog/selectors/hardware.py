"""Cost models of own hardware that a workspace may see."""

from django.db.models import Exists, OuterRef, QuerySet

from backend.accounts.models import Workspace
from backend.catalog.models import HardwareModel


def hardware_visible(
    workspace: Workspace, *, is_newest_only: bool = True
) -> QuerySet[HardwareModel]:
    """Hardware of the workspace by name, the newest version first."""
    rows = HardwareModel.objects.filter(workspace=workspace).select_related("offer", "price")
    if is_newest_only:
        later = HardwareModel.objects.filter(
            workspace=OuterRef("workspace"), name=OuterRef("name"), version__gt=OuterRef("version")
        )
        rows = rows.filter(~Exists(later))
    return rows.order_by("name", "-version")
