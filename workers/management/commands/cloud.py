"""Cloud accounts from a shell: whether machines could be rented, what they were billed with, and taking
over moved ones."""

import asyncio
import datetime as dt
import json
import re
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.accounts.models import CloudAccount
from backend.accounts.services.installation import installation_adopt
from backend.core import clock
from backend.foundation.errors import DriverError
from backend.providers.machines import Readiness
from backend.rentals.calc.rented_bills import match_machines
from backend.rentals.selectors.cloud_accounts import preflight_by_region
from backend.rentals.selectors.spending import month_ledger
from workers.remote.registry import bill
from workers.rentals.account_access import access_of, check

SIGNS = {Readiness.READY: "ok", Readiness.NOT_READY: "NOT", Readiness.UNKNOWN: "?"}


class Command(BaseCommand):
    help = (
        "check [NAME …]: ask each account's provider who we are and look its regions over, without "
        "renting anything; ends with an error when something is not ready. "
        "bill NAME: a month's ledger beside the provider's own bill, machine by machine. "
        "adopt: after this database was moved here, end the machines that were rented at its former site."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["check", "bill", "adopt"])
        parser.add_argument("names", nargs="*", metavar="NAME", help="of accounts; all without one")
        parser.add_argument(
            "--month", default="", help="of a bill, as 2026-11; this one without it"
        )
        parser.add_argument("--json", action="store_true", help="print the lines as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["action"] == "adopt":
            self.stdout.write(f"{installation_adopt()} former sites are taken over")
            return
        if options["action"] == "bill":
            months = _month(options["month"])
            bills = [_bill(account, *months) for account in _accounts(options["names"])]
            text = (
                json.dumps(bills, indent=2)
                if options["json"]
                else "\n".join(map(_report_text, bills))
            )
            self.stdout.write(text)
            return
        accounts = [_check(account) for account in _accounts(options["names"])]
        if options["json"]:
            self.stdout.write(json.dumps([_document(account) for account in accounts], indent=2))
        else:
            self.stdout.write("\n".join(line for account in accounts for line in _lines(account)))
        if any(_lacks_something(account) for account in accounts):
            raise CommandError("not everything is ready")


def _accounts(names: list[str]) -> list[CloudAccount]:
    accounts = CloudAccount.objects.filter(is_enabled=True).order_by("created_at")
    chosen = [account for account in accounts if not names or account.name in names]
    unknown = set(names) - {account.name for account in chosen}
    if unknown or not chosen:
        raise CommandError(f"no account that is on is named {', '.join(sorted(unknown)) or 'so'}")
    return chosen


def _month(text: str) -> tuple[dt.date, dt.date]:
    """Its first day and the first of the next one."""
    if text and not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", text):
        raise CommandError(f"--month: {text!r} is no month such as 2026-11")
    first = dt.date.fromisoformat(f"{text}-01") if text else clock.now().date().replace(day=1)
    # 31 days after the first of any month lie in the next one, whatever the length of both.
    return first, (first + dt.timedelta(days=31)).replace(day=1)


def _bill(account: CloudAccount, first: dt.date, end: dt.date) -> dict[str, Any]:
    """Ledger and bill of an account; amounts as decimal strings."""
    try:
        reader = bill(account.provider, access_of(account))
        if reader is None:
            raise CommandError(
                f"{account.name}: no bill of {account.provider} can be read; compare its export "
                "(manage.py import_bill) by hand"
            )
        billed = asyncio.run(reader.month(first, end))
    except DriverError as error:
        raise CommandError(f"{account.name}: {error}") from None
    machines = match_machines(month_ledger(account, first, end), billed)
    return {
        "account": account.name,
        "month": f"{first:%Y-%m}",
        "machines": [
            {
                "token": machine.token,
                "ledger": machine.ledger and f"{machine.ledger.amount:f} {machine.ledger.currency}",
                "bill": machine.bill and f"{machine.bill.amount:f} {machine.bill.currency}",
                "difference": None if machine.difference is None else f"{machine.difference:f}",
            }
            for machine in machines
        ],
    }


def _report_text(document: dict[str, Any]) -> str:
    machines = document["machines"]
    lines = [f"{document['account']}, {document['month']}: {len(machines)} machines"]
    for machine in machines:
        ledger = machine["ledger"] or "not in the ledger"
        billed = machine["bill"] or "not on the bill"
        difference = machine["difference"] or "two currencies"
        lines.append(f"  {machine['token']}  {ledger:>24}  {billed:>24}  {difference}")
    return "\n".join(lines)


def _check(account: CloudAccount) -> CloudAccount:
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
