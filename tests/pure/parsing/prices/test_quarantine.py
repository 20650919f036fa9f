"""The gate before new prices are published (rules 9, 19 and 27)."""

import datetime as dt
from decimal import Decimal
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.money.price_lists import ParsedPrice
from backend.money.price_lists.quarantine import Anomaly, Limits, PriceCheck
from backend.money.pricing.purchase import PriceUnit, PurchaseModel

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


def checked(prices, previous=(), **known):
    """What a list finds missing, and of each of its prices what becomes of it and why."""
    check = PriceCheck(prices, previous, **known)
    decisions = []
    for price in prices:
        anomalies = {} if check.is_unchanged(price) else check.anomalies(price)
        outcome = (
            "unchanged" if check.is_unchanged(price) else "quarantine" if anomalies else "publish"
        )
        detail = "; ".join(anomalies.values())
        decisions.append(
            SimpleNamespace(outcome=outcome, anomalies=tuple(anomalies), detail=detail)
        )
    return SimpleNamespace(
        decisions=decisions, missing=tuple(check.missing), is_incomplete=check.is_incomplete
    )


def _outcomes(result):
    return [(row.outcome, *row.anomalies) for row in result.decisions]


def test_rule_27_a_first_import_is_published_without_a_check_of_change():
    result = checked([_price("0.107"), _price("0.04", model=SPOT)])
    assert _outcomes(result) == [("publish",), ("publish",)]
    assert not result.is_incomplete


def test_rule_27_a_price_is_unchanged_when_it_is_as_published():
    old = _price("0.107")
    assert _outcomes(checked([_price("0.1070", raw_id="other")], [old])) == [("unchanged",)]
    capped = _price("0.107", monthly_cap=Decimal(60))
    assert _outcomes(checked([capped], [old])) == [("publish",)]


@pytest.mark.parametrize(
    ("new", "outcome"),
    [
        ("1.30", ("publish",)),
        ("1.31", ("quarantine", Anomaly.CHANGED)),
        ("0.70", ("publish",)),
        ("0.69", ("quarantine", Anomaly.CHANGED)),
    ],
)
def test_rule_27_a_price_waits_when_it_changes_by_more_than_30_percent(new, outcome):
    assert _outcomes(checked([_price(new)], [_price("1.00")])) == [outcome]


def test_rule_09_the_real_fall_of_an_accelerator_waits_for_a_person():
    # 98.32 to 55.04 was true, and is rare enough to be looked at.
    result = checked([_price("55.04", "p5.48xlarge")], [_price("98.32", "p5.48xlarge")])
    assert _outcomes(result) == [("quarantine", Anomaly.CHANGED)]
    assert result.decisions[0].detail == "98.32 before, 55.04 now"


@pytest.mark.parametrize(
    ("price", "outcome"),
    [
        (_price("1.05", model=SPOT), ("publish",)),
        (_price("1.06", model=SPOT, zone="use1-az1"), ("quarantine", Anomaly.ABOVE_ON_DEMAND)),
        (_price("0.99", model=RESERVED, term="1y"), ("publish",)),
        (_price("1.00", model=RESERVED, term="1y"), ("quarantine", Anomaly.ABOVE_ON_DEMAND)),
        # 8759 / 8760 and 8760 / 8760 an hour
        (_price("8759", model=RESERVED, term="1y", unit=PriceUnit.ONCE), ("publish",)),
        (
            _price("8760", model=RESERVED, term="1y", unit=PriceUnit.ONCE),
            ("quarantine", Anomaly.ABOVE_ON_DEMAND),
        ),
        (_price("1.00", model=SAVINGS, term="1y"), ("publish",)),
        (_price("1.01", model=SAVINGS, term="1y"), ("quarantine", Anomaly.ABOVE_ON_DEMAND)),
        # Another currency, another machine, and a price without hours cannot be compared.
        (_price("7", model=SPOT, currency="CNY"), ("publish",)),
        (_price("7", "m5.metal", SPOT), ("publish",)),
        (_price("7", model=PurchaseModel.PURCHASE, unit=PriceUnit.ONCE), ("publish",)),
    ],
)
def test_rule_27_a_price_waits_when_it_is_not_below_on_demand(price, outcome):
    assert _outcomes(checked([_price("1.00"), price]))[1] == outcome


def test_rule_27_spot_is_compared_with_the_published_on_demand_price():
    result = checked([_price("2", model=SPOT)], [_price("1"), _price("1.9", model=SPOT)])
    assert Anomaly.ABOVE_ON_DEMAND in result.decisions[0].anomalies


def test_rule_27_spot_is_compared_with_on_demand_of_another_list():
    result = checked([_price("2", model=SPOT)], beside=[_price("1.000000")])
    assert _outcomes(result) == [("quarantine", Anomaly.ABOVE_ON_DEMAND)]
    assert result.decisions[0].detail == "2 an hour, on demand 1"


@pytest.mark.parametrize(
    ("amount", "outcome"),
    [
        ("8", ("publish",)),
        ("8.1", ("quarantine", Anomaly.PER_VCPU)),
        ("0.125", ("publish",)),
        ("0.124", ("quarantine", Anomaly.PER_VCPU)),
    ],
)
def test_rule_27_a_price_waits_when_a_vcpu_costs_8_times_its_family(amount, outcome):
    names = ["m5.large", "m5.xlarge", "m5.2xlarge", "m5.4xlarge"]
    prices = [_price("1", name) for name in names[:3]] + [_price(amount, names[3])]
    vcpus = {("aws", "us-east-1", name): Decimal(1) for name in names}
    assert _outcomes(checked(prices, vcpus=vcpus, family=_family))[3] == outcome


