import csv
import math
from decimal import Decimal
from pathlib import Path

import pytest

from backend.foundation.errors import InvalidValue
from backend.measure import cmips
from backend.measure.metrics import metric
from backend.measure.stats import summary_of_source
from backend.money.pricing import price_per_period
from tests.pure.candidates import RankedOffer, ranked

PUBLISHED = Path(__file__).parents[2] / "fixtures/published/cmips_2013.csv"


def published_rows():
    with PUBLISHED.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def per_hour(row):
    return price_per_period(Decimal(row["amount"]), row["unit"], "hour", Decimal(720))


@pytest.mark.parametrize("row", published_rows(), ids=lambda row: row["slug"])
def test_cup_equals_the_published_one_in_every_printed_digit(row):
    printed = Decimal(row["cup_published_usd_per_hour"])
    computed = cmips.cup(per_hour(row), float(row["cmips_score"]))
    assert computed.quantize(printed) == printed
    assert abs(computed / printed - 1) < Decimal("1e-6")


def test_ranking_of_2013_has_the_published_order():
    rows = published_rows()
    offers = [
        RankedOffer(
            offer_id=row["slug"],
            summary=summary_of_source(
                float(row["cmips_score"]), None, None, between_instance_cv=0.05
            ),
            price=float(per_hour(row)),
        )
        for row in rows
    ]
    result = ranked(offers[::-1], metric("cmips_score"))
    assert [offer.offer_id for offer, _ in result] == [row["slug"] for row in rows]
    assert [standing.rank for _, standing in result] == list(range(1, 18))
    groups = [standing.tie_group for _, standing in result]
    # Spreads of 5 %: a group ends at the first row below its first's value / e^(1.96 · √2 · 0.05) = 1.149,
    # as 51,372 / 46,008 = 1.117 and 46,008 / 28,226 = 1.63.
    assert groups == [1, 1, 2, 3, 3, 4, 4, 5, 5, 6, 7, 7, 7, 8, 8, 8, 9]


@pytest.mark.parametrize(
    ("price", "score", "expected"),
    # Azure 2014, no CUP published: 0.060/554, 0.24/2142, 1.29/4412, 0.48/4412
    [
        ("0.060", 554, "0.0001083032"),
        ("0.24", 2142, "0.0001120448"),
        ("1.29", 4412, "0.0002923844"),
        ("0.48", 4412, "0.0001087942"),
    ],
)
def test_cup_of_rows_without_a_published_one(price, score, expected):
    assert cmips.cup(Decimal(price), score).quantize(Decimal(expected)) == Decimal(expected)


def test_cup_has_at_least_20_significant_digits_when_it_does_not_end():
    assert len(cmips.cup(Decimal("2.40"), 16608).as_tuple().digits) == 34


def test_score_is_iterations_per_second_over_1024000():
    # 2.048e12 iterations in 100 s = 2.048e10 /s = 20,000 × 1,024,000
    assert cmips.score(2_048_000_000_000, 100.0) == 20_000
    assert cmips.score(1_024_000, 1.0) == 1


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(40_816, 49), (9_852, 203), (3_610, 554), (1_401.5, 1427), (467.2, 4280), (125, 16_000)],
)
def test_score_truncated_is_what_version_1_0_5_prints(seconds, expected):
    # 200 threads of 32,000 × 32,000 × 10 iterations
    assert math.trunc(cmips.score(2_048_000_000_000, seconds)) == expected


@pytest.mark.parametrize(("seconds", "expected"), [(62.5, 16_000), (300, 3333), (6.45, 155_038)])
def test_score_truncated_is_what_version_1_0_4_prints(seconds, expected):
    # 100 threads; 3333.33 and 155,038.76 are truncated, not rounded
    assert math.trunc(cmips.score(1_024_000_000_000, seconds)) == expected


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.inf, math.nan])
def test_score_refuses_a_time_that_is_no_time(seconds):
    with pytest.raises(InvalidValue):
        cmips.score(10, seconds)


def test_score_refuses_no_iterations_instead_of_scoring_zero():
    with pytest.raises(InvalidValue):
        cmips.score(0, 1.0)


def test_scaling_efficiency_is_one_when_threads_add_up():
    assert cmips.scaling_efficiency(1493.0, 746.5, 2) == 1.0
    assert cmips.scaling_efficiency(1200.0, 800.0, 2) == 0.75


def test_cpu_share_is_seconds_received_over_seconds_on_offer():
    assert cmips.cpu_share(9.5, 5.0, 2) == 0.95
    assert cmips.cpu_share(0.0, 5.0, 2) == 0.0


def test_cpu_share_refuses_negative_seconds():
    with pytest.raises(InvalidValue):
        cmips.cpu_share(-0.1, 5.0, 2)


@pytest.mark.parametrize(
    ("share", "foreign", "steal", "expected"),
    [
        (0.95, 0.05, 0.0, False),
        (0.9499, 0.0, 0.0, True),
        (0.9499, 0.0, None, True),
        (1.0, 0.0501, 0.0, True),
        (None, None, None, False),
        (None, 0.2, 0.3, True),
        (None, 0.0, 0.3, False),
        (0.5, None, None, True),
        (0.99, None, None, False),
    ],
)
def test_is_disturbed_at_its_bounds(share, foreign, steal, expected):
    assert cmips.is_disturbed(share, foreign, steal) is expected


@pytest.mark.parametrize("steal", [0.0, 0.049, 0.05, 0.1, 0.2, 0.65])
def test_stolen_time_disturbs_on_no_kind_of_kernel(steal):
    """W1: a kernel takes stolen time off the process or leaves it there; neither disturbs."""
    assert not cmips.is_disturbed(1 - steal, 0.0, steal)
    assert not cmips.is_disturbed(1.0, 0.0, steal)
    assert cmips.is_disturbed(1 - steal - 0.06, 0.0, steal)
