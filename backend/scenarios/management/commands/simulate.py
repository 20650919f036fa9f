"""`manage.py simulate FILE`: what each option of a scenario costs and what it leaves unserved."""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from backend.accounts.management.workspaces import workspace_argument, workspace_option
from backend.scenarios.management.documents import DocumentCommand, table
from backend.scenarios.selectors.scenarios import simulated

HEAD = (
    "option",
    "cost",
    "a month",
    "unserved",
    "unserved min",
    "server-hours",
    "peak",
    "base",
    "5 % to 95 %",
)


class Command(DocumentCommand):
    help = "Calculate a scenario document (schema 1): the same numbers as the page and the API."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        workspace_argument(parser)

    def answer(self, document: Any, options: dict[str, Any]) -> dict[str, Any]:
        return simulated(document, workspace_slug=workspace_option(options).slug).result

    def lines(self, answer: Mapping[str, Any]) -> list[str]:
        demand = answer["demand"]
        lines = [f"demand: peak {demand['peak']:g}, mean {demand['mean']:g}", ""]
        lines += table(HEAD, [_row(option) for option in answer["options"]])
        for one in answer["break_even"]:
            names = f"{one['option_a']} = {one['option_b']}"
            at = one["reason"] or f"at {one['value']} {one['unit']}"
            lines.append(f"equal: {names} {at} ({one['parameter']})")
        lines += [
            f"assumed: {one['name']} = {one['value']} {one['unit']} ({one['source']})"
            for one in answer["assumptions"]
        ]
        return [*lines, f"input {answer['input_sha256']}, data version {answer['data_version']}"]


def _row(option: Mapping[str, Any]) -> tuple[str, ...]:
    interval, base = option["interval"], option["base_servers"]
    return (
        option["name"],
        option["cost_total"],
        option["cost_per_month"],
        f"{option['unserved_share']:.4%}",
        f"{option['unserved_minutes']:g}",
        f"{option['server_hours']:g}",
        str(option["peak_servers"]),
        "" if base is None else str(base),
        f"{interval['p5']} to {interval['p95']}" if interval else "",
    )
