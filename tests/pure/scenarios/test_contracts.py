"""Contracts of projects that may end, against worked figures and a sum over all endings."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InvalidDocument, InvalidValue
from backend.scenarios.calc.contracts import Exposure, endings, exposure
from backend.scenarios.calc.documents import scenario_from
from backend.scenarios.calc.simulate import simulate
from tests.pure.scenarios.documents import Document, all_of, hybrid, price, startup


def exposed(hazard: str, horizon: int, minimum: int) -> Exposure:
    """Of a contract with so many least months, then month by month."""
    paid = [max(month, minimum) for month in range(1, horizon + 1)]
    return exposure(endings(Fraction(hazard), horizon), paid)


@pytest.mark.parametrize(
    ("hazard", "months", "ratio"),
    [
        ("0.1", 1, 1.0),
        ("0.1", 3, 1.0315),
        ("0.1", 6, 1.1428),
        ("0.1", 12, 1.5242),
        ("0.1", 24, 2.608),
        ("0.05", 12, 1.1982),
        ("0.3", 12, 3.6143),
    ],
)
def test_contract_makes_a_month_dearer(hazard: str, months: int, ratio: float) -> None:
    found = exposed(hazard, 24, months)
    assert float(found.ratio) == pytest.approx(ratio, abs=5e-5)


def test_project_that_may_fail_runs_nine_months_of_24() -> None:
    found = exposed("0.1", 24, 12)
    assert float(found.active_months) == pytest.approx(9.2023, abs=5e-5)  # (1 − .9^24) / .1
    # 12 months of contract at 100 a month, then month by month
    assert float(found.paid_months * 100) == pytest.approx(1402.66, abs=5e-3)
    # the cloud wins up to this price of a month: 100 × paid / active
    assert float(100 * found.ratio) == pytest.approx(152.42, abs=5e-3)


@given(st.fractions(0, 1, max_denominator=50), st.integers(1, 12))
def test_endings_are_a_distribution_that_the_horizon_cuts(hazard: Fraction, horizon: int) -> None:
    ends = endings(hazard, horizon)
    assert (len(ends), sum(ends)) == (horizon, 1)
    # alive at the start of month t with (1 − h)^t
    assert exposure(ends, [1] * horizon).active_months == sum(
        (1 - hazard) ** month for month in range(horizon)
    )


@pytest.mark.parametrize(
    ("hazard", "months", "field"),
    [(Fraction(2), 1, "/hazard_per_month"), (Fraction(0), 0, "/horizon/months")],
)
def test_endings_are_refused_outside_their_range(hazard: Fraction, months: int, field: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        endings(hazard, months)
    assert refused.value.field == field


# --- cash ---------------------------------------------------------------------------------------


def may_end(option: Document, hazard: str, months: int = 24, **contract: int) -> Document:
    """The contract of one server that is needed all the time, of a project that may end."""
    document = startup(
        option,
        horizon={"start": "2026-01-01T00:00:00+00:00", "months": months, "step_s": 3600},
        demand={"unit": "servers", "kind": "daily", "base": 1, "windows": []},
        hazard_per_month=hazard,
        contract=contract,
    )
    found = simulate(document)["options"][0]["contract"]
    return dict(found)


def test_setup_is_paid_in_full_whenever_the_project_ends() -> None:
    """W9, rule 29b: the fee was scaled by the months that the project runs."""
    rented = all_of("d", price("100", "dedicated", setup="1000"), count=1)
    found = may_end(rented, "0.1")
    assert Decimal(found["expected_cost"]) == pytest.approx(Decimal("1920.23"), abs=Decimal("0.01"))
    assert Decimal(found["cost_if_it_ends_first"]) == 1100


OWN = {
    "name": "own",
    "currency": "USD",
    "servers": 1,
    "items": [{"name": "server", "count": 1, "unit_price": "3000"}],
    "residual_ratio": "0.1",
    "discount_rate_per_year": "0",
    "support_ratio_per_year": "0",
    "rack_units": "0",
    "annual_failure_rate": "0",
    "staff_hours_per_month": "1",
    "staff_price_per_hour": "73",
    "energy_price_per_kwh": "0",
    "rack_price_per_unit_month": "0",
}


def test_own_hardware_is_sold_and_runs_up_no_cost_after_the_end() -> None:
    """N21: a server was sold for 98 % of its price after a month."""
    bought = all_of("own", {"billing": "purchase", "hardware": OWN}, count=1)
    found = may_end(bought, "0.1", months=2)
    # Resale 0.6 at first and 0.1 after 60 months of 730 h: 0.6 − 0.5 · hours / 43,800 of 3,000;
    # work costs 0.1 an hour.
    first, both = (
        3000 * (1 - Decimal("0.6") + Decimal("0.5") * hours / 43_800) + hours * Decimal("0.1")
        for hours in (744, 1416)
    )
    assert Decimal(found["cost_if_it_ends_first"]) == pytest.approx(first, abs=Decimal("1e-6"))
    mean = Decimal("0.1") * first + Decimal("0.9") * both
    assert Decimal(found["expected_cost"]) == pytest.approx(mean, abs=Decimal("1e-6"))


def test_own_hardware_of_12000_loses_thousands_in_its_first_month() -> None:
    """N21: 393.10 were shown; used servers lose 30 to 50 % at once, so 4,000 to 6,000."""
    own = OWN | {
        "items": [{"name": "server", "count": 1, "unit_price": "12000"}],
        "residual_ratio": "0",
        "staff_hours_per_month": "0",
    }
    bought = all_of("own", {"billing": "purchase", "hardware": own}, count=1)
    # 12,000 · (1 − 0.6 + 0.6 · 744 / 43,800) = 4,922.30
    found = Decimal(may_end(bought, "0.1")["cost_if_it_ends_first"])
    assert found == pytest.approx(Decimal("4922.30"), abs=Decimal("0.01"))


def committed(months: int, given: Document, **more: object) -> Document:
    """The option of one server over so many months from January 2026 on."""
    document = startup(
        all_of("one", given, count=1),
        horizon={"start": "2026-01-01T00:00:00+00:00", "months": months, "step_s": 3600},
        demand={"unit": "servers", "kind": "daily", "base": 1, "windows": []},
        **more,
    )
    return dict(simulate(document)["options"][0])


def test_reservation_renews_when_its_term_ends_within_the_horizon() -> None:
    """N20: 13 months are 9,504 h, two terms 17,520 h; 8,016 h at 0.17 are 1,362.72."""
    found = committed(13, price("0.17", "reserved"))
    assert Decimal(found["committed_after_horizon"]) == Decimal("1362.72")
    assert Decimal(committed(12, price("0.17", "reserved"))["committed_after_horizon"]) == 0


def test_renewal_that_has_begun_is_paid_to_its_end() -> None:
    """N20: 12 · (1 − 0.9^12) + 24 · 0.9^12 = 15.389 months are paid, and not 14.0."""
    found = committed(24, price("0.17", "reserved"), hazard_per_month="0.1")["contract"]
    assert found["paid_months"] == pytest.approx(15.389, abs=5e-4)


@pytest.mark.parametrize("months", [12, 24, 36, 60])
def test_term_of_whole_years_covers_a_leap_year_too(months: int) -> None:
    found = committed(months, price("1", "reserved", term_months=months))
    assert Decimal(found["committed_after_horizon"]) == 0


def test_term_that_does_not_renew_is_followed_by_its_price_after() -> None:
    """12 months are 8,760 h at 0.17; January 2027 has 744 h at 0.30."""
    found = committed(13, price("0.17", "reserved", renews=False, after="0.30"))
    assert Decimal(found["cost_total"]) == 8760 * Decimal("0.17") + 744 * Decimal("0.30")
    assert Decimal(found["committed_after_horizon"]) == 0
    same = price("0.17", "reserved", renews=False, after={"amount": "0.30", "unit": "hour"})
    assert committed(13, same)["cost_total"] == found["cost_total"]


def test_base_whose_term_is_over_pays_its_price_after() -> None:
    """Two servers, one of them reserved: the other costs 0.40 in all 9,504 h."""
    base = price("0.17", "reserved", renews=False, after="0.30")
    document = startup(
        hybrid("two", base, price("0.40"), count=1),
        horizon={"start": "2026-01-01T00:00:00+00:00", "months": 13, "step_s": 3600},
        demand={"unit": "servers", "kind": "daily", "base": 2, "windows": []},
    )
    [found] = simulate(document)["options"]
    expected = 8760 * Decimal("0.17") + 744 * Decimal("0.30") + 9504 * Decimal("0.40")
    assert Decimal(found["cost_total"]) == expected


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (price("1", "reserved", renews=False), "after"),
        (price("1", "savings", commit_per_hour="1", discount="0.1", renews=False), "after"),
        ({"billing": "purchase", "hardware": OWN, "renews": False}, "after"),
        (price("1", "reserved", after="1"), "after"),
        (
            price("1", "reserved", renews=False, after={"amount": "1", "currency": "EUR"}),
            "after/currency",
        ),
    ],
)
def test_price_after_a_term_is_needed_where_it_does_not_renew(given: Document, field: str) -> None:
    with pytest.raises(InvalidDocument) as refused:
        simulate(startup(all_of("one", given, count=1)))
    assert f"/options/0/parts/0/price/{field}" in dict(refused.value.errors)


@pytest.mark.parametrize(
    ("option", "pointer"),
    [
        (all_of("own", {"billing": "purchase", "hardware": OWN}), "parts/0/count"),
        (
            hybrid("own", price("100", "monthly"), {"billing": "purchase", "hardware": OWN}, 2),
            "parts/1/price/billing",
        ),
        (
            {
                "name": "own",
                "parts": [
                    {"role": "base", "price": {"billing": "purchase", "hardware": OWN}},
                    {"role": "burst", "price": price("1")},
                ],
            },
            "parts/0/count",
        ),
    ],
)
def test_own_servers_need_a_count_and_never_burst(option: Document, pointer: str) -> None:
    """N19: without a count they were billed by the hour they ran."""
    with pytest.raises(InvalidDocument) as refused:
        simulate(startup(option))
    assert f"/options/0/{pointer}" in dict(refused.value.errors)


def test_own_servers_are_paid_for_the_whole_time_whatever_runs() -> None:
    """N19: what is bought is bought; 3 or 20 busy servers cost the same."""
    found = [
        Decimal(
            simulate(
                startup(
                    all_of("own", {"billing": "purchase", "hardware": OWN}, count=20),
                    demand={"unit": "servers", "kind": "daily", "base": base, "windows": []},
                )
            )["options"][0]["cost_total"]
        )
        for base in (3, 20)
    ]
    # 20 · (2,700 / 60 + 73) · 720 / 730
    assert found[0] == found[1] == pytest.approx(Decimal("2327.67"), abs=Decimal("0.01"))


@pytest.mark.parametrize(
    ("option", "hours"),
    [
        (all_of("rented", price("1", "monthly"), count=20), 20 * 2),
        (all_of("elastic", price("1")), 2),  # one image
        (hybrid("both", price("1", "monthly"), price("1"), 3), 4 * 2),
        (all_of("own", {"billing": "purchase", "hardware": OWN}, count=20), 20 * 2 + 20),
    ],
)
def test_staff_looks_after_every_server_that_is_always_on(option: Document, hours: int) -> None:
    """M7: own servers had two hours each, rented ones none."""
    extras = {
        "staff_hours_per_server_month": 2,
        "hardware_hours_per_server_month": 1,
        "staff_usd_per_hour": 60,
    }
    found = simulate(startup(option, extras=extras))["options"][0]
    assert Decimal(found["breakdown"]["staff"]) == hours * 60


@pytest.mark.parametrize(
    ("at", "duration_s", "busy"),
    [
        ("01:30", 5400, [2]),  # to 03:00, which is the start of a step that it does not cover
        ("01:00", 3600, [1]),
        ("01:01", 3540, []),
        ("01:30", 5401, [2, 3]),
        ("00:00", 1, [0]),
    ],
)
def test_event_counts_in_the_steps_that_start_within_it(
    at: str, duration_s: int, busy: list[int]
) -> None:
    """N22, rule 1: an event off the grid lasted a step too long."""
    event = {"at": f"2026-01-01T{at}:00+00:00", "duration_s": duration_s, "level": 5}
    document = startup(
        all_of("one", price("1")),
        horizon={"start": "2026-01-01T00:00:00+00:00", "days": 1, "step_s": 3600},
        demand={"unit": "servers", "kind": "composed", "level": 0, "events": [event]},
    )
    values = scenario_from(document).demand.values
    assert [step for step, value in enumerate(values) if value] == busy


@pytest.mark.parametrize("billing", ["monthly", "dedicated"])
@pytest.mark.parametrize(
    ("contract", "months"),
    [
        ({}, 1),
        ({"notice_days": 14}, 2),  # to 14 February
        ({"notice_days": 30}, 3),  # to 2 March
        ({"notice_days": 30, "minimum_months": 5}, 5),
    ],
)
def test_fees_go_on_to_the_end_of_notice_or_term(
    billing: str, contract: dict[str, int], months: int
) -> None:
    """W19, rule 29b: the notice was accepted and had no effect."""
    rented = all_of("d", price("100", billing), count=1)
    found = may_end(rented, "1", **contract)
    assert Decimal(found["expected_cost"]) == 100 * months
    assert found["paid_months"] == months


def test_notice_of_a_nominal_month_is_paid_by_its_hours() -> None:
    rented = all_of("d", price("73", "monthly", month_convention=730), count=1)
    found = may_end(rented, "1", notice_days=10)
    assert Decimal(found["expected_cost"]) == Decimal("0.1") * (744 + 240)


def test_what_is_bound_to_nothing_ends_with_the_project() -> None:
    found = may_end(all_of("cloud", price("1")), "1", notice_days=30, minimum_months=12)
    assert (Decimal(found["expected_cost"]), found["paid_months"]) == (744, 1)


def test_reservation_is_owed_for_its_term_when_the_project_ends() -> None:
    """Rules 29b and c: one server, covered by the reservation in the month that the project lasts."""
    reserved = price("0.5", "reserved", term_months=12)
    found = may_end(hybrid("both", reserved, price("1"), count=1), "1")
    assert Decimal(found["expected_cost"]) == 12 * 730 * Decimal("0.5")


@pytest.mark.parametrize(
    ("committed", "owed"),
    [
        (price("1", "reserved", term_months=12), 12 * 730 - 720),
        (
            price("3", "savings", commit_per_hour="2", discount="0", term_months=2),
            2 * (2 * 730 - 720),
        ),
        (price("3", "savings", commit_per_hour="2", discount="0"), 2 * (12 * 730 - 720)),
    ],
)
def test_commitment_is_owed_for_every_hour_of_its_term(committed: Document, owed: int) -> None:
    """Rule 29c: what a savings plan still owes was left out."""
    found = simulate(startup(all_of("one", committed, count=1)))["options"][0]
    assert Decimal(found["committed_after_horizon"]) == owed


@pytest.mark.parametrize(("contract", "said"), [({"notice_days": 30}, ["30"]), ({}, [])])
def test_contract_that_no_hazard_touches_is_said_to_be_idle(
    contract: dict[str, int], said: list[str]
) -> None:
    document = startup(all_of("one", price("1")), contract=contract)
    assumed = {one["name"]: one["value"] for one in simulate(document)["assumptions"]}
    assert [value for name, value in assumed.items() if "notice_days" in name] == said


def test_notice_in_words_stands_among_the_assumptions() -> None:
    """W19: the words of a dedicated price were accepted and shown nowhere."""
    rented = price("100", "dedicated", notice="a month before its end")
    assumed = {one["name"]: one for one in simulate(startup(all_of("d", rented)))["assumptions"]}
    assert assumed["notice, d"]["value"] == "a month before its end"
