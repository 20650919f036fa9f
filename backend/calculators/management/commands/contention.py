"""`manage.py contention FILE`: how flows share links."""

from collections.abc import Mapping
from typing import Any

from backend.calculators.calc.links import ContentionDocument, shares
from backend.foundation import figures
from backend.scenarios.management.documents import DocumentCommand, table


class Command(DocumentCommand):
    help = "Max-min fair shares of links among flows (schema 1): the same numbers as the API."

    def answer(self, document: Any, _: dict[str, Any]) -> dict[str, Any]:
        return shares(ContentionDocument.read(document)).model_dump()

    def lines(self, answer: Mapping[str, Any]) -> list[str]:
        flows = [
            (
                flow["name"],
                figures.measure(flow["rate_bytes_per_s"], "bytes/s"),
                flow["bottleneck"] or "its own demand",
                "" if flow["transfer_s"] is None else f"{figures.figure(flow['transfer_s'])} s",
            )
            for flow in answer["flows"]
        ]
        links = [
            (
                link["name"],
                figures.measure(link["used_bytes_per_s"], "bytes/s"),
                figures.percent(link["utilisation"]),
            )
            for link in answer["links"]
        ]
        return [
            *table(("flow", "each", "limited by", "transfer"), flows),
            "",
            *table(("link", "used", "use"), links),
        ]
