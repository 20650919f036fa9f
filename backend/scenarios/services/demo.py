"""The demo scenarios: the documents under fixtures/scenarios/, kept like any other."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.db import transaction

from backend.accounts.services.workspaces import default_workspace
from backend.scenarios.models import Scenario
from backend.scenarios.selectors.scenarios import storable
from backend.scenarios.services.scenarios import scenario_create, scenario_delete

ACTOR = "demo"


@transaction.atomic
def demo_scenarios_load(folder: Path) -> int:
    """Keep every document under `folder` whose name is not there yet; how many are new.

    Their offers are loaded before. Raises InvalidDocument for a document with a fault.
    """
    # By name: a document that a person has changed since must not come a second time.
    kept = set(_of_the_demo().values_list("name", flat=True))
    new = [document for document in _documents(folder) if document["name"] not in kept]
    for document in new:
        scenario_create(workspace=default_workspace(), document=document, actor=ACTOR)
    return len(new)


@transaction.atomic
def demo_scenarios_remove(folder: Path) -> int:
    """Delete those that are as they were loaded; how many are gone."""
    documents = list(_documents(folder))
    # What a person has changed or frozen is theirs now.
    gone = [row for row in _of_the_demo().filter(frozen_at=None) if row.document in documents]
    for row in gone:
        scenario_delete(scenario=row, actor=ACTOR)
    return len(gone)


def _of_the_demo() -> Any:
    return Scenario.objects.filter(workspace=default_workspace(), created_by=ACTOR)


def _documents(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("scenarios/*.json")):
        text = path.read_text(encoding="utf-8")
        yield storable(json.loads(text, parse_float=Decimal))
