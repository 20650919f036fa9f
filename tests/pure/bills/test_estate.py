"""The estate behind a bill, from groups of its lines."""

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.bills.calc.classes import BillCharge, ChargeKind, PurchaseKind
from backend.bills.calc.estate import (
    HOUR,
    Group,
    MachineKey,
    MachineUsage,
    Sums,
    Unreadable,
    estate,
    hour_of,
)
from backend.bills.calc.estate_document import estate_document, week
from backend.bills.calc.joined import join_unreadable, join_usage, refuse_repeated_months
from backend.bills.calc.periods import MONTH
from backend.bills.calc.volumes import BillVolume
from backend.foundation.errors import InvalidValue

START = dt.datetime(2024, 9, 2, tzinfo=dt.UTC)  # a Monday
VM = BillCharge(ChargeKind.MACHINE, "aws", "m5.large", PurchaseKind.ON_DEMAND, Fraction(1))
DISK = BillCharge(ChargeKind.STORAGE, "aws")
KEY = MachineKey("aws", "eu", "m5.large", PurchaseKind.ON_DEMAND)


def group(charge=VM, *, billed="1.10", quantity=10, month="2024-09", currency="USD", **sums):
    sums = {"effective": Decimal(billed), "lines": 2} | sums
    whole = Sums(billed=Decimal(billed), quantity=Decimal(quantity), **sums)
    return Group(month, currency, "EC2", "eu", charge, whole)


def usage(hours=4, **given):
    last = START + (hours - 1) * HOUR
    return MachineUsage(**{"first": START, "last": last, **given})


def test_sums_reconcile_and_machines_have_their_hours():
    whole = estate(
        [
            group(),
            group(DISK, billed="0.20"),
            group(month="2024-10", billed="2", listed=Decimal(3)),
        ],
        usage(),
        Unreadable().with_line(7, "no date", Decimal("0.05")),
    )
    assert whole.total == Decimal("3.35")
    assert (whole.lines, whole.hours) == (7, 4)
    assert whole.months == (("2024-09", Decimal("1.30")), ("2024-10", Decimal(2)))
    assert [(kind, sums.billed) for kind, sums in whole.by_kind] == [
        (ChargeKind.MACHINE, Decimal("3.10")),
        (ChargeKind.STORAGE, Decimal("0.20")),
    ]
    assert [(kind, sums.lines) for _, kind, sums in whole.by_service] == [
        (ChargeKind.MACHINE, 4),
        (ChargeKind.STORAGE, 2),
    ]
    (machines,) = whole.machines
    assert (machines.key, machines.hours, machines.sums.listed) == (KEY, Decimal(20), Decimal(3))


def test_curve_and_machines_that_are_always_on_come_from_single_lines():
    begin = hour_of(START)
    by_hour = {KEY: {begin: 2.0, begin + 2: 1.0}}
    by_resource = {KEY: {"a": 4.0, "b": 3.0}}
    (machines,) = estate(
        [group()], usage(by_hour=by_hour, by_resource=by_resource), Unreadable()
    ).machines
    assert machines.curve == [2.0, 0.0, 1.0, 0.0]
    assert (machines.peak, machines.resources, machines.always_on) == (2.0, 2, 1)


def test_daily_lines_have_no_curve():
    (machines,) = estate([group()], usage(step=24 * HOUR), Unreadable()).machines
    assert (machines.curve, machines.peak) == ((), None)


def test_bill_of_two_currencies_is_refused_with_both():
    with pytest.raises(InvalidValue, match="mixes EUR, USD"):
        estate([group(), group(currency="EUR")], usage(), Unreadable())


def test_line_without_a_currency_is_of_the_bills_only_one():
    whole = estate([group(), group(DISK, currency="")], usage(), Unreadable())
    assert (whole.currency, whole.total) == ("USD", Decimal("2.20"))
    with pytest.raises(InvalidValue, match="no line of the bill names its currency"):
        estate([group(currency="")], usage(), Unreadable())


