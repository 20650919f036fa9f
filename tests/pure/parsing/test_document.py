"""The one JSON document that a tool prints, and the lines around it."""

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers.document import read_document

TEXT = 'a note\n{"a": 1}\n\nKilled by signal 2\n'


def test_text_behind_the_document_is_refused_with_its_line():
    with pytest.raises(ProbeError, match="text behind the JSON: 'Killed by signal 2") as refused:
        read_document("fio", TEXT)
    assert refused.value.line == 4


def test_text_behind_the_document_may_be_left_out():
    read = read_document("fio", TEXT, takes_more=True)
    assert read.root.fields == {"a": 1}
    assert read.remarks == ("a note", "1 lines behind the JSON were left out")


def test_document_may_be_indented_as_a_whole():
    read = read_document("fio", 'a note\n    {"a": 1,\n     "b": {"c": 2}}\n')
    assert (read.root.fields, read.notes, read.root.line) == (
        {"a": 1, "b": {"c": 2}},
        ("a note",),
        2,
    )
