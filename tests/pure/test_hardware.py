"""Cost of own hardware, against hand-worked sums and what must hold for any set."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.catalog.calc.hardware import annuity, costs_by_year, monthly_cost, spares_needed
from backend.catalog.calc.hardware_assumptions import ASSUMPTIONS, PUBLISHED
from backend.catalog.calc.hardware_document import FIELDS, hardware_from
from backend.foundation.errors import InvalidDocument, InvalidValue

D = Decimal


def item(name, count, unit_price, watts=0):
    return {"name": name, "count": count, "unit_price": unit_price, "watts": watts}


def disk(count, gb, kind="ssd", unit_price=0):
    return {"count": count, "gb": gb, "kind": kind, "unit_price": unit_price}


def lease(price_per_month, term_months):
    return {"price_per_month": price_per_month, "term_months": term_months}


# Everything but capital at nothing, so that one part can be looked at.
BARE = {
    "name": "bare", "currency": "EUR", "servers": 1, "items": [item("server", 1, D(8000))],
    "life_months": 60, "residual_ratio": 0, "discount_rate_per_year": 0, "pue": 1,
    "energy_price_per_kwh": 0, "rack_units": 0, "rack_price_per_unit_month": 0,
    "support_ratio_per_year": 0, "staff_hours_per_month": 0, "staff_price_per_hour": 0,
    "network_price_per_month": 0, "annual_failure_rate": 0, "repair_days": 0,
}  # fmt: skip


def bare(**changes):
    return hardware_from(BARE | changes)


def changed(document, **values):
    return document.model_copy(update=values)


def cents(amount):
    return amount.quantize(D("0.01"))


@pytest.mark.parametrize(
    ("rate", "months", "monthly"),
    [
        ("0", 60, "133.33"),  # 8000 / 60
        ("0.05", 60, "150.97"),  # 8000 · (.05/12) / (1 − (1 + .05/12)^−60)
        ("0.08", 36, "250.69"),  # 8000 · (.08/12) / (1 − (1 + .08/12)^−36)
    ],
)
def test_capital_is_recovered_in_equal_payments(rate, months, monthly):
    cost = monthly_cost(bare(discount_rate_per_year=D(rate), life_months=months))
    assert cents(cost.price_per_month) == D(monthly)
    assert cost.breakdown.capital == cost.price_per_month


def test_annuity_equals_its_closed_form_and_the_months_at_no_interest():
    assert float(annuity(D("0.05"), 60)) == pytest.approx(
        (1 - (1 + 0.05 / 12) ** -60) / (0.05 / 12)
    )
    assert annuity(D(0), 60) == 60
    # the closed form in 34 digits would divide a difference of which no digit is left by 1e-31
    assert abs(annuity(D("1e-30"), 60) - 60) < D("1e-25")


def test_energy_is_the_mean_draw_times_the_sites_overhead():
    rack = bare(
        items=[item("server", 1, D(0), D(350))], pue=D("1.56"), energy_price_per_kwh=D("0.2")
    )
    cost = monthly_cost(rack)
    # 1.56 · 350 W · 730 h / 1000 = 398.58 kWh; · 0.20 = 79.716
    assert (cost.set_energy_kwh_per_month, cost.price_per_month) == (D("398.58"), D("79.716"))
    assert monthly_cost(rack, hours_per_month=D(720)).set_energy_kwh_per_month == D("393.12")


def test_residual_value_comes_back_at_the_end_of_the_life():
    # 0 %: 8000 · .25 / 60 = 33.33 a month less
    kept = bare(residual_ratio=D("0.25"))
    assert cents(monthly_cost(kept).breakdown.residual) == D("-33.33")
    # 5 %: 2000 · (.05/12) / ((1 + .05/12)^60 − 1) = 29.41, the payment that saves 2,000
    saved = monthly_cost(bare(residual_ratio=D("0.25"), discount_rate_per_year=D("0.05")))
    assert cents(saved.breakdown.residual) == D("-29.41")
    assert saved.residual_total == 2000


def test_whole_sum_is_divided_among_the_servers_and_the_hours():
    rack = bare(
        name="rack", currency="USD", servers=10,
        items=[item("server", 10, D(8000), D(300)), item("switch", 1, D(2000), D(150))],
        life_months=60, residual_ratio=D("0.1"), discount_rate_per_year=D(0), pue=D("1.5"),
        energy_price_per_kwh=D("0.2"), rack_units=D(21), rack_price_per_unit_month=D(30),
        support_ratio_per_year=D("0.06"), staff_hours_per_month=D(5), staff_price_per_hour=D(60),
        network_price_per_month=D(100), annual_failure_rate=D("0.05"), repair_days=D(73),
    )  # fmt: skip
    cost = monthly_cost(rack)
    # under repair: 10 · .05 · 73/365 = .1 → P(0) = .9048, P(≤ 1) = .9953: one spare
    assert cost.spares == 1
    # 82,000 and a spare of 82,000 / 10; a tenth of it is left at the end
    assert (cost.capital_total, cost.residual_total) == (90_200, 9_020)
    assert cost.set_watts == 3_150  # 10 · 300 + 150
    parts = {
        "capital": "1366.67",  # 82,000 / 60
        "spares": "136.67",  # 8,200 / 60
        "residual": "-150.33",  # 9,020 / 60
        "energy": "689.85",  # 1.5 · 3,150 · 730 / 1000 · .2
        "space": "630.00",  # 21 · 30
        "support": "410.00",  # 82,000 · .06 / 12
        "staff": "300.00",  # 5 · 60
        "network": "100.00",
        **dict.fromkeys(
            ("transit", "remote_hands", "disks", "installation", "migration", "lease"), "0.00"
        ),
    }
    assert {name: str(cents(part)) for name, part in cost.set_breakdown.amounts.items()} == parts
    # 3,482.85 = the sum of the parts; a tenth of it is the price of one server
    assert cents(cost.set_price_per_month) == D("3482.85")
    assert cost.price_per_month.quantize(D("0.000001")) == D("348.285000")
    assert cost.price_per_hour.quantize(D("0.00001")) == D("0.47710")  # 348.285 / 730
    assert cents(cost.set_price_per_hour) == D("4.77")
    assert cost.breakdown.total == cost.price_per_month
    assert cost.currency == "USD"


@pytest.mark.parametrize(
    ("servers", "rate", "days", "spares"),
    [
        (100, "0", "30", 0),  # nothing fails
        (1, "0.024", "7", 0),  # mean .00046: P(0) = .9995
        (365, "1", "1", 4),  # mean 1: P(≤ 3) = .9810, P(≤ 4) = .9963
        (20, "0.048", "7", 1),  # mean .0184: P(0) = .9818, P(≤ 1) = .9998
        (1000, "0.1", "36.5", 18),  # mean 10: P(≤ 17) = .9857, P(≤ 18) = .9928
    ],
)
def test_spares_cover_the_servers_under_repair(servers, rate, days, spares):
    assert spares_needed(servers, D(rate), D(days)) == spares


def test_default_hardware_is_made_of_the_listed_assumptions():
    named = {"name": "one", "currency": "EUR", "servers": 1}
    cost = monthly_cost(hardware_from({**named, "items": [item("server", 1, D(8000), D(350))]}))
    assert cents(cost.breakdown.capital) == D("150.97")  # 5 %, 60 months
    assert cost.breakdown.energy == D("79.716")  # PUE 1.56, 0.20 a kWh
    assert cents(cost.price_per_month) == D("414.02")
    # 150.97 + 0 + 0 + 79.716 + 1 · 30 + 8000 · .05/12 + 2 · 60 + 0
    assert cost.spares == 0


def test_every_assumption_has_a_default_in_its_range_and_a_source():
    described = {"cpu", "cores", "threads", "memory_gib", "disks", "lease"}
    named = {"name", "currency", "servers", "items"}
    fields = set(FIELDS) - named - described
    assert set(ASSUMPTIONS) == fields
    for one in ASSUMPTIONS.values():
        assert one.low <= one.default <= one.high
        assert one.unit
        assert one.source
    assert all(one.unit and one.source for one in PUBLISHED)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": " "}, "/name"),
        ({"currency": "euro"}, "/currency"),
        ({"servers": 0}, "/servers"),
        ({"servers": True}, "/servers"),
        ({"servers": D("1.5")}, "/servers"),
        ({"items": []}, "/items"),
        ({"items": [item("a", 1, D(1)), item("", 1, D(1))]}, "/items/1/name"),
        ({"items": [item("a", 0, D(1))]}, "/items/0/count"),
        ({"items": [item("a", 1, D(-1))]}, "/items/0/unit_price"),
        ({"items": [item("a", 1, float("nan"))]}, "/items/0/unit_price"),
        ({"items": [item("a", 1, D(1), D("NaN"))]}, "/items/0/watts"),
        ({"disks": [disk(0, D(960))]}, "/disks/0/count"),
        ({"disks": [disk(1, D(960), "tape")]}, "/disks/0/kind"),
        ({"cores": 0}, "/cores"),
        ({"threads": -1}, "/threads"),
        ({"memory_gib": D(-1)}, "/memory_gib"),
        ({"lease": lease(D(250), 0)}, "/lease/term_months"),
        ({"lease": lease(D(-1), 36)}, "/lease/price_per_month"),
        ({"transit_mbit_per_s": D(100)}, "/transit_price_per_mbit_month"),
        ({"remote_hands_hours_per_year": D(2)}, "/remote_hands_price_per_hour"),
        ({"life_months": 0}, "/life_months"),
        ({"life_months": 241}, "/life_months"),
        ({"residual_ratio": D("1.1")}, "/residual_ratio"),
        ({"discount_rate_per_year": D(5)}, "/discount_rate_per_year"),
        ({"pue": D("0.9")}, "/pue"),
        ({"repair_days": D("Infinity")}, "/repair_days"),
    ],
)
def test_field_outside_its_range_is_refused_by_pointer(change, field):
    with pytest.raises(InvalidDocument) as raised:
        bare(**change)
    assert [pointer for pointer, _ in raised.value.errors] == [field]


def test_number_in_floating_point_is_read_as_its_decimal():
    assert bare(items=[item("a", 1, 8000.1)]).items[0].unit_price == D("8000.1")


def test_month_of_impossible_length_is_refused():
    with pytest.raises(InvalidValue) as raised:
        monthly_cost(bare(), hours_per_month=D(0))
    assert raised.value.field == "hours_per_month"


def thousandths(low, high):
    return st.integers(low, high).map(lambda count: D(count) / 1000)


SETS = st.builds(
    lambda servers, rates, items: bare(
        servers=servers, items=[item("part", *each) for each in items], **rates
    ),
    st.integers(1, 40),
    st.fixed_dictionaries(
        {
            "life_months": st.integers(1, 72),
            "residual_ratio": thousandths(0, 900),
            "discount_rate_per_year": thousandths(0, 200),
            "annual_failure_rate": thousandths(0, 400),
            "repair_days": thousandths(0, 60_000),
            "energy_price_per_kwh": thousandths(0, 400),
            "pue": thousandths(1_000, 2_000),
            "support_ratio_per_year": thousandths(0, 200),
            "staff_price_per_hour": thousandths(0, 90_000),
        }
    ),
    st.lists(
        st.tuples(st.integers(1, 50), thousandths(1, 9_000_000), thousandths(0, 900_000)),
        min_size=1,
        max_size=3,
    ),
)
GROWING = (
    "pue", "energy_price_per_kwh", "rack_units", "rack_price_per_unit_month",
    "support_ratio_per_year", "staff_hours_per_month", "staff_price_per_hour",
    "network_price_per_month", "annual_failure_rate", "repair_days", "discount_rate_per_year",
    "unit_price", "watts",
)  # fmt: skip


@given(SETS)
def test_parts_add_up_and_no_more_comes_back_than_was_paid(hardware):
    cost = monthly_cost(hardware)
    whole = cost.set_breakdown
    assert whole.residual <= 0 <= whole.capital + whole.spares + whole.residual
    assert all(part >= 0 for name, part in whole.amounts.items() if name != "residual")
    assert cost.breakdown.total == cost.price_per_month
    total = cost.price_per_month * hardware.servers
    assert abs(total - cost.set_price_per_month) < D("1e-20")


@given(SETS, st.sampled_from(GROWING), thousandths(1, 500))
def test_cost_never_falls_when_anything_gets_dearer(hardware, name, more):
    if name in ("unit_price", "watts"):
        first, *rest = hardware.items
        raised = changed(first, **{name: getattr(first, name) + more})
        dearer = changed(hardware, items=(raised, *rest))
    else:
        dearer = changed(hardware, **{name: getattr(hardware, name) + more})
    cost = monthly_cost(dearer).price_per_month
    assert cost >= monthly_cost(hardware).price_per_month - D("1e-20")
    assert monthly_cost(changed(dearer, residual_ratio=D(1))).price_per_month < cost


@given(st.integers(1, 200), thousandths(0, 1_000), thousandths(0, 90_000))
def test_spares_are_the_least_that_suffice(servers, rate, days):
    mean = float(servers * rate * days / 365)

    def covered(count):
        return math.fsum(math.exp(k * math.log(mean) - mean - math.lgamma(k + 1))
                         for k in range(count + 1))  # fmt: skip

    spares = spares_needed(servers, rate, days)
    if mean:
        assert covered(spares) >= 0.99 - 1e-9
        assert not spares or covered(spares - 1) < 0.99 + 1e-9
    else:
        assert spares == 0


def test_years_of_cash_and_of_straight_line_have_the_same_sum():
    rack = bare(
        life_months=30, residual_ratio=D("0.1"), installation_price=D(600),
        staff_hours_per_month=D(1), staff_price_per_hour=D(50), wage_inflation_per_year=D("0.1"),
    )  # fmt: skip
    years = costs_by_year(rack)
    # 8,000 + 600 at the start and 12 · 50; then 12 · 55; then 6 · 60.50 less a tenth of 8,000
    assert [cents(year.cash) for year in years] == [D("9200.00"), D("660.00"), D("-437.00")]
    # (8,600 − 800) / 30 = 260 a month
    assert [cents(year.straight_line) for year in years] == [
        D("3720.00"),
        D("3780.00"),
        D("1923.00"),
    ]
    assert cents(sum(y.cash for y in years)) == cents(sum(y.straight_line for y in years))


def test_lease_replaces_what_is_bought_and_sold():
    cost = monthly_cost(bare(residual_ratio=D("0.1"), lease=lease(D(250), 36)))
    assert (cost.price_per_month, cost.capital_total, cost.residual_total) == (250, 0, 0)


def test_disks_that_fail_are_replaced():
    disks = [disk(100, D(960), "hdd", D(240))]
    cost = monthly_cost(bare(items=[item("server", 1, D(0))], disks=disks))
    # 100 · 0.0157 · 240 / 12
    assert cost.breakdown.disks == D("31.40")
    assert cost.capital_total == 24_000


def test_wages_that_rise_cost_the_level_amount_of_the_same_worth():
    staff = {"life_months": 24, "staff_hours_per_month": D(1), "staff_price_per_hour": D(100)}
    # 0 %: the mean of 100 and 110
    assert monthly_cost(bare(**staff, wage_inflation_per_year=D("0.1"))).breakdown.staff == 105