def test_bill_without_a_line_is_refused():
    with pytest.raises(InvalidValue, match=r"no line of the bill can be read$"):
        estate([], MachineUsage(), Unreadable())
    with pytest.raises(InvalidValue, match="can be read; line 2: 'x' is no date"):
        estate([], MachineUsage(), Unreadable().with_line(2, "'x' is no date"))
    assert MachineUsage().hours == 0


def test_only_the_first_unreadable_lines_are_named():
    bad = Unreadable()
    for number in range(30):
        bad = bad.with_line(number, "no amount")
    assert (bad.lines, len(bad.named), bad.named[0]) == (30, 20, (0, "no amount"))


def test_document_has_amounts_as_text_and_shares_of_hours():
    spot = BillCharge(ChargeKind.MACHINE, "aws", "m5.large", PurchaseKind.SPOT, Fraction(1))
    whole = estate(
        [group(), group(spot, quantity=30, listed=Decimal("4.50"))],
        usage(),
        Unreadable().with_line(3, "no date"),
    )
    document = estate_document(whole, hour_of(START))
    assert (document["total"], document["currency"], document["lines"]) == ("2.2", "USD", 5)
    assert document["months"] == [{"month": "2024-09", "total": "2.2"}]
    assert document["by_kind"] == [
        {"kind": "machine", "cost": "2.2", "effective_cost": "2.2", "list_cost": "4.5", "lines": 4}
    ]
    assert document["shares"] == {"on_demand": "0.25", "spot": "0.75", "committed": "0"}
    assert document["unreadable"] == {
        "lines": 1,
        "amount": "0",
        "named": [{"line": 3, "why": "no date"}],
    }
    first = document["machines"][0]
    assert (first["type"], first["hours"], first["count"]) == ("m5.large", "10", "2.5")
    assert (first["peak"], first["list_cost"], first["week"]) == (0.0, None, [])


def test_document_of_a_bill_without_machines_has_no_shares():
    whole = estate([group(DISK)], MachineUsage(), Unreadable())
    document = estate_document(whole, 0)
    assert document["shares"] == {"on_demand": None, "spot": None, "committed": None}
    assert (document["machines"], document["hours"]) == ([], 0)


def test_machines_of_a_bill_without_hours_have_count_zero():
    document = estate_document(estate([group()], MachineUsage(), Unreadable()), 0)
    assert (document["machines"][0]["count"], document["machines"][0]["peak"]) == ("0", None)


def test_week_begins_on_monday_whenever_the_bill_does():
    tuesday = hour_of(START + 24 * HOUR)
    curve = [1.0 if (at + 24) % 168 == 9 else 0.0 for at in range(2 * 168)]
    means = week(curve, tuesday)
    assert (means[9], sum(means), len(means)) == (1.0, 1.0, 168)
    assert week(curve[:100], tuesday) == []


def test_files_of_one_bill_join():
    begin = hour_of(START)
    one = usage(by_hour={KEY: {begin: 1.0}}, by_resource={KEY: {"a": 1.0}})
    other = usage(8, by_hour={KEY: {begin: 2.0}}, by_resource={KEY: {"a": 2.0}}, step=24 * HOUR)
    both = join_usage([one, other, MachineUsage(step=48 * HOUR)])
    assert (both.first, both.last, both.step) == (START, START + 7 * HOUR, HOUR)
    assert both.by_hour[KEY][begin] == 3.0
    assert both.by_resource[KEY]["a"] == 3.0
    bad = join_unreadable(
        [("a.csv", Unreadable().with_line(2, "no date")), ("b.csv", Unreadable().with_line(3, "x"))]
    )
    assert (bad.lines, bad.named) == (2, ((2, "a.csv: no date"), (3, "b.csv: x")))


