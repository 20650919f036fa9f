"""The encoding of a text file that says nothing of it: one rule for every import."""

import codecs
import io
from typing import IO

BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
HEAD_BYTES = 1024 * 1024


def encoding_of(head: bytes, *, is_whole: bool = True) -> str:
    """UTF-8 or UTF-16 by its mark, else UTF-8 where the bytes are, else Windows-1252.

    A `head` that is not the whole file may end within a character.
    """
    for mark, name in BOMS.items():
        if head.startswith(mark):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, is_whole)
    except UnicodeDecodeError:
        # Latin-1 is a part of it, but for control characters that no table has.
        return "cp1252"
    return "utf-8"


def text_of(file: IO[bytes]) -> io.TextIOWrapper:
    """The lines of a file that can be read again from its start."""
    head = file.read(HEAD_BYTES)
    file.seek(0)
    return io.TextIOWrapper(file, encoding=encoding_of(head, is_whole=len(head) < HEAD_BYTES))
