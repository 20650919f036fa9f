"""`manage.py workspace create|list|invite`: workspaces and the links that let people join them."""

import json
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.urls import reverse

from backend.accounts.models import ROLES, User, Workspace
from backend.accounts.services.members import invitation_create, workspace_create
from backend.accounts.services.workspaces import DEFAULT_WORKSPACE, workspace_named
from backend.foundation.errors import DomainError

ACTOR = "command"


class Command(BaseCommand):
    help = "Make a workspace, print a link that lets somebody join one, or list them."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="make a workspace")
        create.add_argument("slug")
        create.add_argument("--name", help="the slug where it is left out")
        create.add_argument("--admin", metavar="PERSON", help="who manages it")
        invite = actions.add_parser("invite", help="print a link that lets one person join")
        invite.add_argument("slug", nargs="?", default=DEFAULT_WORKSPACE)
        invite.add_argument("--role", choices=ROLES, default="viewer")
        invite.add_argument("--note", default="", help="for whom")
        listed = actions.add_parser("list", help="every workspace with its number of members")
        for action in (create, invite, listed):
            action.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            actions = {"create": self._create, "invite": self._invite, "list": self._list}
            answer = actions[options["action"]](options)
        except DomainError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(json.dumps(answer["document"]) if options["json"] else answer["words"])

    def _create(self, options: dict[str, Any]) -> dict[str, Any]:
        admin = None
        if options["admin"] is not None:
            admin = User.objects.filter(username=options["admin"]).first()
            if admin is None:
                raise CommandError(f"nobody is called {options['admin']!r}")
        name = options["name"] or options["slug"]
        made = workspace_create(slug=options["slug"], name=name, admin=admin, actor=ACTOR)
        return {"document": {"slug": made.slug, "name": made.name}, "words": made.slug}

    def _invite(self, options: dict[str, Any]) -> dict[str, Any]:
        workspace = workspace_named(options["slug"])
        invitation, secret = invitation_create(
            workspace=workspace, scope=ROLES[options["role"]], note=options["note"], actor=ACTOR
        )
        url = settings.PUBLIC_URL.rstrip("/") + reverse("invitation", args=[secret])
        ends = invitation.expires_at
        document = {"url": url, "workspace": workspace.slug, "role": options["role"]}
        return {
            "document": document | {"expires_at": ends.isoformat()},
            "words": f"one person joins {workspace.slug} as {options['role']}, "
            f"until {ends:%Y-%m-%d %H:%M} UTC, at\n  {url}",
        }

    def _list(self, options: dict[str, Any]) -> dict[str, Any]:
        rows = [
            {
                "slug": workspace.slug,
                "name": workspace.name,
                "members": workspace.memberships.count(),
            }
            for workspace in Workspace.objects.order_by("slug")
        ]
        lines = [f"{row['slug']}: {row['name']}, {row['members']} members" for row in rows]
        return {"document": {"workspaces": rows}, "words": "\n".join(lines)}