def test_rule_27_vcpus_are_no_gate_when_they_are_not_known():
    prices = [_price("1"), _price("1", "m5.xlarge"), _price("900", "m5.metal")]
    vcpus = {("aws", "us-east-1", "m5.large"): Decimal(1), ("aws", "us-east-1", "m5.metal"): None}
    assert _outcomes(checked(prices, vcpus=vcpus, family=_family)) == [("publish",)] * 3


@pytest.mark.parametrize(("kept", "outcome"), [(95, "publish"), (94, "quarantine")])
def test_rule_27_nothing_is_published_when_over_5_percent_is_missing(kept, outcome):
    old = [_price("1", f"m5.{size}") for size in range(100)]
    new = [_price("1.1", "m5.0"), _price("2", "m5.new"), *old[1:kept]]
    result = checked(new, old)
    assert [row.outcome for row in result.decisions[:2]] == [outcome, outcome]
    assert {row.outcome for row in result.decisions[2:]} == {"unchanged"}
    assert len(result.missing) == 100 - kept
    assert result.is_incomplete == (outcome == "quarantine")


def test_rule_19_a_vanished_price_is_stale_and_not_deleted():
    old = [_price("1", f"m5.{size}") for size in range(40)]
    result = checked(old[1:], old)
    assert result.missing == (old[0],)
    assert {row.outcome for row in result.decisions} == {"unchanged"}
    assert not result.is_incomplete


def test_rule_27_a_price_waits_when_only_its_cap_changes():
    old = _price("0.1", monthly_cap=Decimal(60))
    for cap, outcome in (("42", "publish"), ("41.9", "quarantine"), ("6", "quarantine")):
        (decision,) = checked([_price("0.1", monthly_cap=Decimal(cap))], [old]).decisions
        assert decision.outcome == outcome
    assert decision.detail == "60 a month before, 6 now"
    (without,) = checked([_price("0.1")], [_price("0.1", monthly_cap=Decimal(5))]).decisions
    assert without.anomalies == (Anomaly.CHANGED,)


def test_a_price_waits_when_it_stands_for_one_in_another_currency():
    old = [_price("1"), *(_price("1", f"m5.{size}") for size in range(40))]
    euro = _price("1", currency="EUR")
    (decision, *_) = checked([euro, *old[1:]], old).decisions
    assert (decision.anomalies, decision.detail) == (
        (Anomaly.OTHER_CURRENCY,),
        "1 USD before, 1 EUR now",
    )
    # A list that has both currencies has replaced nothing.
    assert checked([euro, *old], old).decisions[0].outcome == "publish"
    free = Limits(is_currency_free=True)
    assert checked([euro, *old[1:]], old, limits=free).decisions[0].outcome == "publish"


@pytest.mark.parametrize(
    ("present", "new", "outcome"),
    [
        ("2026-07-01", "2026-06-30", ("quarantine", Anomaly.OLDER)),
        ("2026-07-01", "2026-07-01", ("publish",)),
        ("2026-07-01", None, ("publish",)),
        (None, "2026-06-30", ("publish",)),
    ],
)
def test_a_price_waits_when_it_is_older_than_the_one_in_force(present, new, outcome):
    new, old = (day and dt.date.fromisoformat(day) for day in (new, present))
    result = checked([_price("1.1", valid_from=new)], [_price("1", valid_from=old)])
    assert _outcomes(result) == [outcome]
    same = checked([_price("1", valid_from=new)], [_price("1", valid_from=old)])
    assert _outcomes(same) == [("unchanged",)]


def test_every_anomaly_is_listed_when_there_are_several():
    old = [_price("1"), _price("0.5", model=SPOT), _price("1", "c5.large")]
    (decision,) = checked([_price("2", model=SPOT)], old).decisions
    assert decision.anomalies == (Anomaly.ABOVE_ON_DEMAND, Anomaly.CHANGED, Anomaly.ROWS_MISSING)
    assert decision.detail.count(";") == 2


@pytest.mark.parametrize(
    ("moved", "word", "along", "against"),
    [("1.5", "rose", "1.1", "0.9"), ("0.5", "fell", "0.9", "1.1")],
)
def test_a_price_waits_when_it_moves_with_its_list(moved, word, along, against):
    old = [_price("1", f"m5.{size}") for size in range(5)]
    new = [_price(amount, f"m5.{n}") for n, amount in enumerate([moved] * 3 + [along, against])]
    result = checked(new, old)
    assert _outcomes(result) == [
        *[("quarantine", Anomaly.CHANGED, Anomaly.LIST_MOVED)] * 3,
        ("quarantine", Anomaly.LIST_MOVED),
        ("publish",),
    ]
    assert result.decisions[3].detail == f"most prices of the list {word} with it"


def test_a_few_prices_that_change_alike_move_no_list():
    old = [_price("1", f"m5.{size}") for size in range(6)]
    new = [_price("1.5", f"m5.{n}") for n in range(3)]
    result = checked([*new, _price("1.1", "m5.3"), *old[4:]], old)
    assert _outcomes(result)[2:4] == [("quarantine", Anomaly.CHANGED), ("publish",)]


def test_limits_are_those_given():
    limits = Limits(change=Decimal("0.01"))
    result = checked([_price("1.02")], [_price("1")], limits=limits)
    assert _outcomes(result) == [("quarantine", Anomaly.CHANGED)]


@given(st.lists(st.decimals("0.01", "100", places=4), max_size=8))
def test_importing_the_same_twice_changes_nothing(amounts):
    prices = [_price(amount, f"m5.{number}") for number, amount in enumerate(amounts)]
    result = checked(prices, prices)
    assert {row.outcome for row in result.decisions} <= {"unchanged"}
    assert not result.missing
