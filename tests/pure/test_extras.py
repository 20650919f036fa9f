"""What is bought beside a machine."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InvalidValue
from backend.money.pricing.extras import (
    DISK,
    EGRESS,
    IP,
    Extra,
    ExtraAmounts,
    Included,
    Tariff,
    cap_hourly,
    extras_of_month,
    inclusions_of,
    tiers_checked,
    tiers_document,
    tiers_of,
)

MONTH = Decimal(730)
# us-east-2: the first 10,240 GB at 0.09, the next 40,960 at 0.085, the next 102,400 at 0.07
TIERS = (
    (Decimal(10_240), Decimal("0.09")),
    (Decimal(51_200), Decimal("0.085")),
    (Decimal(153_600), Decimal("0.07")),
    (None, Decimal("0.05")),
)


def tariff(amount, currency="USD"):
    return Tariff(((None, Decimal(amount)),), currency)


def extras(wanted, included=Included(), tariffs=None, hours=MONTH):  # noqa: B008
    return extras_of_month(wanted, included, tariffs or {}, hours)


def test_nothing_asked_for_costs_nothing_and_is_not_named():
    assert extras(ExtraAmounts(), tariffs={DISK: tariff("0.1")}) == []


def test_egress_is_paid_tier_by_tier():
    # 921.60 + 3,481.60 + 7,168 + 170 = 11,741.20
    found = extras(ExtraAmounts(egress_gb=Decimal(157_000)), tariffs={EGRESS: Tariff(TIERS, "USD")})
    assert found == [Extra(EGRESS, Decimal("11741.20"), "USD")]


def test_included_traffic_is_taken_off_before_the_tiers():
    # 20 TB are in: of 21,000 GB 1,000 are paid
    included = Included(traffic_bytes=20 * 10**12)
    found = extras(
        ExtraAmounts(egress_gb=Decimal(21_000)), included, {EGRESS: tariff("0.001", "EUR")}
    )
    assert found == [Extra(EGRESS, Decimal(1), "EUR")]


def test_what_is_included_needs_no_price():
    included = Included(disk_bytes=160 * 10**9, traffic_bytes=20 * 10**12)
    wanted = ExtraAmounts(disk_gb=Decimal(160), ipv4_count=0, egress_gb=Decimal(20_000))
    assert extras(wanted, included) == [Extra(name, Decimal(0)) for name in (DISK, IP, EGRESS)]
    unlimited = Included(is_traffic_unlimited=True)
    assert extras(ExtraAmounts(egress_gb=Decimal(10**9)), unlimited) == [Extra(EGRESS, Decimal(0))]


def test_an_extra_without_a_known_price_is_unknown_and_never_zero():
    wanted = ExtraAmounts(disk_gb=Decimal(1), ipv4_count=1, egress_gb=Decimal(1))
    assert extras(wanted) == [Extra(name, None) for name in (DISK, IP, EGRESS)]


def test_a_disk_of_unknown_size_counts_as_none():
    # 100 GB at 0.08
    found = extras(ExtraAmounts(disk_gb=Decimal(100)), tariffs={DISK: tariff("0.08")})
    assert found == [Extra(DISK, Decimal(8), "USD")]


def test_addresses_are_paid_by_the_hour_each():
    # 2 · 730 · 0.005
    found = extras(ExtraAmounts(ipv4_count=2), tariffs={IP: tariff("0.005")})
    assert found == [Extra(IP, Decimal("7.3"), "USD")]


def test_addresses_end_at_the_cap_of_a_month_each():
    # 0.5 / 0.0008 = 625 h: 730 hours cost 0.5, 600 hours 0.48, and three addresses thrice that
    of = {IP: Tariff(cap_hourly(Decimal("0.0008"), Decimal("0.5")), "EUR")}
    assert extras(ExtraAmounts(ipv4_count=3), tariffs=of) == [Extra(IP, Decimal("1.5"), "EUR")]
    short = extras(ExtraAmounts(ipv4_count=1), tariffs=of, hours=Decimal(600))
    assert short == [Extra(IP, Decimal("0.48"), "EUR")]
    assert cap_hourly(Decimal("0.005"), None) == ((None, Decimal("0.005")),)


def test_cap_below_zero_is_refused():
    with pytest.raises(InvalidValue, match="monthly_cap"):
        cap_hourly(Decimal(1), Decimal(-1))


def test_price_of_a_machine_says_what_traffic_beyond_costs():
    # 1.19 a TB, of 21 TB one is beyond; it wins over the list of the provider
    told = {"traffic_bytes": 20 * 10**12, "traffic_price_per_tb": "1.19"}
    included = inclusions_of(told, None, "EUR")
    found = extras(ExtraAmounts(egress_gb=Decimal(21_000)), included, {EGRESS: tariff("9")})
    assert found == [Extra(EGRESS, Decimal("1.19"), "EUR")]


def test_included_reads_only_what_it_understands():
    assert inclusions_of({}, 5, "USD") == Included(disk_bytes=5)
    assert inclusions_of({"is_traffic_unlimited": True}, None, "USD").is_traffic_unlimited
    strange = {"traffic_bytes": "many", "is_traffic_unlimited": "yes", "accelerators": 2}
    assert inclusions_of(strange, None, "USD") == Included()


@pytest.mark.parametrize(
    "tiers",
    [
        (),
        ((Decimal(5), Decimal(1)),),
        ((Decimal(5), Decimal(1)), (Decimal(5), Decimal(2)), (None, Decimal(1))),
        ((Decimal(0), Decimal(1)), (None, Decimal(1))),
        ((None, Decimal(-1)),),
        ((None, Decimal("NaN")),),
        (*((Decimal(n), Decimal(1)) for n in range(1, 21)), (None, Decimal(1))),
    ],
)
def test_tiers_that_cannot_be_are_refused(tiers):
    with pytest.raises(InvalidValue):
        tiers_checked(tiers)


amounts = st.decimals(0, 10, places=6)
tier_lists = st.lists(
    st.tuples(st.integers(1, 10**6), amounts), max_size=4, unique_by=lambda tier: tier[0]
).flatmap(
    lambda bounded: amounts.map(
        lambda last: (*((Decimal(b), a) for b, a in sorted(bounded)), (None, last))
    )
)


@given(tier_lists)
def test_tiers_survive_their_document(tiers):
    assert tiers_of(tiers_document(tiers_checked(tiers))) == tiers


@given(tier_lists, st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**16))
def test_more_traffic_never_costs_less_and_more_included_never_more(tiers, small, more, included):
    of = {EGRESS: Tariff(tiers, "USD")}

    def cost(gb, traffic_bytes):
        [found] = extras(
            ExtraAmounts(egress_gb=Decimal(gb)), Included(traffic_bytes=traffic_bytes), of
        )
        return found.amount

    assert cost(small, included) <= cost(small + more, included)
    assert cost(small, included) <= cost(small, None)
