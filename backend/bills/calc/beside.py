"""The rest of an estate beside machines, at the prices of a target: disks, traffic, managed
services."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from backend.money.amounts import Floats, Ints

# Upper bound in GB (None = without limit) and the price of a GB.
FloatTiers = Sequence[tuple[float | None, float]]


class BillPart(StrEnum):
    """Parts of a bill that may move; the order is that of pages."""

    MACHINES = "machines"
    DISK = "disk"
    EGRESS = "egress"
    MANAGED = "managed"
    LICENCES = "licences"


@dataclass(frozen=True)
class Beside:
    """Monthly amounts, and their cost today."""

    disk_gb: float = 0
    disk_cost: float = 0
    egress_gb: float = 0
    egress_cost: float = 0
    managed_cost: float = 0
    licence_cost: float = 0
    """Licences of systems and databases: whoever moves a machine takes its licence along."""


@dataclass(frozen=True)
class Supply:
    """Resources included by one server of an offer, and the price of more where it stands."""

    disk_gb: float = 0
    egress_gb: float = 0
    """Infinite where traffic is not counted."""
    disk: FloatTiers | None = None
    egress: FloatTiers | None = None
    """None where the price is not known."""


@dataclass(frozen=True)
class Services:
    """Assumptions about managed services where a target has none and one runs the software oneself."""

    may_run: bool
    """Otherwise they stay as they are."""
    premium: float
    """Share of their price that is for being managed; the rest is what machines for it cost anywhere."""
    hours: float
    """Staff hours a month."""
    hourly: float


NOTHING_BESIDE = Beside()
NO_SUPPLY = Supply()


def cost_of_services(beside: Beside, services: Services) -> float:
    """A month of the services run by oneself."""
    if not beside.managed_cost:
        return 0.0
    return beside.managed_cost * (1 - services.premium) + services.hours * services.hourly


def cost_under_tiers(asked: Floats, tiers: FloatTiers) -> Floats:
    """Cost of volumes under tiers of cumulative bounds."""
    cost, lower = np.zeros_like(asked), 0.0
    for bound, price in tiers:
        upper = np.inf if bound is None else bound
        cost += (np.clip(asked, lower, upper) - lower) * price
        lower = upper
    return cost


def volume_cost(
    asked_gb: float, today: float, included_gb: Floats, tiers: FloatTiers | None
) -> tuple[Floats, bool]:
    """By draw, and whether the price is known. What has none is taken as it is today: neither
    saved nor dearer."""
    rest = np.maximum(asked_gb - included_gb, 0.0)
    if tiers is not None:
        return cost_under_tiers(rest, tiers), True
    is_included = rest <= 0
    return np.where(is_included, 0.0, today), bool(np.all(is_included))


def beside_costs(
    asked: Beside,
    supplies: Sequence[Supply],
    servers: Ints,
    services: Services,
    *,
    is_same_provider: bool,
    has_services: bool,
) -> tuple[dict[BillPart, Floats], list[BillPart]]:
    """Cost of everything beside the machines, by draw, and the parts without a price there.

    `servers` are how many of each offer, by draw. The same provider charges what it does today.
    """
    same = np.ones(len(servers))
    costs = {BillPart.DISK: same * asked.disk_cost, BillPart.EGRESS: same * asked.egress_cost}
    unpriced = []
    if not is_same_provider:
        disks = (servers * np.array([supply.disk_gb for supply in supplies])).sum(axis=1)
        # Servers with unlimited traffic give none of it as long as there are none of them.
        egress_gb = np.array([each.egress_gb for each in supplies])
        traffic = np.multiply(
            servers, egress_gb, where=servers > 0, out=np.zeros(servers.shape)
        ).sum(axis=1)
        costs[BillPart.DISK], has_disk = volume_cost(
            asked.disk_gb, asked.disk_cost, disks, supplies[0].disk
        )
        costs[BillPart.EGRESS], has_egress = volume_cost(
            asked.egress_gb, asked.egress_cost, traffic, supplies[0].egress
        )
        known = {BillPart.DISK: has_disk, BillPart.EGRESS: has_egress}
        unpriced = [part for part, has_price in known.items() if not has_price]
    if services.may_run:
        own = asked.managed_cost if has_services else cost_of_services(asked, services)
        costs[BillPart.MANAGED] = same * own
    if asked.licence_cost:
        costs[BillPart.LICENCES] = same * asked.licence_cost
    return costs, unpriced
