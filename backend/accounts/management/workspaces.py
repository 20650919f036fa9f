"""The option of every command that writes or reads objects of a workspace."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from backend.accounts.models import Workspace
from backend.accounts.services.workspaces import DEFAULT_WORKSPACE, workspace_named
from backend.foundation.errors import InvalidValue


def workspace_argument(parser: CommandParser) -> None:
    """`--workspace SLUG`, the first one where it is left out."""
    parser.add_argument(
        "--workspace",
        default=DEFAULT_WORKSPACE,
        metavar="SLUG",
        help=f"whose objects (default: {DEFAULT_WORKSPACE})",
    )


def workspace_option(options: dict[str, Any]) -> Workspace:
    """The workspace that was named; raises CommandError where there is none."""
    try:
        return workspace_named(options["workspace"])
    except InvalidValue as error:
        raise CommandError(error.detail) from None
