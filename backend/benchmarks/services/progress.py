"""Writes how far running runs are: many of them in few statements, each behind its fence."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from backend.benchmarks.services.leases import Claim, fence_all
from backend.benchmarks.services.results import repeats_store
from backend.measure.repeats import Repeat

# Progress never goes back, in whatever order readings come; any reading ends a silence.
WRITE = """
UPDATE benchmarks_run AS run
SET probe = given.probe,
    progress_ratio = greatest(run.progress_ratio, given.progress_ratio),
    runner_s = given.runner_s,
    live = (run.live - 'silent_since') || given.live
FROM jsonb_to_recordset(%s::jsonb) AS given(
    id uuid, probe text, progress_ratio float8, runner_s float8, live jsonb)
WHERE run.id = given.id
"""


@dataclass
class Progress:
    """New readings of a running run: `fields` are probe, progress_ratio, runner_s and what changes
    in live; None when none of them is to be written."""

    claim: Claim
    fields: Mapping[str, Any] | None = None
    repeats: list[Repeat] = field(default_factory=list)


def progress_write(runs: Iterable[Progress]) -> set[int]:
    """Write it all in one transaction.

    Returns the ids of the steps that are still ours: nothing is written of the others.
    """
    given = {run.claim.step_id: run for run in runs}
    with fence_all(progress.claim for progress in given.values()) as steps:
        repeats_store([(step.run, given[pk].repeats) for pk, step in steps.items()])
        rows = [
            {"id": str(step.run_id), **fields}
            for pk, step in steps.items()
            if (fields := given[pk].fields) is not None
        ]
        if rows:
            with connection.cursor() as cursor:
                cursor.execute(WRITE, [json.dumps(rows)])
        return set(steps)
