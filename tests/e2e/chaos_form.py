"""How much is broken: the short form of the test suite, or the long one of `./rackrate chaos`."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

# Environment variable that asks for the long form when it is `long`.
LONG = "CHAOS"
# And the one that says how often its worker is killed.
KILLS = "CHAOS_KILLS"


@dataclass(frozen=True)
class Form:
    """Times are seconds."""

    kills: int
    """Of the worker, spread over every state; up to MORE_KILLS more until each state was met."""
    away_s: float
    """How long PostgreSQL is gone."""
    cut_s: float
    """How long the network is gone."""
    cut_lease_s: int
    """The lease meanwhile; a host is given up after five of them."""
    cut_kills: int
    """Of the worker while the network is gone."""
    cycles_a_kill: int
    """Of renting, for each time that the worker is killed meanwhile."""
    clouds: Mapping[str, int]
    """Machines that are rented of each of tests.e2e.worlds, one for a run."""
    at_once: int
    """Runs under way there. They mostly wait: for leases of workers that were killed, and for machines."""


MORE_KILLS = 6
SHORT = Form(
    kills=6,
    away_s=5,
    cut_s=30,
    cut_lease_s=10,
    cut_kills=1,
    cycles_a_kill=3,
    # All but the first in brief: the suite has to be over while somebody waits.
    clouds={"aws": 12, "azure": 4, "gcp": 4, "hetzner": 4, "scaleway": 4},
    at_once=4,
)
LONG_FORM = Form(
    kills=int(os.environ.get(KILLS, "104")),
    away_s=60,
    cut_s=300,
    cut_lease_s=120,
    cut_kills=2,
    cycles_a_kill=3,
    clouds=dict.fromkeys(("fake", "aws", "gcp", "azure", "hetzner", "scaleway"), 200),
    at_once=16,
)
FORM = LONG_FORM if os.environ.get(LONG) == "long" else SHORT
LEASE_S = 10
# After the end of its lease a step goes on within this: the tick and a worker that starts.
RESUME_SLACK_S = 10


@dataclass
class Case:
    """What was done in one case and what came of it."""

    name: str
    did: str = ""
    result: str = "failed"
    duration_s: float = 0
    resumes: list[tuple[float, str]] = field(default_factory=list)
    """From each kill to the next thing that happened to a run that was under way: seconds, and
    the state in which the kill met it."""

    @property
    def worst_s(self) -> float:
        """The longest that a run lay idle."""
        return max(self.resumes)[0]


CASES: list[Case] = []
# Figures of other tests that are worth a line at the end.
NOTES: list[str] = []


@contextmanager
def case(name: str, said: Callable[[], str]) -> Iterator[Case]:
    """A case that is measured and listed; `said` is what the processes logged, for a failure."""
    made, began = Case(name), time.monotonic()
    CASES.append(made)
    try:
        yield made
        made.result = "whole"
    except BaseException as error:
        error.add_note(said())
        raise
    finally:
        made.duration_s = time.monotonic() - began


def table() -> list[str]:
    """The cases as lines of text, one column below the other."""
    head = ("case", "done to it", "result", "resumed after", "took")
    rows = [head, *(_row(case) for case in CASES)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _row(case: Case) -> tuple[str, str, str, str, str]:
    resumes, resumed = sorted(case.resumes), "-"
    if resumes:
        worst_s, state = resumes[-1]
        median_s = resumes[len(resumes) // 2][0]
        resumed = f"median {median_s:.1f} s, worst {worst_s:.1f} s ({state})"
    return case.name, case.did, case.result, resumed, f"{case.duration_s:.0f} s"
