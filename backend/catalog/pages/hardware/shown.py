"""A cost model as its page and its report show it."""

from dataclasses import fields
from typing import Any

from backend.catalog.calc.hardware import CostBreakdown
from backend.catalog.calc.hardware_assumptions import ASSUMPTIONS, HardwareAssumption
from backend.catalog.calc.hardware_document import names_that_differ
from backend.catalog.models import HardwareModel


def cost_rows(cost: dict[str, Any]) -> dict[str, Any]:
    """The stored cost with its parts as rows: name, of one server, of the set."""
    server_cost, whole = cost["breakdown"], cost["set_breakdown"]
    # In the order of a stack, which the database does not keep.
    names = (part.name for part in fields(CostBreakdown))
    # Costs that were stored before a part was known have none of it.
    parts = [
        (name.replace("_", " "), server_cost[name], whole[name])
        for name in names
        if name in server_cost
    ]
    return {**cost, "parts": parts}


def assumption_rows(model: HardwareModel) -> list[tuple[str, bool, HardwareAssumption]]:
    """(value, whether it is the default, the assumption) of each assumption."""
    stated = names_that_differ(model.document)
    return [
        (value, name not in stated, assumption)
        for name, assumption in ASSUMPTIONS.items()
        if (value := model.document.get(name)) is not None
    ]
