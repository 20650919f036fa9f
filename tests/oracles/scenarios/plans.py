"""Splits a load among plans without a search.

The server that runs a share u of the time belongs to the plan with the least fixed + variable · u.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from backend.scenarios.calc.scan import Servers


@dataclass(frozen=True)
class Plan:
    """Cost of one server over the horizon: `fixed` used or not, `variable` when it runs all of it,
    less in proportion."""

    name: str
    fixed: Fraction
    variable: Fraction


def cheapest_plans(running: Servers, plans: Sequence[Plan]) -> list[tuple[Plan, Fraction]]:
    """For each server, the one that runs longest first: its cheapest plan, and what it costs."""
    return [
        min(
            ((plan, plan.fixed + plan.variable * share) for plan in plans),
            key=lambda pair: pair[1],
        )
        for share in time_shares(running)
    ]


def time_shares(running: Servers) -> list[Fraction]:
    """Share of the time that each server of a stack runs, the oldest first."""
    at_exactly = np.bincount(running)
    at_least = at_exactly[::-1].cumsum()[::-1][1:]
    return [Fraction(int(steps), running.size) for steps in at_least.tolist()]