def test_month_that_comes_twice_is_refused():
    files = [("a.csv", [group(), group(DISK)]), ("b.csv", [group(DISK), group()])]
    with pytest.raises(InvalidValue, match=r"a\.csv and b\.csv have the same lines of 2024-09"):
        refuse_repeated_months(files)
    refuse_repeated_months([("a.csv", [group()]), ("b.csv", [group(billed="1.11")])])


def test_volumes_are_summed_over_lines_in_gb():
    """10 GB twice and 10 TB of traffic; a storage line of another kind counts nothing."""
    disk = BillCharge(ChargeKind.STORAGE, "aws", volume=BillVolume.DISK, gb_per_unit=Fraction(1))
    out = BillCharge(
        ChargeKind.TRAFFIC, "aws", volume=BillVolume.EGRESS, gb_per_unit=Fraction(1000)
    )
    groups = [group(disk), group(disk, billed="-0.10", month="2024-10"), group(DISK), group(out)]
    whole = estate(groups, usage(), Unreadable())
    assert whole.volumes == (
        (BillVolume.DISK, 20, Decimal("1.00")),
        (BillVolume.EGRESS, 10_000, Decimal("1.10")),
    )
    assert estate_document(whole, 0)["volumes"][1] == {
        "volume": "egress",
        "gb": "10000",
        "cost": "1.1",
    }


def test_what_is_not_used_is_summed_apart():
    address = replace(DISK, is_idle=True)
    parts = [group(unused=Decimal("0.40")), group(address), group(DISK)]
    whole = estate(parts, usage(), Unreadable())
    assert (whole.unused, whole.idle) == (Decimal("0.40"), parts[1].sums.billed)
    assert estate_document(whole, 0)["wasted"] == {"commitments": "0.4", "idle": "1.1"}


def test_bill_of_centuries_is_refused_with_its_dates():
    with pytest.raises(InvalidValue, match="of 2024-09 to 2124-08: at most 10 years"):
        estate([group()], usage(hours=100 * 365 * 24), Unreadable())


# --- how long a bill is ---------------------------------------------------------------------------

# January to March.
QUARTER = {
    "first": dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
    "last": dt.datetime(2024, 3, 1, tzinfo=dt.UTC),
    "step": MONTH,
}


def test_months_of_the_calendar_have_their_own_hours():
    whole = MachineUsage(**QUARTER)
    assert whole.hours == (31 + 29 + 31) * 24
    assert whole.months * 730 == pytest.approx(Decimal(2184))


def test_even_months_have_730_hours_each():
    begin = hour_of(QUARTER["first"])
    whole = MachineUsage(**QUARTER, has_even_months=True, by_hour={KEY: {begin: 1460.0}})
    assert (whole.hours, whole.months) == (2190, 3)
    assert list(whole.running(KEY)) == [2.0]


def test_prices_by_the_month_are_of_months_of_the_calendar():
    assert MachineUsage(**QUARTER, is_priced_by_month=True).months == 3
    assert MachineUsage(step=MONTH, is_priced_by_month=True).months == 0
    daily = MachineUsage(**QUARTER | {"step": 24 * HOUR}, is_priced_by_month=True)
    # 61 days and one of March
    assert daily.months * 730 == pytest.approx(Decimal(61 * 24))


# --- discounts, refunds and credits of machines ---------------------------------------------------

LARGE = replace(VM, machine_type="m5.xlarge")
DISCOUNT = BillCharge(ChargeKind.MACHINE, "aws", "m5.large", is_correction=True, is_usage=False)
OF_ALL = replace(DISCOUNT, machine_type="")


def of(charge, billed, region="eu", **given):
    return replace(group(charge, billed=billed, **given), region=region)


def machines_of(*groups):
    """What machines are billed with, their discount and their credit, by region and type."""
    whole = estate(groups, usage(), Unreadable())
    # Whatever is made of corrections, the bill is the sum of its lines.
    assert whole.total == sum(one.sums.billed for one in groups)
    return {
        (one.key.region, one.key.machine_type): (one.sums.billed, one.discount, one.credit)
        for one in whole.machines
    }


