"""`manage.py contention FILE`: how flows share links."""

from collections.abc import Mapping
from typing import Any

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
                f"{one['rate_bytes_per_s']:.10g}",
                one["bottleneck"] or "its own demand",
                "" if one["transfer_s"] is None else f"{one['transfer_s']:.6g}",
            )
            for one in answer["flows"]
        ]
        links = [
            (one["name"], f"{one['used_bytes_per_s']:.10g}", f"{one['utilisation']:.2%}")
            for one in answer["links"]
        ]
        return [
            *table(("flow", "bytes/s each", "limited by", "transfer s"), flows),
            "",
            *table(("link", "bytes/s used", "use"), links),
        ]
