"""Workspaces: the first one, made on first use, and which of them may write a row."""

from typing import Protocol

from django.core.exceptions import PermissionDenied

from backend.accounts.models import User, Workspace
from backend.foundation.errors import InvalidValue

DEFAULT_WORKSPACE = "default"


class Owned(Protocol):
    """A row that belongs to a workspace, or to nobody and is shared."""

    @property
    def owner(self) -> Workspace | None:
        """None for what every workspace sees."""
        ...


class NotOwned(PermissionDenied):
    """The row is shared with this workspace and written by another one (403)."""


def default_workspace() -> Workspace:
    """The one workspace there is until there are more; made on first use."""
    return Workspace.objects.get_or_create(slug=DEFAULT_WORKSPACE, defaults={"name": "Default"})[0]


def home_workspace(user: User) -> Workspace:
    """The workspace whose audit trail tells of a person."""
    return user.membership.workspace if user.membership else default_workspace()


def workspace_named(slug: str) -> Workspace:
    """The workspace of this slug; raises InvalidValue where there is none."""
    if slug == DEFAULT_WORKSPACE:
        return default_workspace()
    workspace = Workspace.objects.filter(slug=slug).first()
    if workspace is None:
        raise InvalidValue("/workspace", f"no workspace is called {slug!r}")
    return workspace


def owner_of(row: Owned | None) -> Workspace:
    """The workspace that writes it: what all share, also before there is a row of it, is written by
    the default one."""
    return (row and row.owner) or default_workspace()


def may_write(workspace: Workspace, row: Owned | None) -> bool:
    """True if this workspace may write this row: its owner may, and nobody else."""
    return owner_of(row).pk == workspace.pk


def demand_owner(workspace: Workspace, row: Owned | None) -> None:
    """Raises NotOwned for a workspace that only sees the row."""
    if not may_write(workspace, row):
        raise NotOwned(
            f"{row or 'it'} is shared; only the workspace {owner_of(row).name} changes it or adds to it"
        )