def test_discount_is_shared_by_what_machines_of_its_type_were_billed_with():
    groups = [of(VM, "30"), of(VM, "60", "us"), of(LARGE, "10"), of(DISCOUNT, "-9", "")]
    assert machines_of(*groups) == {
        ("eu", "m5.large"): (27, -3, 0),
        ("us", "m5.large"): (54, -6, 0),
        ("eu", "m5.xlarge"): (10, 0, 0),
    }


def test_discount_of_a_region_is_of_its_machines_alone():
    groups = [of(VM, "30"), of(VM, "60", "us"), of(LARGE, "10"), of(OF_ALL, "-4", "eu")]
    assert machines_of(*groups) == {
        ("eu", "m5.large"): (27, -3, 0),
        ("us", "m5.large"): (60, 0, 0),
        ("eu", "m5.xlarge"): (9, -1, 0),
    }


def test_discount_of_another_provider_is_of_no_machine():
    other = replace(OF_ALL, provider="azure")
    assert machines_of(of(VM, "30"), of(other, "-4", "")) == {("eu", "m5.large"): (30, 0, 0)}


def test_machines_that_cost_nothing_share_by_their_hours():
    free = [of(VM, "0", quantity=10), of(LARGE, "0", quantity=30), of(OF_ALL, "-4")]
    assert machines_of(*free) == {
        ("eu", "m5.large"): (-1, -1, 0),
        ("eu", "m5.xlarge"): (-3, -3, 0),
    }


def test_refund_is_beside_what_machines_were_billed_with():
    refund = replace(DISCOUNT, kind=ChargeKind.CREDIT)
    assert machines_of(of(VM, "30"), of(refund, "-5")) == {("eu", "m5.large"): (30, 0, -5)}


@pytest.mark.parametrize(
    ("stated", "spot", "windows"),
    [
        ({}, 0, 0),  # on demand and without a system, as it says
        ({"purchase": PurchaseKind.SPOT}, -6, 0),
        ({"system": "Windows"}, 0, -6),
        # No machine is as stated, so it is of all of its type.
        ({"purchase": PurchaseKind.COMMITTED, "system": "SUSE"}, -2, -2),
    ],
)
def test_discount_goes_by_purchase_and_system_where_machines_have_them(stated, spot, windows):
    kinds = [VM, replace(VM, purchase=PurchaseKind.SPOT), replace(VM, system="Windows")]
    groups = [*(of(kind, "30") for kind in kinds), of(replace(DISCOUNT, **stated), "-6")]
    discounts = {
        (one.key.purchase, one.key.system): one.discount
        for one in estate(groups, usage(), Unreadable()).machines
    }
    assert discounts[PurchaseKind.SPOT, ""] == spot
    assert discounts[PurchaseKind.ON_DEMAND, "Windows"] == windows
    assert sum(discounts.values()) == -6


def test_lines_of_a_correction_count_once():
    groups = [of(VM, "1"), of(VM, "1", "us"), of(DISCOUNT, "-1", "")]
    whole = estate(groups, usage(), Unreadable())
    assert sum(one.sums.lines for one in whole.machines) == sum(one.sums.lines for one in groups)


@given(
    st.lists(st.decimals("0.01", "1e6", places=2), min_size=1, max_size=6),
    st.decimals("-1e6", "-0.01", places=2),
)
def test_shares_of_a_discount_add_up_to_the_digit(billed, discount):
    groups = [of(VM, amount, f"r{n}") for n, amount in enumerate(billed)]
    whole = estate([*groups, of(DISCOUNT, discount, "")], usage(), Unreadable())
    assert sum(one.discount for one in whole.machines) == discount
    assert sum(one.sums.billed for one in whole.machines) == whole.total
    for one in whole.machines:
        gross = one.sums.billed - one.discount
        share = Fraction(gross) / Fraction(sum(billed))
        assert abs(Fraction(one.discount) - share * Fraction(discount)) < Fraction(1, 10**12)
