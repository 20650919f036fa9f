"""Plausible values of figures with intervals."""

import numpy as np
import pytest

from backend.measure import draws


def test_common_draws_meet_value_and_bounds_at_their_percentiles():
    values = np.exp(draws.common_draws(draws.spreads([100.0], [90.0], [130.0]), n_draws=40_000))
    low, middle, high = np.percentile(values, (2.5, 50, 97.5))
    assert low == pytest.approx(90, rel=0.01)
    assert middle == pytest.approx(100, rel=0.01)
    assert high == pytest.approx(130, rel=0.01)
