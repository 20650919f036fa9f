"""Cloud accounts from a shell: whether machines could be rented, and taking over moved ones."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.models import CloudAccount
from backend.accounts.services.installation import installation_adopt
from backend.providers.machines import Readiness
from backend.rentals.selectors.cloud_accounts import preflight_by_region
from workers.rentals.account_access import check

SIGNS = {Readiness.READY: "ok", Readiness.NOT_READY: "NOT", Readiness.UNKNOWN: "?"}


class Command(BaseCommand):
    help = (
        "check [NAME …]: ask each account's provider who we are and look its regions over, without "
        "renting anything; ends with an error when something is not ready. "
        "adopt: after this database was moved here, end the machines that were rented at its former site."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["check", "adopt"])
        parser.add_argument("names", nargs="*", metavar="NAME", help="of accounts; all without one")
        parser.add_argument("--json", action="store_true", help="print the lines as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["action"] == "adopt":
            self.stdout.write(f"{installation_adopt()} former sites are taken over")
            return
        accounts = [_checked(account) for account in _accounts(options["names"])]
        if options["json"]:
            self.stdout.write(json.dumps([_document(account) for account in accounts], indent=2))
        else:
            self.stdout.write("\n".join(line for one in accounts for line in _lines(one)))
        if any(_lacks_something(account) for account in accounts):
            raise CommandError("not everything is ready")


def _accounts(names: list[str]) -> list[CloudAccount]:
    accounts = CloudAccount.objects.filter(is_enabled=True).order_by("created_at")
    chosen = [account for account in accounts if not names or account.name in names]
    unknown = set(names) - {account.name for account in chosen}
    if unknown or not chosen:
        raise CommandError(f"no account that is on is named {', '.join(sorted(unknown)) or 'so'}")
    return chosen


def _checked(account: CloudAccount) -> CloudAccount:
    check(str(account.pk))
    account.refresh_from_db()
    return account


def _lacks_something(account: CloudAccount) -> bool:
    # Unknown is no fault: some providers say nothing of a launch before it is asked for.
    states = {line["state"] for line in account.preflight}
    return bool(account.check_error) or Readiness.NOT_READY in states


def _document(account: CloudAccount) -> dict[str, Any]:
    return {
        "account": account.name,
        "identity": account.identity,
        "error": account.check_error,
        "preflight": account.preflight,
    }


def _lines(account: CloudAccount) -> list[str]:
    lines = [f"{account.name} ({account.provider}): {account.check_error or account.identity}"]
    for region, looked_at in preflight_by_region(account).items():
        lines.append(f"  {region}")
        for line in looked_at:
            sign = SIGNS[Readiness(line["state"])]
            lines.append(f"    {sign:<4}{line['topic']:<14}{line['detail']}")
            lines += [f"{'':22}{line['advice']}"] if line["advice"] else []
    return lines
