"""`manage.py simulate FILE`: what each option of a scenario costs and what it leaves unserved."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.core.management.base import CommandParser

from backend.accounts.management.workspaces import workspace_argument, workspace_option
from backend.foundation import figures
from backend.scenarios.management.documents import DocumentCommand, table
from backend.scenarios.selectors.scenarios import simulate_document

HEAD = (
    "option",
    "cost",
    "a month",
    "unserved",
    "unserved min",
    "server-hours",
    "peak",
    "base",
    "5% to 95%",
)


class Command(DocumentCommand):
    help = "Calculate a scenario document (schema 1): the same numbers as the page and the API."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        workspace_argument(parser)

    def answer(self, document: Any, options: dict[str, Any]) -> dict[str, Any]:
        return simulate_document(document, workspace_slug=workspace_option(options).slug).result

    def lines(self, answer: Mapping[str, Any]) -> list[str]:
        demand = answer["demand"]
        lines = [
            f"demand: peak {figures.figure(demand['peak'])}, mean {figures.figure(demand['mean'])}",
            "",
        ]
        lines += table(HEAD, [_row(option) for option in answer["options"]])
        for meeting in answer["break_even"]:
            names = f"{meeting['option_a']} = {meeting['option_b']}"
            at = meeting["reason"] or f"at {meeting['value']} {meeting['unit']}"
            lines.append(f"equal: {names} {at} ({meeting['parameter']})")
        lines += [
            f"assumed: {assumption['name']} = {assumption['value']} {assumption['unit']} ({assumption['source']})"
            for assumption in answer["assumptions"]
        ]
        return [*lines, f"input {answer['input_sha256']}, data version {answer['data_version']}"]


def _row(option: Mapping[str, Any]) -> tuple[str, ...]:
    interval, base = option["interval"], option["base_servers"]
    return (
        option["name"],
        figures.money(Decimal(option["cost_total"])),
        figures.money(Decimal(option["cost_per_month"])),
        figures.percent(option["unserved_share"], 2),
        figures.figure(option["unserved_minutes"]),
        figures.figure(option["server_hours"]),
        str(option["peak_servers"]),
        "" if base is None else str(base),
        " to ".join(figures.money(Decimal(interval[end])) for end in ("p5", "p95"))
        if interval
        else "",
    )
