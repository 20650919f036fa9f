"""Nights of standard runs, of any number: one is stored as workers store it, from captured output of
each of its steps, and the others are copies of its rows made within the database, night by night.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from django.db import connection
from django.db.models import Model

from backend.benchmarks.models import Event, Evidence, Host, HostState, Run, RunState, Sample, Step
from backend.benchmarks.services.results import repeats_store
from backend.catalog.models import OfferKind
from backend.core import clock
from backend.measure.profiles import PROFILES
from backend.measure.repeats import RawResult, Repeat, repeat_of
from tests import factories
from workers.remote.probes.plan import plan

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures/probes"
SERIES = (FIXTURES / "observe-series.txt").read_bytes()
RECORD = json.loads((FIXTURES / "observe-clocks.txt").read_text())
PROFILE = "standard"
# As many as end before the time cap of the profile.
STEPS = 105
# Of a run without trouble.
EVENTS = 10
STATES = (
    "queued", "reachable", "prepared", "running", "collecting", "parsed", "tearing_down",
    "verified_gone",
)  # fmt: skip
NIGHT = "interval '1 day' * nights.ago"
Exprs = Mapping[str, str]


def hosts(count: int) -> list[Host]:
    """Machines of one's own, each with an offer of its own."""
    return [
        factories.host(
            factories.offer(
                f"rack-{n}", provider_slug="own", kind=OfferKind.DEDICATED, vcpu_count=8,
                memory_bytes=32 * 2**30, workspace=factories.workspace(),
            ),
            name=f"rack-{n}",
            state=HostState.TRUSTED,
        )
        for n in range(count)
    ]  # fmt: skip


def repeats() -> list[Repeat]:
    """The steps of a run that measures all that needs no second machine, until its cap."""
    steps = plan(PROFILES[PROFILE], None, {}, run_directory="/tmp/rackrate").steps
    return [
        _repeat(number, *step)
        for number, step in enumerate(steps, 1)
        if _captured(*step[:2]) is not None
    ][:STEPS]


def _repeat(number: int, probe: str, variant: str, repeat: int, out: bytes = b"") -> Repeat:
    record = {**RECORD, "probe": probe, "variant": variant, "repeat": repeat}
    raw = RawResult(
        number=number,
        name=f"{number:03d}-{probe}-{variant}-{repeat}",
        out=out or _captured(probe, variant) or b"",
        err=b"",
        record=json.dumps(record).encode() + b"\n",
        series=SERIES,
    )
    return repeat_of(raw)


@cache
def _captured(probe: str, variant: str) -> bytes | None:
    """The output of the probe among those captured; None where there is none."""
    for path in sorted(FIXTURES.glob("*.txt")):
        read = _repeat(1, probe, variant, 0, path.read_bytes())
        if not read.error and (read.samples or read.facts):
            return path.read_bytes()
    return None


def first_run(host: Host) -> Run:
    """One whole run of now."""
    now = clock.now()
    run = factories.run(
        host, profile=PROFILE, state=RunState.DONE, started_at=now, finished_at=now, runner_s=780
    )
    repeats_store([(run, repeats())])
    Step.objects.bulk_create(
        Step(run=run, state=state, attempt=1, lease_token=1, finished_at=now) for state in STATES
    )
    Event.objects.bulk_create(
        Event(run=run, kind="state", detail=f"from {STATES[n % len(STATES)]} to the next one")
        for n in range(EVENTS)
    )
    return run


def nights(first: Run, of: range) -> None:
    """Copy the run to every host for each of the nights, which are so many days ago.

    The oldest come first, as they would.
    """
    for ago in reversed(of):
        with connection.cursor() as cursor:
            for statement in _statements():
                cursor.execute(statement, {"run": first.pk, "ago": ago})


def _statements() -> Iterator[str]:
    run_table, evidence_table = Run._meta.db_table, Evidence._meta.db_table
    tonight = "(SELECT %(ago)s::int AS ago) AS nights"
    copies = f"{run_table} AS r CROSS JOIN {tonight} WHERE r.labels = jsonb_build_object('ago', nights.ago)"
    moments = {name: f"t.{name} - {NIGHT}" for name in ("created_at", "started_at", "finished_at")}
    yield _copy(
        Run,
        {
            "id": "gen_random_uuid()", "host_id": "h.id", "offer_id": "h.offer_id",
            "labels": "jsonb_build_object('ago', nights.ago)", **moments,
        },
        f"{run_table} AS t, {Host._meta.db_table} AS h, {tonight}"
        " WHERE t.id = %(run)s AND h.name LIKE 'rack-%%'",
    )  # fmt: skip
    of_run = {"run_id": "r.id"}
    for model, moment in ((Evidence, "created_at"), (Step, "created_at"), (Event, "at")):
        table = model._meta.db_table
        yield _copy(
            model,
            {**of_run, moment: f"t.{moment} - {NIGHT}"},
            f"{table} AS t, {copies} AND t.run_id = %(run)s",
        )
    yield _copy(
        Sample,
        {
            **of_run, "host_id": "r.host_id", "offer_id": "r.offer_id", "evidence_id": "e.id",
            "measured_at": f"t.measured_at - {NIGHT}", "value": "t.value * (0.98 + random() * 0.04)",
        },
        f"{Sample._meta.db_table} AS t, {evidence_table} AS f, {evidence_table} AS e, {copies}"
        " AND t.run_id = %(run)s AND f.id = t.evidence_id AND e.n = f.n AND e.run_id = r.id",
    )  # fmt: skip


def _copy(model: type[Model], other: Exprs, source: str) -> str:
    """All columns of rows `t`, some of them by an expression."""
    names = [
        field.column
        for field in model._meta.concrete_fields
        if field.column != "id" or "id" in other
    ]
    values = [other.get(name, f"t.{name}") for name in names]
    return f"INSERT INTO {model._meta.db_table} ({', '.join(names)}) SELECT {', '.join(values)} FROM {source}"
