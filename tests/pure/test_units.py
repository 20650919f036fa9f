import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InvalidValue
from backend.foundation.units import exact_decimal, gib


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_exact_decimal_reads_back_to_the_same_float(value):
    assert float(exact_decimal(value)) == value


def test_exact_decimal_is_the_printed_number_and_not_its_binary_error():
    assert exact_decimal(0.1) == Decimal("0.1")
    assert exact_decimal(1493) == Decimal("1493.0")


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_exact_decimal_refuses_what_is_no_number(value):
    with pytest.raises(InvalidValue):
        exact_decimal(value)


def test_gib_is_a_power_of_two():
    # 614 MiB = 614 / 1024 GiB
    assert gib(614 * 2**20) == Decimal("0.599609375")
