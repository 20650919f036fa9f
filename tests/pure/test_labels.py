"""Labels of runs."""

import pytest

from backend.benchmarks.calc.labels import MOST_LABELS, check_labels, labels_text
from backend.foundation.errors import InvalidValue


def test_labels_are_stored_by_name():
    labels = check_labels({"kernel": "6.18", "commit": "abc"})
    assert list(labels) == ["commit", "kernel"]
    assert labels_text(labels) == "commit=abc, kernel=6.18"
    assert labels_text({}) == ""


@pytest.mark.parametrize(
    ("labels", "field"),
    [
        ({"Kernel": "6"}, "/labels/Kernel"),
        ({"": "6"}, "/labels/"),
        ({"a" * 41: "6"}, "/labels/" + "a" * 40),
        ({"kernel": ""}, "/labels/kernel"),
        ({"kernel": "x" * 101}, "/labels/kernel"),
        ({"kernel": 6}, "/labels/kernel"),
        ({"kernel": "a\x00b"}, "/labels/kernel"),
        ({f"n{number}": "x" for number in range(MOST_LABELS + 1)}, "/labels"),
    ],
)
def test_label_that_cannot_be_kept_is_refused_by_its_name(labels, field):
    with pytest.raises(InvalidValue) as refused:
        check_labels(labels)
    assert refused.value.field == field
