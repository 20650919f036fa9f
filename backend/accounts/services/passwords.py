"""Rules for a new password, beside Django's own."""

import hashlib
import os
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError

from backend.foundation.texts import text as _

# Shorter ones are parts of many words.
LEAST_WORD = 4
# Of SHA-1 in hex.
DIGEST_CHARACTERS = 40


class OwnWords:
    """Words that anybody guesses of this installation do not count towards the length: its name, its host
    and PASSWORD_WORDS."""

    def __init__(self, min_length: int) -> None:
        self._min_length = min_length

    def validate(self, password: str, user: object = None) -> None:
        rest = password.lower()
        for word in sorted(_own_words(), key=len, reverse=True):
            rest = rest.replace(word, "")
        if len(rest) < self._min_length <= len(password):
            raise ValidationError(self.get_help_text(), code="password_own_words")

    def get_help_text(self) -> str:
        return str(
            _(
                "Your password must have {n} characters besides the names of this site and its "
                "organisation.",
                n=self._min_length,
            )
        )


def _own_words() -> set[str]:
    host = urlsplit(settings.PUBLIC_URL).hostname or ""
    # The last label is of a country or a kind.
    given = ["rackrate", *host.split(".")[:-1], *settings.PASSWORD_WORDS]
    return {word.lower() for word in given if len(word) >= LEAST_WORD}


class Breached:
    """Refuses what stands in a file of SHA-1 hashes in hex, one a line, sorted, each perhaps with `:` and a
    count."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def validate(self, password: str, user: object = None) -> None:
        # As the list is made; nothing is kept under this hash.
        digest = hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper()
        with self._path.open("rb") as file:
            if _is_listed(file, digest.encode()):
                raise ValidationError(self.get_help_text(), code="password_breached")

    def get_help_text(self) -> str:
        return str(_("Your password must not be on a list of stolen passwords."))


def _is_listed(file: BinaryIO, digest: bytes) -> bool:
    """By halves: such a file has a thousand million lines."""
    low, high = 0, file.seek(0, os.SEEK_END)
    while low < high:
        middle = (low + high) // 2
        line = _line_from(file, middle)
        if not line or line >= digest:
            high = middle
        else:
            low = file.seek(0, os.SEEK_CUR)
    return _line_from(file, low) == digest


def _line_from(file: BinaryIO, position: int) -> bytes:
    """The hash of the first line that begins there or later; empty at the end."""
    file.seek(max(0, position - 1))
    if position:
        file.readline()
    return file.readline()[:DIGEST_CHARACTERS].upper()
