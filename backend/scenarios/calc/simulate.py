"""A scenario document in, its result document out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from backend.scenarios.calc.alone import OptionAlone, alone_from, document_json
from backend.scenarios.calc.break_even import Meeting, meetings, payments_by_part
from backend.scenarios.calc.contracts import contract_result
from backend.scenarios.calc.documents import scenario_from
from backend.scenarios.calc.model import Option, ScenarioInput, unlimited
from backend.scenarios.calc.results import money, option_members, outcome, result_document
from backend.scenarios.calc.tornado import bars, inputs_with_spread
from backend.scenarios.calc.uncertainty import factors, spread, uncertainty_members


def simulate(document: object, check: Callable[[], None] = unlimited) -> dict[str, Any]:
    """The result of a scenario document; InvalidDocument names every field that is wrong.

    What `check` raises ends it; it is called between its parts.
    """
    scenario = scenario_from(document, check)
    return _comparison(scenario, list(_alone(scenario, scenario.options)))


def options_written(
    document: object, first: int, count: int, check: Callable[[], None] = unlimited
) -> list[dict[str, Any]]:
    """So many options from the first one on, each by itself; `compared` makes the result of all."""
    scenario = scenario_from(document, check)
    return [
        document_json(result)
        for result in _alone(scenario, scenario.options[first : first + count])
    ]


def compared(
    document: object, options: Sequence[dict[str, Any]], check: Callable[[], None] = unlimited
) -> dict[str, Any]:
    """The result of a document whose options were calculated elsewhere; that of `simulate`."""
    scenario = scenario_from(document, check)
    alone = [alone_from(*pair) for pair in zip(scenario.options, options, strict=True)]
    return _comparison(scenario, alone)


def _alone(scenario: ScenarioInput, options: Sequence[Option]) -> Iterator[OptionAlone]:
    drawn = factors(scenario, scenario.uncertainty) if scenario.uncertainty else None
    inputs = inputs_with_spread(scenario)
    for option in options:
        result = outcome(scenario, option)
        yield OptionAlone(
            option,
            {**option_members(scenario, result), "contract": contract_result(scenario, result)},
            result.total,
            result.service.share,
            payments_by_part(scenario, result),
            None if drawn is None else spread(scenario, result, drawn),
            tuple(spread(scenario, result, moved.factors) for moved in inputs),
        )


def _comparison(scenario: ScenarioInput, alone: list[OptionAlone]) -> dict[str, Any]:
    result = result_document(scenario, [dict(item.members) for item in alone])
    if scenario.uncertainty:
        spreads = [result.drawn for result in alone if result.drawn is not None]
        shares = [result.unserved_share for result in alone]
        by_option = uncertainty_members(scenario, scenario.uncertainty, spreads, shares)
        for members, more, spread in zip(result["options"], by_option, spreads, strict=True):
            members.update(more)
            if spread.cost_error_ratio:
                note = _interpolation_notes(members["name"], spread.cost_error_ratio)
                result["assumptions"].append(note)
    result["break_even"] = [_meeting(meeting) for meeting in meetings(scenario, alone)]
    result["tornado"] = [asdict(bar) for bar in bars(scenario, alone)]
    return result


def _interpolation_notes(option: str, error_ratio: float) -> dict[str, str]:
    source = "demand has very many levels: costs of the draws are interpolated, off by at most this"
    name = f"interpolation, {option}"
    return {"name": name, "value": f"{error_ratio:.2g}", "unit": "ratio", "source": source}


def _meeting(meeting: Meeting) -> dict[str, Any]:
    # vars and not asdict, which copies each exact value: there are some for every pair of options.
    return {**vars(meeting), "value": None if meeting.value is None else money(meeting.value)}
