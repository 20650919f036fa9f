"""A scenario document in, its result document out."""

from typing import Any

from backend.domain.scenarios.documents import scenario_from
from backend.domain.scenarios.results import outcome, told


def simulate(document: object) -> dict[str, Any]:
    """The result of a scenario document; InvalidDocument names every field that is wrong."""
    scenario = scenario_from(document)
    return told(scenario, [outcome(scenario, option) for option in scenario.options])
