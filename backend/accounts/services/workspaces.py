"""Workspaces, made on first use."""

from backend.accounts.models import Workspace

DEFAULT_WORKSPACE = "default"


def default_workspace() -> Workspace:
    """The one workspace there is until there are more; made on first use."""
    return Workspace.objects.get_or_create(slug=DEFAULT_WORKSPACE, defaults={"name": "Default"})[0]
