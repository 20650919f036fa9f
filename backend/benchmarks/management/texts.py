"""Texts that the commands read."""

import sys
from pathlib import Path

from django.core.management.base import CommandError

from backend.foundation.reading.texts import decode_text

STDIN = "-"


def bytes_of(name: str, max_bytes: int) -> bytes:
    """Content of a file or the standard input, cut one byte after the limit; raises CommandError."""
    try:
        # One byte more than allowed shows a text that is too long, however long it is.
        if name == STDIN:
            return sys.stdin.buffer.read(max_bytes + 1)
        with Path(name).open("rb") as file:
            return file.read(max_bytes + 1)
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}") from error


def text_of(name: str, max_bytes: int) -> str:
    """The same as text."""
    try:
        return decode_text(bytes_of(name, max_bytes))
    except UnicodeDecodeError as error:
        raise CommandError(f"{name} is not UTF-8: byte {error.start + 1}") from error
