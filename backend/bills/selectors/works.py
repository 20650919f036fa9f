"""The machines of a bill as work to move: what they can do, and what they cost a month today."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from backend.bills.calc.classes import PurchaseKind
from backend.bills.calc.region_names import group_by_name
from backend.bills.calc.replacing import Assumptions, Figure, Work
from backend.catalog.models import VcpuKind
from backend.foundation.units import HOURS_PER_MONTH
from backend.rankings.selectors.rows import RankingRow

NOT_NAME = re.compile(r"[^a-z0-9]")
# Part of a machine that is a rounding of its hours, or the hour that summer time adds to a day.
ROUNDING = 0.05
ANYWHERE = "any"


class WhyLeftOut(StrEnum):
    """Reasons to leave machines out of the comparison, on both sides."""

    NO_PROVIDER = "no_provider"
    NO_SCORE = "no_score"
    NO_COST = "no_cost"
    NO_LICENCE = "no_licence"


@dataclass(frozen=True)
class Uncompared:
    """Machines that are left out, and what they were billed with."""

    name: str
    cost: Decimal
    why: WhyLeftOut


def bill_months(estate: Mapping[str, Any]) -> Decimal:
    """Months that the amounts of a bill are of; those imported before it was kept count hours."""
    stated = Decimal(estate.get("month_count") or 0)
    return stated or Decimal(estate["hours"] or 1) / HOURS_PER_MONTH


def figure(row: RankingRow) -> Figure:
    """The score of an offer with its interval."""
    value = row.score or 0.0
    return Figure(value, row.score_ci95_low or value, row.score_ci95_high or value)


class BilledMachines:
    """Machines of a bill beside their rows in the ranking."""

    def __init__(
        self, estate: Mapping[str, Any], rows: Sequence[RankingRow], assumed: Assumptions
    ) -> None:
        self._estate, self._assumed = estate, assumed
        self._rows: dict[tuple[str, str], dict[str, RankingRow]] = {}
        self._groups: dict[tuple[str, str], str | None] = {}
        for row in rows:
            of = self._rows.setdefault((row.provider, row.offer.lower()), {})
            of[_location(row.region or "")] = row
            self._groups[row.provider, _location(row.region or "")] = row.region_group
        self._fees = _fees_an_hour(estate)

    def works(self) -> tuple[list[Work], float, list[Uncompared]]:
        """The comparable work, the monthly cost of licences in its prices, and what cannot be
        compared."""
        works, licences, uncompared = [], Decimal(0), []
        for machine in self._estate["machines"]:
            compared = self._compare(machine)
            if isinstance(compared, WhyLeftOut):
                name, cost = machine["type"], Decimal(machine["cost"])
                uncompared.append(Uncompared(name, cost, compared))
                continue
            work, licence = compared
            works.append(work)
            licences += licence
        return works, float(licences), uncompared

    def _compare(self, machine: Mapping[str, Any]) -> tuple[Work, Decimal] | WhyLeftOut:
        if not machine["provider"]:
            return WhyLeftOut.NO_PROVIDER
        regions = self._rows.get((machine["provider"], machine["type"].lower()), {})
        own = regions.get(_location(machine["region"])) or next(iter(regions.values()), None)
        mean = float(machine["count"])
        # Hours that were credited back more than they ran are no machine.
        if own is None or mean <= 0:
            return WhyLeftOut.NO_SCORE
        cost = self._cost(machine)
        if cost <= 0:
            return WhyLeftOut.NO_COST
        licence = self._licence(machine, cost, regions.get(_location(machine["region"])))
        if licence is None:
            return WhyLeftOut.NO_LICENCE
        months = bill_months(self._estate)
        # Machines are whole, also where the bill only says for how long.
        busiest = max(machine["peak"] or 0, machine.get("busiest") or 0, mean)
        work = Work(
            name=own.offer,
            provider=own.provider,
            mean=mean,
            peak=max(math.ceil(round(busiest - ROUNDING, 6)), 1),
            score=figure(own),
            ram_gib=float(own.ram_gib or 0),
            cost_per_month=float((cost - licence) / months),
            week=machine["week"],
            base=min(machine["week"], default=machine["always_on"] if machine["peak"] else mean),
            is_burstable=own.vcpu_kind == VcpuKind.BURSTABLE,
            arch=own.arch or "",
            region_groups=self._region_groups(machine, regions),
        )
        return work, licence / months

    def _region_groups(
        self, machine: Mapping[str, Any], regions: Mapping[str, RankingRow]
    ) -> frozenset[str]:
        """Where its replacements may stand: near it, unless another place is asked for."""
        if asked := self._assumed.region_group:
            return frozenset() if asked == ANYWHERE else frozenset({asked})
        if region := machine["region"]:
            known = self._groups.get((machine["provider"], _location(region)))
            groups = {known or group_by_name(region)}
        else:
            # Where a type is sold in several parts of the world, the bill does not say.
            groups = {row.region_group for row in regions.values()}
        return frozenset(group for group in groups if group) if len(groups) == 1 else frozenset()

    def _cost(self, machine: Mapping[str, Any]) -> Decimal:
        """In all of the bill; 0 where it does not say."""
        hours = Decimal(machine["hours"])
        if machine["purchase"] != PurchaseKind.COMMITTED:
            return Decimal(machine["cost"]) + Decimal(machine.get("credit", 0))
        if not self._assumed.spread_commitments:
            return Decimal(machine["cost"]) + self._fees * hours
        effective = Decimal(machine["effective_cost"]) + Decimal(machine.get("credit", 0))
        # Google states no other cost than its fees, which are all due in the month of their use.
        return self._fees * hours if effective <= 0 and machine["provider"] == "gcp" else effective

    def _licence(
        self, machine: Mapping[str, Any], cost: Decimal, row: RankingRow | None
    ) -> Decimal | None:
        """Part of the cost that is for the licence of a system; None where it cannot be told.

        A provider charges it on top of the price of the same machine with Linux.
        """
        if not machine.get("system"):
            return Decimal(0)
        linux, licensed = self._list_rate(machine, ""), _rate(machine)
        if linux is None and row is not None and row.price is not None:
            linux = row.price / HOURS_PER_MONTH
        if machine["purchase"] != PurchaseKind.ON_DEMAND and not machine["list_cost"]:
            licensed = self._list_rate(machine, machine["system"])
        if linux is None or licensed is None:
            return None
        if machine["purchase"] == PurchaseKind.ON_DEMAND:
            # A discount is on both parts of the price.
            return max(cost * (1 - linux / licensed), Decimal(0))
        return min(max((licensed - linux) * Decimal(machine["hours"]), Decimal(0)), cost)

    def _list_rate(self, machine: Mapping[str, Any], system: str) -> Decimal | None:
        """An hour of the same machine on demand with a system, where the bill has one."""
        same = ("provider", "type", "region")
        for other in self._estate["machines"]:
            is_same = all(other[name] == machine[name] for name in same)
            if (
                is_same
                and other.get("system") == system
                and other["purchase"] == PurchaseKind.ON_DEMAND
                and (rate := _rate(other)) is not None
            ):
                return rate
        return None


def _rate(machine: Mapping[str, Any]) -> Decimal | None:
    """An hour of a machine before discounts; None where nothing was paid for it."""
    hours = Decimal(machine["hours"])
    amount = machine["list_cost"] or Decimal(machine["cost"]) - Decimal(machine["discount"])
    return Decimal(amount) / hours if hours > 0 and Decimal(amount) > 0 else None


def _location(region: str) -> str:
    """A region as it is compared: EastUS of a bill is eastus."""
    return NOT_NAME.sub("", region.lower())


def _fees_an_hour(estate: Mapping[str, Any]) -> Decimal:
    """Commitment cost for each hour of a machine that was committed."""
    fees = [Decimal(row["cost"]) for row in estate["by_kind"] if row["kind"] == "commitment"]
    hours = [
        Decimal(machine["hours"])
        for machine in estate["machines"]
        if machine["purchase"] == PurchaseKind.COMMITTED
    ]
    total = sum(hours, Decimal(0))
    return sum(fees, Decimal(0)) / total if total else Decimal(0)
