"""JSON in pieces gives what the whole would."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InvalidValue
from backend.money.price_lists import json_stream
from backend.money.price_lists.json_stream import Scanner

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=6)
VALUES = (
    SCALARS
    | st.lists(SCALARS, max_size=2)
    | st.dictionaries(st.text(max_size=3), SCALARS, max_size=2)
)
LISTS = st.dictionaries(st.text(max_size=3), st.lists(VALUES, max_size=2), max_size=2)


@pytest.fixture(scope="module", autouse=True)
def _short_pieces():
    """As if the buffer ended everywhere."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(json_stream, "PIECE", 4)
        yield


def _scanner(text, size=3):
    return Scanner(
        [text[start : start + size] for start in range(0, len(text), size)], where="file"
    )


def _walked(scanner):
    """Everything below the first level, taken apart."""
    return {key: [scanner.value() for _ in scanner.items()] for key in scanner.members()}


@given(LISTS, st.integers(1, 20), st.sampled_from([None, 2]))
def test_scanner_reads_what_the_whole_holds_however_it_is_cut(value, size, indent):
    assert _walked(_scanner(json.dumps(value, indent=indent), size)) == value


@given(VALUES, st.integers(1, 20))
def test_scanner_goes_on_behind_what_it_skips(value, size):
    scanner = _scanner(json.dumps({"skipped": value, "taken": 1}), size)
    taken = {}
    for key in scanner.members():
        if key == "taken":
            taken[key] = scanner.value()
        else:
            scanner.skip()
    assert taken == {"taken": 1}


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_scanner_reads_a_whole_number_when_it_is_cut(size):
    text = "[12.5, -3, 1E-5 ,0]"
    scanner = _scanner(text, size)
    assert [str(scanner.value()) for _ in scanner.items()] == ["12.5", "-3", "0.00001", "0"]


def test_scanner_reads_a_value_at_the_end_of_the_text():
    assert str(_scanner("12.5").value()) == "12.5"


def test_scanner_reads_a_file_by_pieces_and_not_by_lines():
    class Reader(io.StringIO):
        def __next__(self):
            raise AssertionError("a line may be the whole file")

    assert _walked(Scanner(Reader('{"a": [1, 2]}'), where="file")) == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "at character 0: the text ends too early"),
        ('{"a": [1, 2', "not JSON|ends too early"),
        ('{"a": [1 2]}', "',' expected, '2' found"),
        ('{"a" 1}', "':' expected"),
        ("{1: 2}", "a key is no text"),
        ("[1]", "'{' expected"),
        ('{"a": [x]}', "at character 7: not JSON"),
        ('{"a": [NaN, 1]}', "NaN is no number"),
        ('{"a": ["abc', "not JSON"),
    ],
)
def test_scanner_names_the_position_when_the_text_is_no_json(text, said):
    with pytest.raises(InvalidValue, match=said):
        _walked(_scanner(text))


def test_scanner_names_the_line_however_the_text_is_cut():
    text = '{"a": [1],\n"b": [1,\n2],\n"c": [x]}'
    for cut in range(1, len(text)):
        with pytest.raises(InvalidValue, match="file line 4 at character"):
            _walked(Scanner([text[:cut], text[cut:]], where="file"))


def test_scanner_stops_when_a_value_has_no_end(monkeypatch):
    monkeypatch.setattr(json_stream, "LARGEST_VALUE", 100)
    endless = iter(['{"a": ["', *["x" * 1000] * 1000])
    with pytest.raises(InvalidValue, match="longer than any real one"):
        _walked(Scanner(endless, where="file"))
    assert next(endless)
