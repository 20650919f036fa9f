"""What every one-line record must be, whoever printed it."""

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers.record import read_record


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("", "whole line"),
        ('{"schema":1}', "whole line"),
        ('{"schema":1}\n{"schema":1}\n', "whole line"),
        ('{"schema":1,"a":\n', "JSON"),
        ('{"schema":1,"a":NaN}\n', "NaN"),
        ('{"schema":1,"a":-Infinity}\n', "Infinity"),
        ('{"schema":1,"a":1,"a":2}\n', "twice"),
        ("[1]\n", "object"),
        ("[" * 100_000 + "\n", "JSON"),
        ('{"a":1}\n', "schema"),
        ('{"schema":2}\n', "schema 2"),
        ('{"schema":true}\n', "schema is True"),
        ('{"schema":1,"error":"cannot start a worker process"}\n', "cannot start a worker"),
        ('{"schema":1,"error":7}\n', "error is 7"),
        ('{"schema":1,"probe":"memory"}\n', "output of memory"),
    ],
)
def test_record_is_refused_when_it_is_not_one_whole_line_of_schema_1(text, detail):
    with pytest.raises(ProbeError, match=detail) as refused:
        read_record("cmips", text, probe="cmips")
    assert refused.value.tool == "cmips"
    assert refused.value.line is not None


@pytest.mark.parametrize(
    ("reader", "value"),
    [
        ("text", "1"),
        ("text", '"\\u0000"'),
        ("text", '"\\ud800"'),
        ("flag", "1"),
        ("count", "1.0"),
        ("count", "true"),
        ("count", "-1"),
        ("count", "9223372036854775808"),
        ("number", "true"),
        ("number", '"1"'),
        ("number", "-0.5"),
        ("number", "1e400"),
        ("positive", "0"),
        ("positive", "0.0"),
        ("positive", "null"),
        ("numbers", "1"),
        ("numbers", "[1,-1]"),
        ("numbers", "[1,null]"),
        ("number_or_none", '"1"'),
    ],
)
def test_record_field_is_refused_when_it_has_the_wrong_type_or_range(reader, value):
    record = read_record("x", f'{{"schema":1,"field":{value}}}\n')
    with pytest.raises(ProbeError, match="field"):
        getattr(record, reader)("field")


def test_record_field_is_refused_when_it_is_missing():
    record = read_record("x", '{"schema":1}\n')
    with pytest.raises(ProbeError, match="signal is missing"):
        record.is_null("signal")


def test_record_is_refused_when_it_is_longer_than_any_line_of_ours():
    with pytest.raises(ProbeError, match="1048577 characters"):
        read_record("x", "1" * 2**20 + "\n")


def test_record_error_stays_short_when_the_value_is_long():
    record = read_record("x", '{"schema":1,"field":"' + "9" * 5_000 + '"}\n')
    with pytest.raises(ProbeError) as refused:
        record.count("field")
    assert len(str(refused.value)) < 400


def test_record_reads_valid_lists_and_missing_numbers():
    record = read_record("x", '{"schema":1,"list":[1,2.5],"none":[],"null":null,"half":0.5}\n')
    assert record.numbers("list") == [1.0, 2.5]
    assert record.numbers("none") == []
    assert record.number_or_none("half") == 0.5
    assert record.number_or_none("null") is None
    assert record.number_or_none("missing") is None
