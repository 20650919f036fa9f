"""A scenario document in, its result document out."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from backend.domain.scenarios.break_even import Meeting, meetings
from backend.domain.scenarios.contracts import contract_result
from backend.domain.scenarios.documents import scenario_from
from backend.domain.scenarios.model import unlimited
from backend.domain.scenarios.results import money, outcome, result_document
from backend.domain.scenarios.tornado import Bar, bars
from backend.domain.scenarios.uncertainty import uncertainty_members


def simulate(document: object, check: Callable[[], None] = unlimited) -> dict[str, Any]:
    """The result of a scenario document; InvalidDocument names every field that is wrong.

    What `check` raises ends it; it is called between its parts.
    """
    scenario = scenario_from(document, check)
    outcomes = [outcome(scenario, option) for option in scenario.options]
    result = result_document(scenario, outcomes)
    for members, one, (more, error) in zip(
        result["options"], outcomes, uncertainty_members(scenario, outcomes), strict=True
    ):
        members.update(more)
        members["contract"] = contract_result(scenario, one)
        if error:
            result["assumptions"].append(_interpolated(one.option.name, error))
    result["break_even"] = [_meeting(one) for one in meetings(scenario, outcomes)]
    result["tornado"] = [_bar(one) for one in bars(scenario, outcomes)]
    return result


def _interpolated(option: str, error_ratio: float) -> dict[str, str]:
    source = "demand has very many levels: costs of the draws are interpolated, off by at most this"
    name = f"interpolation, {option}"
    return {"name": name, "value": f"{error_ratio:.2g}", "unit": "ratio", "source": source}


def _meeting(one: Meeting) -> dict[str, Any]:
    return asdict(one) | {"value": None if one.value is None else money(one.value)}


def _bar(one: Bar) -> dict[str, Any]:
    return asdict(one)
