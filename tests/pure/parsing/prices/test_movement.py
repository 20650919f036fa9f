"""How a list of prices moved as a whole."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.money.price_lists.movement import ListMovement


def moved(*ratios, listed):
    return ListMovement.of(map(Decimal, ratios), listed=listed)


@pytest.mark.parametrize(
    ("ratios", "listed", "sentence"),
    [
        (["1.2", "1.05", "1.1", "1"], 4, "The whole list moved: 3 of 4 prices rose, by 5 to 20%."),
        (["0.9", "0.8", "1.1"], 3, "The whole list moved: 2 of 3 prices fell, by 10 to 20%."),
        (["1.5", "1.5", "0.9"], 1000, "2 of 1,000 prices rose, by 50%."),
        (["0.75", "0.5"], 10, "2 of 10 prices fell, by 25 to 50%."),
        # Two may be slips, though they are the whole list.
        (["1.1", "1.1"], 2, "2 of 2 prices rose, by 10%."),
        (["1.2", "0.9"], 4, "1 of 4 prices rose, by 20%."),
        (["1", "1"], 2, ""),
        ([], 7, ""),
    ],
)
def test_movement_says_how_many_prices_moved_and_how_far(ratios, listed, sentence):
    assert moved(*ratios, listed=listed).sentence == sentence


def test_half_of_a_list_is_not_the_whole():
    assert not moved("1.1", "1.1", listed=4).is_whole
    assert moved("1.1", "1.1", "1.1", listed=4).is_whole


@given(st.lists(st.decimals("0.1", "10", places=3), max_size=9))
def test_range_of_a_movement_is_that_of_its_direction(ratios):
    made = ListMovement.of(ratios, listed=len(ratios))
    rising = [one for one in ratios if one > 1]
    falling = [one for one in ratios if one < 1]
    assert (made.rose, made.fell) == (len(rising), len(falling))
    if rising and made.rose >= made.fell:
        assert (made.low, made.high) == (min(rising), max(rising))
    elif falling:
        assert (made.low, made.high) == (max(falling), min(falling))
