"""Which machine worked on what, as the database notes it by the name of each connection."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection

from backend.benchmarks.models import Run

NOTES = """
CREATE TABLE work_note (at timestamptz, machine text, changed jsonb);
CREATE FUNCTION work_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO work_note
    VALUES (clock_timestamp(), current_setting('application_name'), to_jsonb(NEW));
    RETURN NULL;
END $$;
CREATE TRIGGER work_note AFTER UPDATE ON benchmarks_step
    -- Whoever gives a claim out is seldom the one who then works on the step.
    FOR EACH ROW WHEN (OLD.lease_token = NEW.lease_token) EXECUTE FUNCTION work_note();
CREATE TRIGGER work_note AFTER UPDATE OF figures ON scenarios_scenariojobpiece
    FOR EACH ROW EXECUTE FUNCTION work_note();
"""
NO_NOTES = "DROP FUNCTION work_note() CASCADE; DROP TABLE work_note"
ENDED_STEPS = """
SELECT DISTINCT machine FROM work_note
WHERE changed ->> 'run_id' = ANY(%s) AND changed ->> 'finished_at' IS NOT NULL
"""
CALCULATED = "SELECT DISTINCT machine FROM work_note WHERE changed ->> 'job_id' = %s"
IN_WORK = """
SELECT step.run_id::text FROM benchmarks_step step, LATERAL (
    SELECT machine, changed FROM work_note WHERE changed ->> 'run_id' = step.run_id::text
    ORDER BY at DESC LIMIT 1
) latest
WHERE step.finished_at IS NULL AND step.state IN ('prepared', 'running') AND step.lease_until > now()
AND machine = %s AND changed ->> 'id' = step.id::text AND changed ->> 'lease_until' IS NOT NULL
AND changed ->> 'lease_token' = step.lease_token::text
"""
RESUMED = """
SELECT extract(epoch FROM min(at) FILTER (WHERE machine <> %(gone)s AND at > left_at) - left_at)::float
FROM work_note, (
    SELECT max(at) AS left_at FROM work_note
    WHERE machine = %(gone)s AND changed ->> 'run_id' = %(run)s
) latest
WHERE changed ->> 'run_id' = %(run)s GROUP BY left_at
"""


@contextmanager
def noted() -> Iterator[None]:
    """The database notes from now on which machine works on steps of runs and pieces of jobs."""
    _execute(NOTES)
    try:
        yield
    finally:
        _execute(NO_NOTES)


def who_did(runs: Sequence[Run]) -> set[str]:
    """The machines that ended steps of these runs."""
    return {machine for (machine,) in _rows(ENDED_STEPS, [[str(run.pk) for run in runs]])}


def who_calculated(job: str) -> set[str]:
    """The machines that calculated pieces of a job."""
    return {machine for (machine,) in _rows(CALCULATED, [job])}


def runs_in_work(machine: str) -> set[str]:
    """Runs on whose steps that machine is at work, or was when it was killed."""
    return {run for (run,) in _rows(IN_WORK, [machine])}


def resumed_after_s(run: str, gone: str) -> float:
    """From the last that a machine did for a run to the first that another one did after it."""
    [(seconds,)] = _rows(RESUMED, {"gone": gone, "run": run})
    return float(seconds)


def _execute(text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(text)


def _rows(text: str, values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(text, values)
        return list(cursor.fetchall())
