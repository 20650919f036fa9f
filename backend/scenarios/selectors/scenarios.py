"""Reads of scenarios, and what their documents come to."""

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from threading import Lock
from typing import Any

from django.db.models import QuerySet

from backend.accounts.models import Scope, Workspace
from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.core import clock
from backend.core.work import calculation, most_steps
from backend.scenarios.calc.cost_curves import CostCurve, cost_curves
from backend.scenarios.calc.results import input_sha256
from backend.scenarios.calc.series import MOST_POINTS, series
from backend.scenarios.calc.simulate import simulate
from backend.scenarios.calc.work import (
    ADVICE,
    MOST_MAP_WORK,
    MOST_WORK,
    check_curve_work,
    check_work,
    coarsen,
)
from backend.scenarios.models import Scenario
from backend.scenarios.selectors.resolving import resolve

# Results that a process keeps; each has some 10 to 100 kB.
MOST_STORED = 64


@dataclass(frozen=True)
class Simulated:
    """A result, and the document without offers that it follows from."""

    result: dict[str, Any]
    resolved: dict[str, Any]
    data_version: int


class _StoredResults:
    """The last results by their inputs: they follow from nothing else."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._lock = Lock()

    def get(self, document: Any, steps: int) -> dict[str, Any]:
        """The result of a plain document of so many steps; InvalidDocument where it has faults."""
        key = input_sha256(document)
        with self._lock:
            text = self._texts.get(key)
        if text is None:
            # Outside the lock: nobody waits for a calculation, though two may make the same one at
            # once.
            with calculation(steps, advice=ADVICE) as check:
                # As text, so that no caller changes what the next one gets.
                text = json.dumps(simulate(document, check))
            with self._lock:
                self._texts[key] = text
                while len(self._texts) > MOST_STORED:
                    self._texts.popitem(last=False)
        result: dict[str, Any] = json.loads(text)
        return result


_stored_results = _StoredResults()


def scenarios_visible(workspace: Workspace) -> QuerySet[Scenario]:
    """Scenarios of a workspace by name, without what frozen ones keep."""
    # A document may have megabytes, and no list shows any of it.
    return Scenario.objects.filter(workspace=workspace).defer("document", "resolved", "result")


def scope_to_delete(scenario: Scenario) -> Scope:
    """The scope that deleting it needs: a frozen one may stand in a decision of somebody else."""
    return Scope.WRITE if scenario.frozen_at is None else Scope.ADMIN


def scenario_by_slug(workspace_slug: str, slug: str) -> Scenario | None:
    """The scenario of this slug, with everything."""
    if "\0" in slug:
        return None  # PostgreSQL has no NUL in text
    rows = Scenario.objects.select_related("workspace")
    return rows.filter(workspace__slug=workspace_slug, slug=slug).first()


def simulate_document(document: object, *, workspace_slug: str = DEFAULT_WORKSPACE) -> Simulated:
    """Present result of a document.

    The result has, beside the members of the domain's, `data_version`; prices and scores of offers
    are among its assumptions. InvalidDocument names every field that is wrong.
    """
    plain = resolve(document, workspace_slug=workspace_slug, today=clock.now().date())
    steps = check_work(plain.document, most_steps(MOST_WORK))
    result = _stored_results.get(plain.document, steps)
    result["assumptions"] += plain.assumptions
    result["data_version"] = plain.data_version
    return Simulated(result, plain.document, plain.data_version)


def scenario_result(scenario: Scenario) -> dict[str, Any]:
    """The result of a frozen scenario as it was, else as it is now; InvalidDocument where an offer
    is not known any more."""
    if scenario.result is not None:
        return dict(scenario.result)
    return simulate_document(scenario.document, workspace_slug=scenario.workspace.slug).result


def follows_from(scenario: Scenario) -> str:
    """Hash of all that its figures follow from, prices and scores included; InvalidDocument where it
    names what is not there."""
    if scenario.result is not None:
        return input_sha256({"frozen": str(scenario.frozen_at), "result": scenario.result})
    slug = scenario.workspace.slug
    plain = resolve(scenario.document, workspace_slug=slug, today=clock.now().date())
    # The number of the data grows with every result of every machine; what is equal stays equal.
    return input_sha256(
        {"stated": scenario.document, "plain": plain.document, "assumed": plain.assumptions}
    )


def scenario_series(scenario: Scenario, *, most_points: int = MOST_POINTS) -> dict[str, Any]:
    """Its series over time; of a frozen one those of the prices and scores at that time."""
    if scenario.resolved is not None:
        return _series(scenario.resolved, most_points)
    slug = scenario.workspace.slug
    return series_of_document(scenario.document, workspace_slug=slug, most_points=most_points)


def series_of_document(
    document: object,
    *,
    workspace_slug: str = DEFAULT_WORKSPACE,
    most_points: int = MOST_POINTS,
) -> dict[str, Any]:
    """Series of a document; InvalidDocument names every field that is wrong."""
    plain = resolve(document, workspace_slug=workspace_slug, today=clock.now().date())
    return _series(plain.document, most_points)


def _series(document: dict[str, Any], most_points: int) -> dict[str, Any]:
    # Series show the document as stated: nothing is drawn for them.
    stated = {name: value for name, value in document.items() if name != "uncertainty"}
    steps = check_work(stated, most_steps(MOST_WORK))
    with calculation(steps, advice=ADVICE) as check:
        return series(document, most_points=most_points, check=check)


def scenario_curves(document: Mapping[str, Any]) -> tuple[tuple[CostCurve, ...], int | None]:
    """Cost curves of a plain document, and the length of their steps where the document's own are
    too many; InvalidDocument for one that is too large in any steps."""
    most = most_steps(MOST_MAP_WORK)
    coarser, step_s = coarsen(document, lambda document: check_curve_work(document, most))
    check_curve_work(coarser, most)
    # As text, for a cache needs what can be hashed and nobody can change.
    return _curves(json.dumps(storable(coarser), sort_keys=True)), step_s


@lru_cache(maxsize=MOST_STORED)
def _curves(document: str) -> tuple[CostCurve, ...]:
    plain = json.loads(document)
    with calculation(check_curve_work(plain), advice=ADVICE) as check:
        return cost_curves(plain, check)


def storable(value: Any) -> Any:
    """A value of JSON in which numbers with a point are decimal strings: they keep their digits."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return {name: storable(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [storable(inner) for inner in value]
    return value
