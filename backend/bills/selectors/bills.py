"""Bills that a workspace has, and files that wait to become one."""

from uuid import UUID

from django.db.models import QuerySet

from backend.accounts.models import Workspace
from backend.bills.models import Bill, BillUpload, UploadState


def bills_visible(workspace: Workspace) -> QuerySet[Bill]:
    """The newest first, without what they contain."""
    return Bill.objects.filter(workspace=workspace).defer("estate")


def bill_by_slug(workspace: Workspace, slug: str) -> Bill | None:
    """With what it contains."""
    bills = Bill.objects.select_related("workspace")
    return bills.filter(workspace=workspace, slug=slug).first()


def uploads_of(workspace: Workspace) -> QuerySet[BillUpload]:
    """All that were sent, the oldest first."""
    return BillUpload.objects.filter(workspace=workspace).select_related("bill")


def upload_by_id(workspace: Workspace, upload_id: UUID) -> BillUpload | None:
    return uploads_of(workspace).filter(pk=upload_id).first()


def uploads_waiting() -> QuerySet[BillUpload]:
    """Waiting uploads of all workspaces, with one that is being read."""
    return BillUpload.objects.filter(state=UploadState.QUEUED).select_related("workspace")
