"""The lock under which a workspace's queued runs are looked at."""

from uuid import UUID

from backend.accounts.models import Workspace


def schedule_lock(*, workspace_id: UUID) -> None:
    """Until the end of the transaction nobody else makes, ends or cancels runs of the workspace.

    Which runs may begin depends on all of them, so those changes come one after the other. It
    is taken before any row of a run, by everybody: then nobody waits in a circle.
    """
    Workspace.objects.select_for_update(no_key=True).get(pk=workspace_id)
