"""PassMark totals in the forms that people have them in."""

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import passmark


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("17340", 17340),
        ("\n 9459.5 \n", 9459.5),
        ("CPU Mark: 3459", 3459),
        ("Processor\nCPU Mark = 3459\nMemory Mark: 2000\n", 3459),
        ("PassMark CPU Mark: 4827", 4827),
        ("BaselineInfo:\n  WebID: none\nResults:\n  SUMM_CPU: 17340.5\n  SUMM_ME: 2415\n", 17340.5),
        ("Computer,CPU Mark,Disk Mark\nrack-7,9459,1200\n", 9459),
        ("Computer;CPU Mark\nrack-7;9459.5\n", 9459.5),
        ("cpumark\t9459\n", 9459),
    ],
)
def test_passmark_total_is_read(text, points):
    (sample,) = passmark.parse(text)
    assert (sample.metric, sample.variant, sample.value) == ("passmark_score", "standard", points)


def test_passmark_total_is_read_from_an_exported_summary(recorded):
    assert passmark.parse(recorded("passmark-summary-synthetic"))[0].value == 17340.5


@pytest.mark.parametrize(
    ("text", "line", "detail"),
    [
        ("hello", 1, "no CPU Mark"),
        ("Memory Mark: 2000\n", 1, "no CPU Mark"),
        ("CPU Mark: 3459\nCPU Mark: 3460\n", 2, "more than one"),
        ("12,345", 1, "without separators"),
        ("CPU Mark: 12.345", 1, "without separators"),
        ("CPU Mark: 12 345", 1, "without separators"),
        ("CPU Mark: 1234,5", 1, "without separators"),
        ("CPU Mark: n/a", 1, "'n/a' is not a number"),
        ("\nCPU Mark: 0", 2, "'0' is not"),
        ("CPU Mark: 99999999", 1, "not a number of points"),
        ("Computer,CPU Mark\nrack-7\n", 1, "no CPU Mark"),
        ("Computer,CPU Mark\nrack-7,\n", 1, "no CPU Mark"),
        ('"CPU Mark","' + "9" * 140_000, 1, "not a line of a table"),
    ],
)
def test_passmark_is_refused_with_its_line(text, line, detail):
    with pytest.raises(ProbeError, match=detail) as refused:
        passmark.parse(text)
    assert refused.value.line == line
