import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InvalidValue
from backend.measure.metrics.general_performance import (
    CRYPTO,
    REDIS,
    WEB,
    general_performance,
    general_performance_with_web,
)

RATIOS = st.floats(min_value=0.01, max_value=100)


def times(reference, ratio):
    return {part: value * ratio for part, value in reference.items()}


def test_general_performance_is_one_for_the_reference_itself():
    assert general_performance(CRYPTO, REDIS) == pytest.approx(1)
    assert general_performance_with_web(1, WEB) == pytest.approx(1)


@given(RATIOS, RATIOS, RATIOS)
def test_general_performance_weighs_families_alike(crypto, redis, web):
    """Eleven ciphers count as much as two pipelines: the mean is over families."""
    families = times(CRYPTO, crypto), times(REDIS, redis)
    general = general_performance(*families)
    assert general == pytest.approx(math.sqrt(crypto * redis))
    assert general_performance_with_web(general, times(WEB, web)) == pytest.approx(
        (crypto * redis * web) ** (1 / 3)
    )


def test_general_performance_takes_one_fast_cipher_as_an_eleventh_of_half():
    measured = CRYPTO | {"sha256": 4 * CRYPTO["sha256"]}
    assert general_performance(measured, REDIS) == pytest.approx(4 ** (1 / 22))


def test_general_performance_ignores_parts_that_belong_to_no_family():
    assert general_performance(CRYPTO | {"md5": 1.0}, REDIS) == pytest.approx(1)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, None])
def test_general_performance_is_refused_when_a_part_is_missing(value):
    redis = {part: figure for part, figure in REDIS.items() if part != "p16"}
    if value is not None:
        redis["p16"] = value
    with pytest.raises(InvalidValue, match="p16") as caught:
        general_performance(CRYPTO, redis)
    assert caught.value.field == "general_performance"


def test_general_performance_with_web_is_refused_without_a_size_of_file():
    with pytest.raises(InvalidValue, match="1k"):
        general_performance_with_web(1, {"64k": WEB["64k"]})
