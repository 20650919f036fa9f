"""Scenarios of a few steps, and what came of them."""

import datetime as dt
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from backend.foundation.errors import InvalidDocument
from backend.scenarios.calc.documents import scenario_from
from backend.scenarios.calc.model import Demand, ScenarioInput
from backend.scenarios.calc.results import OptionOutcome, option_members, outcome
from backend.scenarios.calc.service import unserved_units
from backend.scenarios.calc.simulate import simulate
from backend.scenarios.calc.steps import Steps
from tests.pure.scenarios.documents import Document, all_of, price, startup

JANUARY = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
CLOUD = all_of("cloud", price("1"))


def at(minute: float, start: dt.datetime = JANUARY) -> str:
    return (start + dt.timedelta(minutes=minute)).isoformat()


SHORT = "only the steps of its trace"


def steps(levels: list[float], option: Document = CLOUD, **given: Any) -> Document:
    """A demand of one level a step; `scenario_of` ends it with the last one."""
    step_s = given.pop("step_s", 60)
    start = given.pop("start", JANUARY)
    points = [[at(n * step_s / 60, start), level] for n, level in enumerate(levels)]
    days = -(-len(levels) * step_s // 86_400)
    return startup(
        option,
        **{
            "name": SHORT,
            "horizon": {"start": start.isoformat(), "days": days, "step_s": step_s},
            "demand": {"unit": "units", "kind": "trace", "points": points},
            **given,
        },
    )


def scenario_of(document: Document) -> ScenarioInput:
    found = scenario_from(document)
    if found.name != SHORT:
        return found
    count = len(document["demand"]["points"])
    values = found.demand.values[:count]
    length = Steps(found.steps.start_s, found.steps.step_s, count)
    return replace(found, steps=length, demand=Demand("units", values))


def ran(document: Document) -> OptionOutcome:
    scenario = scenario_of(document)
    return outcome(scenario, scenario.options[0])


def running(document: Document) -> list[int]:
    return list(ran(document).fleet.running.tolist())


def serving(document: Document) -> list[int]:
    return list(ran(document).fleet.serving.tolist())


def missing(document: Document) -> list[float]:
    scenario = scenario_of(document)
    fleet = outcome(scenario, scenario.options[0]).fleet
    found = unserved_units(scenario, fleet.serving, fleet.units_elastic, fleet.base_units)
    return list(found.tolist())


def demand(document: Document) -> list[float]:
    return list(scenario_from(document).demand.values.tolist())


def total(document: Document) -> Fraction:
    return ran(document).total


def first(document: Document) -> dict[str, Any]:
    """The first option of the result."""
    scenario = scenario_of(document)
    return option_members(scenario, outcome(scenario, scenario.options[0]))


def refused(document: Document) -> set[str]:
    with pytest.raises(InvalidDocument) as error:
        simulate(document)
    return {field for field, _ in error.value.errors}


def daily(start: str, windows: list[Document], base: float = 0, **given: Any) -> Document:
    asked = {"unit": "units", "kind": "daily", "base": base, "windows": windows, **given}
    horizon = {"start": start, "days": 1, "step_s": 1800}
    return startup(CLOUD, demand=asked, horizon=horizon)
