"""The newest round of a campaign: its figures by sums of the database, its targets a page at a time.

What is read does not grow with the round, which may have tens of thousands of runs.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Case, Count, F, Min, Q, QuerySet, Sum, Value, When, Window
from django.db.models.functions import RowNumber

from backend.benchmarks.models import TERMINAL_STATES, Campaign, Run, RunState
from backend.benchmarks.selectors.costs import HISTORY_RUNS
from backend.measure.profiles import PROFILES

NOT_DONE = (RunState.FAILED, RunState.LOST, RunState.CANCELLED)
# The host, or the offer to rent, and the other end of a network pair.
Target = tuple[UUID, UUID | None]

REMAINING = """
WITH unfinished AS (
    SELECT host_id, peer_id, 1 - progress_ratio AS share,
           CASE jsonb_typeof(live -> 'expected_s')
               WHEN 'number' THEN (live ->> 'expected_s')::float8 END AS expected_s,
           (SELECT array_agg(one ORDER BY one) FROM unnest(probes) AS one) AS probes
    FROM benchmarks_run
    WHERE campaign_id = %(campaign)s AND round = %(round)s AND state <> ALL(%(ended)s)
        AND id NOT IN (SELECT server_id FROM benchmarks_run
                       WHERE campaign_id = %(campaign)s AND server_id IS NOT NULL)
), newest AS (
    SELECT host_id, runner_s,
           (SELECT array_agg(one ORDER BY one) FROM unnest(probes) AS one) AS probes
    FROM benchmarks_run
    WHERE host_id IN (SELECT host_id FROM unfinished) AND profile = %(profile)s
        AND state = 'done' AND runner_s IS NOT NULL
    ORDER BY finished_at DESC LIMIT %(history)s
), past AS (
    SELECT host_id, probes, percentile_cont(0.5) WITHIN GROUP (ORDER BY runner_s) AS seconds
    FROM newest GROUP BY host_id, probes
), work AS (
    SELECT one.host_id, peer_id,
           share * COALESCE(expected_s, past.seconds, %(cap)s) AS left_s
    FROM unfinished AS one LEFT JOIN past
        ON past.host_id = one.host_id AND past.probes IS NOT DISTINCT FROM one.probes
), busy AS (
    SELECT sum(left_s) AS left_s FROM (
        SELECT host_id, left_s FROM work
        UNION ALL SELECT peer_id, left_s FROM work WHERE peer_id IS NOT NULL
    ) AS ends GROUP BY host_id
)
SELECT (SELECT max(left_s) FROM busy), (SELECT sum(left_s) FROM work)
"""


@dataclass(frozen=True)
class RoundFigures:
    """Where a round stands: of each target as many runs count as it has repeats."""

    states: Mapping[str, int]
    """Runs in each state."""
    progress_ratio: float
    remaining_s: float | None
    """None when nothing runs."""

    @property
    def run_count(self) -> int:
        return sum(self.states.values())

    def count(self, states: Sequence[str]) -> int:
        """Runs in one of these states."""
        return sum(self.states.get(state, 0) for state in states)

    @property
    def end_count(self) -> int:
        return self.count(TERMINAL_STATES)


def round_runs(campaign: Campaign) -> QuerySet[Run]:
    """Every run of the newest round, oldest first, with what it is shown with."""
    related = ("host", "peer", "server__offer", "price", "offer", "resource__account")
    runs = _of_round(campaign).select_related(*related).prefetch_related("resource__ledger")
    return runs.order_by("created_at", "id")


def _of_round(campaign: Campaign) -> QuerySet[Run]:
    # Without those that only serve the network tests of another one.
    runs = Run.objects.filter(campaign=campaign, round=campaign.round, client=None)
    return runs.annotate(
        # Each machine of an offer is a host of its own.
        target=Case(When(host__is_rented=True, then=F("offer_id")), default=F("host_id")),
        other=Case(When(server__isnull=False, then=F("server__offer_id")), default=F("peer_id")),
    )


def current_runs(runs: Sequence[Run], repeats: int) -> list[Run]:
    """As many runs of each target as it has repeats: those that failed or were cancelled drop out
    as others take their place."""
    targets: dict[Target, list[Run]] = defaultdict(list)
    for run in runs:
        other = run.server.offer_id if run.server is not None else run.peer_id
        targets[run.offer_id if run.host.is_rented else run.host_id, other].append(run)
    kept: set[UUID] = set()
    for of_target in targets.values():
        good = [run for run in of_target if run.state not in NOT_DONE]
        bad = [run for run in of_target if run.state in NOT_DONE]
        free_count = max(repeats - len(good), 0)
        # The newest of the failed ones: those before were tried again already.
        kept |= {run.pk for run in [*good, *bad[len(bad) - min(free_count, len(bad)) :]]}
    return [run for run in runs if run.pk in kept]


def _current(campaign: Campaign) -> QuerySet[Run]:
    """The runs that `current_runs` keeps, by the database."""
    bad = Q(state__in=NOT_DONE)
    target = [F("target"), F("other")]
    ranked = (
        _of_round(campaign)
        .annotate(is_bad=Case(When(bad, then=Value(1)), default=Value(0)))
        .annotate(
            good=Window(Count("pk", filter=~bad), partition_by=target),
            newness=Window(
                RowNumber(), partition_by=[*target, F("is_bad")], order_by=["-created_at", "-id"]
            ),
        )
        .annotate(surplus=F("is_bad") * (F("good") + F("newness") - campaign.repeats))
    )
    return Run.objects.filter(pk__in=ranked.filter(surplus__lte=0).values("pk")).order_by()


def round_figures(campaign: Campaign) -> RoundFigures:
    """In two statements."""
    groups = _current(campaign).values_list("state").annotate(Count("pk"), Sum("progress_ratio"))
    states = {state: count for state, count, _progress in groups}
    count = sum(states.values())
    # A failed run counts in full, or the bar would never reach its end.
    passed = sum(
        number if state in TERMINAL_STATES else progress for state, number, progress in groups
    )
    return RoundFigures(states, passed / count if count else 0.0, _remaining_s(campaign))


def _remaining_s(campaign: Campaign) -> float | None:
    """The longer of the busiest host's own work and all work over the campaign's concurrency.

    A run takes what its runner expects, else the median of what it took before on its host
    (costs.durations), else the profile's time cap.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            REMAINING,
            {
                "campaign": campaign.pk,
                "round": campaign.round,
                "profile": campaign.profile,
                "ended": [str(state) for state in TERMINAL_STATES],
                "history": HISTORY_RUNS,
                "cap": PROFILES[campaign.profile].time_cap_s,
            },
        )
        (busiest_s, all_s) = cursor.fetchone()
    # Runs of one host come one after the other, those of several side by side up to the limit.
    return None if all_s is None else max(busiest_s, all_s / campaign.concurrency)


class RoundTargets:
    """The targets of a round in the order of their first runs; to be counted and sliced."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        # Any: annotations of another function are no fields to the type checker.
        groups: Any = _of_round(campaign).order_by()
        groups = groups.values("target", "other")
        self._rows: Any = groups.annotate(first=Min("created_at")).order_by("first", "target")

    def per_page(self, runs: int) -> int:
        """Targets of a page of up to so many runs: whole ones, at least one."""
        return max(runs // self._campaign.repeats, 1)

    def count(self) -> int:
        count: int = self._rows.count()
        return count

    def __len__(self) -> int:
        return self.count()

    def __getitem__(self, chosen: slice) -> list[Run]:
        """The runs of these targets, as many of each as it has repeats, oldest first."""
        runs = round_runs(self._campaign)
        if chosen != slice(None):
            keys = list(self._rows[chosen].values_list("target", "other"))
            if not keys:
                return []
            named = (Q(target=target, other=other) for target, other in keys)
            runs = runs.filter(reduce(or_, named))
        return current_runs(list(runs), self._campaign.repeats)
