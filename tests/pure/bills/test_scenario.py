"""A bill as a scenario that the engine calculates."""

import pytest

from backend.bills.calc.beside import BillPart
from backend.bills.calc.elsewhere import Alternative
from backend.bills.calc.replacing import Destination, Figure, Work
from backend.bills.calc.scenario import bill_scenario

NAMES = {"today": "today", "cloud": "another cloud", "dedicated": "dedicated servers"}
# Four machines from 8:00 to 20:00 on weekdays, else two.
WEEK = [4.0 if day < 5 and 8 <= hour < 20 else 2.0 for day in range(7) for hour in range(24)]


def work(**given):
    fields = {"name": "m5.large", "provider": "aws", "mean": 2.0, "peak": 4.0}
    return Work(**fields, score=Figure(100, 90, 110), ram_gib=8, cost_per_month=300, **given)


def target(of, *servers):
    return Alternative(of, servers, 200, 190, 210, 0.9, 12, (), {BillPart.MACHINES: 200})


def document(works, *targets):
    return bill_scenario(
        works,
        targets,
        NAMES,
        name="October elsewhere",
        metric="stress_ng_div16",
        currency="EUR",
        start="2026-11-01T00:00:00+00:00",
        today=sum(one.cost_per_month for one in works),
    )


def test_demand_is_the_score_that_ran_by_hour_and_day():
    """2 machines and 2 more in 60 of 168 hours: (2 + 120 / 168) × 100 = 271.429."""
    demand = document([work(week=WEEK)])["demand"]
    assert demand["level"] == "271.4286"
    # By day at 9:00 (5 × 4 + 2 × 2) / 7 of 2.714 in the mean, on Mondays 3 of it.
    assert (demand["daily"][0], demand["daily"][9]) == ("0.7368", "1.2632")
    assert (demand["weekly"][0], demand["weekly"][6]) == ("1.1053", "0.7368")


def test_machines_without_hours_run_as_in_the_mean():
    demand = document([work()])["demand"]
    assert (demand["level"], set(demand["daily"]), set(demand["weekly"])) == ("200", {"1"}, {"1"})


def test_options_are_today_and_the_targets_from_the_cheapest_on():
    made = document(
        [work()],
        target(Destination.CLOUD, ("n2", "n2", 2), ("n4", "n4", 3)),
        target(Destination.DEDICATED, ("ax41", "AX41", 2)),
    )
    today, cloud, dedicated = made["options"]
    assert (today["name"], today["parts"][0]["price"]["amount"]) == ("today", "300.00")
    assert today["parts"][0]["capacity"] == "200"
    assert cloud["name"] == "another cloud: 2 × n2, 3 × n4"
    # Five carry 190 together, at 200 / 5 a month each: 40 / 730 an hour.
    assert cloud["parts"] == [
        {
            "role": "all",
            "capacity": "40",
            "price": {
                "amount": "0.054795",
                "currency": "EUR",
                "unit": "hour",
                "billing": "per_second",
            },
        }
    ]
    (standing,) = dedicated["parts"]
    assert (standing["count"], standing["capacity"]) == (2, "100")
    assert (standing["price"]["amount"], standing["price"]["unit"]) == ("100.00", "month")


def test_one_type_by_the_hour_keeps_its_offer_and_its_share():
    made = document([work()], target(Destination.CLOUD, ("n2", "n2", 2)))
    (part,) = made["options"][1]["parts"]
    assert part["price"] == {"offer": "n2", "currency": "EUR"}
    assert part["capacity"] == "100"


def test_no_machines_are_no_scenario():
    with pytest.raises(ValueError, match="needs machines"):
        document([])
