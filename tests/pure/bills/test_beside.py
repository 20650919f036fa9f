"""What is beside machines, at the prices of a target."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from backend.bills.calc.beside import (
    Beside,
    BillPart,
    Services,
    Supply,
    beside_costs,
    cost_of_services,
    cost_under_tiers,
)
from backend.bills.calc.classes import ChargeKind, charge_of
from backend.bills.calc.elsewhere import alternatives, today_cost
from backend.bills.calc.replacing import Assumptions, Destination, Figure, Replacement, Work
from backend.bills.calc.volumes import BillVolume, volume_of

GIB = Fraction(1024**3, 10**9)
BESIDE = Beside(disk_gb=500, disk_cost=40, egress_gb=2000, egress_cost=180, managed_cost=100)
STAY = Services(may_run=False, premium=0.4, hours=1, hourly=60)


@pytest.mark.parametrize(
    ("unit", "description", "volume", "each"),
    [
        ("GB-Months", "$0.08 per GB-month of General Purpose (gp3) provisioned storage", "disk", 1),
        ("GB-Mo", "EBS:VolumeUsage.gp3", "disk", 1),
        ("gibibyte month", "Balanced PD Capacity in Frankfurt", "disk", GIB),
        ("100 GB/Month", "Standard managed disk", "disk", 100),
        ("GB-Months", "$0.05 per GB-Month of snapshot data stored", None, 0),
        ("GB Months", "Block Volume - Performance Units", None, 0),
        ("GB-Months", "$0.023 per GB - first 50 TB / month of storage used", None, 0),
        ("GB", "$0.090 per GB - first 10 TB / month data transfer out", "egress", 1),
        ("1 TB", "Rtn Preference: MGN - Standard Data Transfer Out", "egress", 1000),
        ("GB Months", "Outbound Data Transfer Zone 1", "egress", 1),
        ("GB", "$0.00 per GB data transfer out of US East to CloudFront", None, 0),
        ("GB", "$0.02 per GB - EU (London) data transfer to EU (Ireland)", None, 0),
        ("GB", "Bandwidth Inter-Region - Intra Continent Data Transfer Out", None, 0),
        ("Hours", "data transfer out", None, 0),
    ],
)
def test_volumes_are_known_by_unit_and_words(unit, description, volume, each):
    assert volume_of({"unit": unit, "description": description}) == (volume, each)


def test_volume_counts_only_within_its_kind_of_charge():
    disk = charge_of({"service": "EBS", "description": "VolumeUsage.gp3", "unit": "GB-Mo"})
    assert (disk.kind, disk.volume, disk.gb_per_unit) == (ChargeKind.STORAGE, BillVolume.DISK, 1)
    odd = charge_of({"service": "DNS", "description": "VolumeUsage.gp3", "unit": "GB-Mo"})
    assert (odd.kind, odd.volume) == (ChargeKind.TRAFFIC, None)


def test_tiers_are_summed_up_to_each_bound():
    """10 × 2 + 20 × 1; below the first bound 4 × 2."""
    assert cost_under_tiers(np.array([30.0, 4.0, 0.0]), [(10, 2.0), (None, 1.0)]).tolist() == [
        40,
        8,
        0,
    ]


def costs(supply, servers=2, services=STAY, **given):
    flags = {"is_same_provider": False, "has_services": False, **given}
    by_part, unpriced = beside_costs(BESIDE, [supply], np.array([[servers]]), services, **flags)
    return {part: float(cost[0]) for part, cost in by_part.items()}, unpriced


def test_servers_include_together_what_each_includes():
    """500 − 2 × 200 = 100 GB × 0.1; 2,000 − 2 × 500 = 1,000 × 0.01."""
    supply = Supply(200, 500, disk=[(None, 0.1)], egress=[(None, 0.01)])
    assert costs(supply) == (
        {BillPart.DISK: pytest.approx(10), BillPart.EGRESS: pytest.approx(10)},
        [],
    )


def test_unlimited_traffic_and_enough_disk_need_no_price():
    assert costs(Supply(250, math.inf)) == ({BillPart.DISK: 0, BillPart.EGRESS: 0}, [])


def test_what_has_no_price_costs_as_today_and_is_named():
    unpriced = [BillPart.DISK, BillPart.EGRESS]
    assert costs(Supply(100)) == ({BillPart.DISK: 40, BillPart.EGRESS: 180}, unpriced)
    same = costs(Supply(disk=[(None, 9.0)]), is_same_provider=True)
    assert same == ({BillPart.DISK: 40, BillPart.EGRESS: 180}, [])


def test_services_are_moved_only_where_they_may_be():
    """60 of 100 and an hour of 60."""
    run = replace(STAY, may_run=True)
    assert BillPart.MANAGED not in costs(Supply())[0]
    assert costs(Supply(), services=run)[0][BillPart.MANAGED] == pytest.approx(120)
    assert costs(Supply(), services=run, has_services=True)[0][BillPart.MANAGED] == 100
    assert cost_of_services(Beside(), run) == 0


@pytest.mark.parametrize("is_same_provider", [False, True])
def test_licences_move_along_at_what_they_cost_today(is_same_provider):
    asked = Beside(licence_cost=30)
    by_part, unpriced = beside_costs(
        asked,
        [Supply()],
        np.array([[1], [2]]),
        STAY,
        is_same_provider=is_same_provider,
        has_services=False,
    )
    assert by_part[BillPart.LICENCES].tolist() == [30, 30]
    assert unpriced == []


def test_alternative_is_chosen_with_what_is_beside_it():
    """70 and 2,000 GB × 0.1 lose to 100 and none of it: 100 + 40 of disks, against 300 today."""
    works = [Work("m5", "aws", 1, 1, Figure(100, 100, 100), 8, 80)]
    dear = Supply(egress=[(None, 0.1)])
    fields = {"target": Destination.DEDICATED, "score": Figure(100, 100, 100), "ram_gib": 8}
    offers = [
        Replacement("a", "a", "x", cost_per_month=70, supply=dear, **fields),
        Replacement("b", "b", "y", cost_per_month=100, supply=Supply(egress_gb=2000), **fields),
    ]
    assumed = Assumptions(moving_cost=1600, staff_per_server=0, spares=0)
    (one,) = alternatives(works, offers, assumed, BESIDE)
    assert one.servers == (("b", "b", 1),)
    assert one.parts == {BillPart.MACHINES: 100, BillPart.DISK: 40, BillPart.EGRESS: 0}
    assert (one.cost, one.unpriced) == (140, (BillPart.DISK,))
    assert today_cost(works, assumed, BESIDE) == 300
    assert today_cost(works, replace(assumed, may_run_services=True), BESIDE) == 400
    assert one.payback_months == pytest.approx(10)
