"""`manage.py retire OFFER`: an offer of one's own that can no longer be bought."""

import datetime as dt
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.management.workspaces import workspace_argument, workspace_option
from backend.accounts.services.workspaces import NotOwned
from backend.catalog.selectors.offers import offers_visible
from backend.catalog.services.offers import offer_update
from backend.core import clock
from backend.foundation.errors import InvalidValue


class Command(BaseCommand):
    help = "Mark an offer of one's own as discontinued; its prices and figures stay."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("offer", help="slug of the offer")
        when = parser.add_mutually_exclusive_group()
        when.add_argument("--on", type=dt.date.fromisoformat, metavar="DAY", help="default: today")
        when.add_argument("--undo", action="store_true", help="it can be bought again")
        workspace_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        workspace, slug = workspace_option(options), options["offer"]
        offer = offers_visible(workspace.slug).filter(slug=slug).first()
        if offer is None:
            raise CommandError(f"there is no offer {slug!r}")
        day = None if options["undo"] else options["on"] or clock.now().date()
        try:
            offer_update(
                workspace=workspace, offer=offer, changes={"discontinued_on": day}, actor="command"
            )
        except InvalidValue as error:
            raise CommandError(error.detail) from error
        except NotOwned as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{slug} is retired from {day}" if day else f"{slug} can be bought again")
