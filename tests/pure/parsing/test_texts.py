"""What every pasted text is checked for."""

import pytest

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text, why_not_kept


def test_text_comes_back_without_mark_and_carriage_returns():
    assert check_text("dd", "\ufeffa\r\nb\n") == "a\nb\n"


@pytest.mark.parametrize(
    ("text", "line", "detail"),
    [
        ("", 1, "empty"),
        (" \n\t\n", 1, "empty"),
        ("a\nb\0c\n", 2, "NUL"),
        ("a\nb\n\ud800", 3, "half a character"),
        ("a" * 11, 1, "11 characters are too many, 10"),
    ],
)
def test_text_is_refused_with_its_line(text, line, detail):
    with pytest.raises(ProbeError, match=detail) as refused:
        check_text("dd", text, most=10)
    assert refused.value.line == line


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"a": [1, None, "é", "a \\u0000 written out"]}, None),
        ({"a": float("nan")}, "cannot be kept"),
        ({"a": "half \ud800"}, "cannot be kept"),
        ({"a": ["x\0"]}, "NUL"),
        ({"\0": 1}, "NUL"),
    ],
)
def test_value_is_kept_when_a_database_can(value, why):
    found = why_not_kept(value)
    assert (found is None) == (why is None)
    assert (why or "") in (found or "")
