"""The gate before new prices are published (rules 9, 19 and 27)."""

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.domain.parsing.prices import ParsedPrice
from backend.domain.parsing.prices.quarantine import Doubt, Limits, Outcome, verdict
from backend.domain.pricing.purchase import PriceUnit, PurchaseModel

SPOT, RESERVED, SAVINGS = PurchaseModel.SPOT, PurchaseModel.RESERVED, PurchaseModel.SAVINGS


def _family(name):
    return name.partition(".")[0]


def _price(amount, offer="m5.large", model=PurchaseModel.ON_DEMAND, **fields):
    return ParsedPrice(
        **{
            "provider": "aws",
            "offer": offer,
            "region": "us-east-1",
            "purchase_model": model,
            "amount": Decimal(amount),
            "currency": "USD",
            "unit": PriceUnit.HOUR,
            "source": "test",
            "raw_id": offer,
            **fields,
        }
    )


def _outcomes(found):
    return [(row.outcome.value, *row.doubts) for row in found.decisions]


def test_rule_27_a_first_import_is_published_without_a_check_of_change():
    found = verdict([_price("0.107"), _price("0.04", model=SPOT)])
    assert _outcomes(found) == [("publish",), ("publish",)]
    assert not found.is_torn


def test_rule_27_a_price_is_unchanged_when_it_is_as_published():
    old = _price("0.107")
    assert _outcomes(verdict([_price("0.1070", raw_id="other")], [old])) == [("unchanged",)]
    capped = _price("0.107", monthly_cap=Decimal(60))
    assert _outcomes(verdict([capped], [old])) == [("publish",)]


@pytest.mark.parametrize(
    ("new", "outcome"),
    [
        ("1.30", ("publish",)),
        ("1.31", ("quarantine", Doubt.CHANGED)),
        ("0.70", ("publish",)),
        ("0.69", ("quarantine", Doubt.CHANGED)),
    ],
)
def test_rule_27_a_price_waits_when_it_changes_by_more_than_30_percent(new, outcome):
    assert _outcomes(verdict([_price(new)], [_price("1.00")])) == [outcome]


def test_rule_09_the_real_fall_of_an_accelerator_waits_for_a_person():
    # 98.32 to 55.04 was true, and is rare enough to be looked at.
    found = verdict([_price("55.04", "p5.48xlarge")], [_price("98.32", "p5.48xlarge")])
    assert _outcomes(found) == [("quarantine", Doubt.CHANGED)]
    assert found.decisions[0].detail == "98.32 before, 55.04 now"


@pytest.mark.parametrize(
    ("price", "outcome"),
    [
        (_price("1.05", model=SPOT), ("publish",)),
        (_price("1.06", model=SPOT, zone="use1-az1"), ("quarantine", Doubt.ABOVE_ON_DEMAND)),
        (_price("0.99", model=RESERVED, term="1y"), ("publish",)),
        (_price("1.00", model=RESERVED, term="1y"), ("quarantine", Doubt.ABOVE_ON_DEMAND)),
        # 8759 / 8760 and 8760 / 8760 an hour
        (_price("8759", model=RESERVED, term="1y", unit=PriceUnit.ONCE), ("publish",)),
        (
            _price("8760", model=RESERVED, term="1y", unit=PriceUnit.ONCE),
            ("quarantine", Doubt.ABOVE_ON_DEMAND),
        ),
        (_price("1.00", model=SAVINGS, term="1y"), ("publish",)),
        (_price("1.01", model=SAVINGS, term="1y"), ("quarantine", Doubt.ABOVE_ON_DEMAND)),
        # Another currency, another machine, and a price without hours cannot be compared.
        (_price("7", model=SPOT, currency="CNY"), ("publish",)),
        (_price("7", "m5.metal", SPOT), ("publish",)),
        (_price("7", model=PurchaseModel.PURCHASE, unit=PriceUnit.ONCE), ("publish",)),
    ],
)
def test_rule_27_a_price_waits_when_it_is_not_below_on_demand(price, outcome):
    assert _outcomes(verdict([_price("1.00"), price]))[1] == outcome


def test_rule_27_spot_is_compared_with_the_published_on_demand_price():
    found = verdict([_price("2", model=SPOT)], [_price("1"), _price("1.9", model=SPOT)])
    assert Doubt.ABOVE_ON_DEMAND in found.decisions[0].doubts


def test_rule_27_spot_is_compared_with_on_demand_of_another_list():
    found = verdict([_price("2", model=SPOT)], beside=[_price("1.000000")])
    assert _outcomes(found) == [("quarantine", Doubt.ABOVE_ON_DEMAND)]
    assert found.decisions[0].detail == "2 an hour, on demand 1"


