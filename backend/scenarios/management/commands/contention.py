"""`manage.py contention FILE`: how flows share links."""

from collections.abc import Mapping
from typing import Any

from backend.domain import figures
from backend.domain.contention_document import contention
from backend.scenarios.management.documents import DocumentCommand, table


class Command(DocumentCommand):
    help = "Max-min fair shares of links among flows (schema 1): the same numbers as the API."

    def answer(self, document: Any, _: dict[str, Any]) -> dict[str, Any]:
        return contention(document)

    def lines(self, answer: Mapping[str, Any]) -> list[str]:
        flows = [
            (
                one["name"],
                figures.measure(one["rate_bytes_per_s"], "bytes/s"),
                one["bottleneck"] or "its own demand",
                "" if one["transfer_s"] is None else f"{figures.figure(one['transfer_s'])} s",
            )
            for one in answer["flows"]
        ]
        links = [
            (
                one["name"],
                figures.measure(one["used_bytes_per_s"], "bytes/s"),
                figures.percent(one["utilisation"]),
            )
            for one in answer["links"]
        ]
        return [
            *table(("flow", "each", "limited by", "transfer"), flows),
            "",
            *table(("link", "used", "use"), links),
        ]
