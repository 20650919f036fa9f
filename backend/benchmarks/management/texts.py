"""Texts that the commands read."""

import sys
from pathlib import Path

from django.core.management.base import CommandError

STDIN = "-"


def text_of(name: str, max_bytes: int) -> str:
    """What a file or the standard input says, cut one byte after what is allowed; raises CommandError."""
    try:
        # One byte more than allowed shows a text that is too long, however long it is.
        if name == STDIN:
            raw = sys.stdin.buffer.read(max_bytes + 1)
        else:
            with Path(name).open("rb") as file:
                raw = file.read(max_bytes + 1)
        return raw.decode()
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{name} is not UTF-8: byte {error.start + 1}") from error