@pytest.mark.parametrize(
    ("amount", "outcome"),
    [
        ("8", ("publish",)),
        ("8.1", ("quarantine", Doubt.PER_VCPU)),
        ("0.125", ("publish",)),
        ("0.124", ("quarantine", Doubt.PER_VCPU)),
    ],
)
def test_rule_27_a_price_waits_when_a_vcpu_costs_8_times_its_family(amount, outcome):
    names = ["m5.large", "m5.xlarge", "m5.2xlarge", "m5.4xlarge"]
    prices = [_price("1", name) for name in names[:3]] + [_price(amount, names[3])]
    vcpus = {("aws", "us-east-1", name): Decimal(1) for name in names}
    assert _outcomes(verdict(prices, vcpus=vcpus, family=_family))[3] == outcome


def test_rule_27_vcpus_are_no_gate_when_they_are_not_known():
    prices = [_price("1"), _price("1", "m5.xlarge"), _price("900", "m5.metal")]
    vcpus = {("aws", "us-east-1", "m5.large"): Decimal(1), ("aws", "us-east-1", "m5.metal"): None}
    assert _outcomes(verdict(prices, vcpus=vcpus, family=_family)) == [("publish",)] * 3


@pytest.mark.parametrize(("kept", "outcome"), [(95, "publish"), (94, "quarantine")])
def test_rule_27_nothing_is_published_when_over_5_percent_is_missing(kept, outcome):
    old = [_price("1", f"m5.{size}") for size in range(100)]
    new = [_price("1.1", "m5.0"), _price("2", "m5.new"), *old[1:kept]]
    found = verdict(new, old)
    assert [row.outcome.value for row in found.decisions[:2]] == [outcome, outcome]
    assert {row.outcome for row in found.decisions[2:]} == {Outcome.UNCHANGED}
    assert len(found.missing) == 100 - kept
    assert found.is_torn == (outcome == "quarantine")


def test_rule_19_a_vanished_price_is_stale_and_not_deleted():
    old = [_price("1", f"m5.{size}") for size in range(40)]
    found = verdict(old[1:], old)
    assert found.missing == (old[0],)
    assert {row.outcome for row in found.decisions} == {Outcome.UNCHANGED}
    assert not found.is_torn


def test_rule_27_a_price_waits_when_only_its_cap_changes():
    old = _price("0.1", monthly_cap=Decimal(60))
    for cap, outcome in (("42", "publish"), ("41.9", "quarantine"), ("6", "quarantine")):
        (decision,) = verdict([_price("0.1", monthly_cap=Decimal(cap))], [old]).decisions
        assert decision.outcome == outcome
    assert decision.detail == "60 a month before, 6 now"
    (without,) = verdict([_price("0.1")], [_price("0.1", monthly_cap=Decimal(5))]).decisions
    assert without.doubts == (Doubt.CHANGED,)


def test_a_price_waits_when_it_stands_for_one_in_another_currency():
    old = [_price("1"), *(_price("1", f"m5.{size}") for size in range(40))]
    euro = _price("1", currency="EUR")
    (decision, *_) = verdict([euro, *old[1:]], old).decisions
    assert (decision.doubts, decision.detail) == (
        (Doubt.OTHER_CURRENCY,),
        "1 USD before, 1 EUR now",
    )
    # A list that tells both currencies has replaced nothing.
    assert verdict([euro, *old], old).decisions[0].outcome is Outcome.PUBLISH
    free = Limits(is_currency_free=True)
    assert verdict([euro, *old[1:]], old, limits=free).decisions[0].outcome is Outcome.PUBLISH


@pytest.mark.parametrize(
    ("held", "told", "outcome"),
    [
        ("2026-07-01", "2026-06-30", ("quarantine", Doubt.OLDER)),
        ("2026-07-01", "2026-07-01", ("publish",)),
        ("2026-07-01", None, ("publish",)),
        (None, "2026-06-30", ("publish",)),
    ],
)
def test_a_price_waits_when_it_is_older_than_the_one_in_force(held, told, outcome):
    new, old = (day and dt.date.fromisoformat(day) for day in (told, held))
    found = verdict([_price("1.1", effective_from=new)], [_price("1", effective_from=old)])
    assert _outcomes(found) == [outcome]
    same = verdict([_price("1", effective_from=new)], [_price("1", effective_from=old)])
    assert _outcomes(same) == [("unchanged",)]


def test_every_anomaly_is_listed_when_there_are_several():
    old = [_price("1"), _price("0.5", model=SPOT), _price("1", "c5.large")]
    (decision,) = verdict([_price("2", model=SPOT)], old).decisions
    assert decision.doubts == (Doubt.ABOVE_ON_DEMAND, Doubt.CHANGED, Doubt.ROWS_MISSING)
    assert decision.detail.count(";") == 2


def test_limits_are_those_given():
    limits = Limits(change=Decimal("0.01"))
    found = verdict([_price("1.02")], [_price("1")], limits=limits)
    assert _outcomes(found) == [("quarantine", Doubt.CHANGED)]


@given(st.lists(st.decimals("0.01", "100", places=4), max_size=8))
def test_importing_the_same_twice_changes_nothing(amounts):
    prices = [_price(amount, f"m5.{place}") for place, amount in enumerate(amounts)]
    found = verdict(prices, prices)
    assert {row.outcome for row in found.decisions} <= {Outcome.UNCHANGED}
    assert not found.missing
