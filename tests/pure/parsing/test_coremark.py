"""Output of CoreMark."""

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import coremark


def test_coremark_is_the_rate_of_all_contexts(recorded):
    (sample,) = coremark.parse(recorded("coremark-parallel-synthetic"))
    assert (sample.metric, sample.variant) == ("coremark_score", "standard")
    # 4 × 400,000 iterations in 14.204 s.
    assert sample.value == pytest.approx(1_600_000 / 14.204)
    assert sample.parameters["contexts"] == 4
    assert sample.parameters["compiler"] == "GCC12.2.0"


def test_coremark_of_one_context_does_not_stand_for_the_machine(recorded):
    (sample,) = coremark.parse(recorded("coremark-single-synthetic"))
    assert (sample.variant, sample.parameters["contexts"]) == ("single", 1)


@pytest.mark.parametrize(
    ("old", "new", "detail"),
    [
        ("Correct operation validated", "Something", "Correct operation validated' is missing"),
        ("2K performance run", "2K validation run", "a validation run"),
        ("2K performance run parameters", "", "2K performance run parameters' is missing"),
        ("Memory location", "ERROR! Must execute for at least 10 secs\nM", "less than 10 s"),
        ("Memory location", "[0]ERROR! list crc 0x1 - should be 0x2\nM", "reports an error"),
        ("Memory location", "Errors detected\nM", "detected errors"),
        ("14.204000", "9.999000", "9.999 s, less than 10"),
        ("14.204000", "28.408000", "does not agree"),
        ("Iterations       : 400000", "", "Iterations is missing"),
        ("Iterations       : 400000", "Iterations : 4e5", "Iterations is '4e5'"),
        ("Iterations       : 400000", "Iterations : 0", "Iterations is '0'"),
        ("Iterations       : 400000", "Iterations : 400000\nIterations : 400000", "twice"),
    ],
)
def test_coremark_is_refused_when_it_is_no_valid_run(recorded, old, new, detail):
    text = recorded("coremark-single-synthetic")
    assert old in text
    with pytest.raises(ProbeError, match=detail):
        coremark.parse(text.replace(old, new))
