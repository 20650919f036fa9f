"""The encoding of a text file is known by its bytes."""

import codecs
import io

import pytest

from backend.foundation.reading.encodings import HEAD_BYTES, encoding_of, text_of

TEXT = "Größe;5 €\nend\n"


@pytest.mark.parametrize(
    "raw",
    [
        TEXT.encode(),
        codecs.BOM_UTF8 + TEXT.encode(),
        TEXT.encode("cp1252"),
        codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
    ],
)
def test_text_is_read_from_its_start_in_each_encoding(raw):
    assert list(text_of(io.BytesIO(raw))) == ["Größe;5 €\n", "end\n"]


def test_character_that_the_head_cuts_is_not_taken_for_another_encoding():
    text = "x" * (HEAD_BYTES - 1) + "€\n"
    assert text_of(io.BytesIO(text.encode())).read() == text


def test_file_that_ends_within_a_character_is_not_utf_8():
    cut = "5 €".encode()[:-1]
    assert encoding_of(cut) == "cp1252"
    assert encoding_of(cut, is_whole=False) == "utf-8"
