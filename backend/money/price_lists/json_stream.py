"""JSON of any length, read piece by piece: only the values asked for are ever whole in memory.

A price list of one region is hundreds of megabytes, often in one line.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn, Protocol

from backend.foundation.errors import InvalidValue
from backend.money.price_lists.answers import decoder, shown

PIECE = 1 << 16
# Characters of one value that may be asked for; the real ones have a few thousand.
LARGEST_VALUE = 1 << 24
BLANK = " \t\n\r"
AFTER_A_VALUE = BLANK + ",:]}"


class Readable(Protocol):
    def read(self, size: int, /) -> str: ...


Stream = Readable | Iterable[str]


def pieces(stream: Stream) -> Iterator[str]:
    """The text in pieces. A file is not read by lines: the whole may be one."""
    if hasattr(stream, "read"):
        return iter(lambda: stream.read(PIECE), "")
    return (piece for piece in stream if piece)


class Scanner:
    """A walk through one JSON document. Each value must be taken before the walk goes on."""

    def __init__(self, stream: Stream, *, where: str) -> None:
        self._pieces = pieces(stream)
        self._where = where
        self._decoder = decoder()
        self._buffer = ""
        self._at = 0
        self._before = 0
        self._lines_before = 0
        self._is_at_end = False

    def members(self) -> Iterator[str]:
        """The keys of an object; after each, take its value by value, members, items or skip."""
        for _ in self._entries("{", "}"):
            key = self.value()
            if not isinstance(key, str):
                self._fail("a key is no text")
            self._expect(":")
            yield key

    def items(self) -> Iterator[None]:
        """Once for each item of a list; take the item as with members."""
        return self._entries("[", "]")

    def value(self) -> Any:
        """The value that comes next, whole. Raises InvalidValue when it is longer than allowed."""
        self._peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                # Cut off, or wrong: more text tells, and there is a limit to it.
                # As much again as there is, since each attempt begins at the start of the value.
                if not self._read(len(self._buffer) - self._at):
                    self._fail(f"not JSON: {error.msg}")
            except (ValueError, RecursionError) as error:
                self._fail(f"not JSON that can be read: {shown(error)}")
            else:
                # A number that ends where the buffer ends may go on in the next piece.
                is_whole = end < len(self._buffer) and self._buffer[end] in AFTER_A_VALUE
                if is_whole or not self._read(PIECE):
                    self._at = end
                    return value

    def skip(self) -> None:
        """Pass over the next value, whatever its length."""
        first = self._peek()
        if first == "{":
            for _ in self.members():
                self.skip()
        elif first == "[":
            for _ in self.items():
                self.skip()
        else:
            self.value()

    def _entries(self, opening: str, closing: str) -> Iterator[None]:
        self._expect(opening)
        if self._peek() == closing:
            self._at += 1
            return
        while True:
            yield
            if self._peek() == closing:
                self._at += 1
                return
            self._expect(",")

    def _expect(self, character: str) -> None:
        value = self._peek()
        if value != character:
            self._fail(f"{character!r} expected, {shown(value)!r} found")
        self._at += 1

    def _peek(self) -> str:
        """The next character that is not blank, which stays the next one."""
        while True:
            while self._at < len(self._buffer):
                if self._buffer[self._at] not in BLANK:
                    return self._buffer[self._at]
                self._at += 1
            if not self._read(PIECE):
                self._fail("the text ends too early")

    def _read(self, least: int) -> bool:
        """Add at least so many characters to the buffer; False at the end of the text."""
        if len(self._buffer) - self._at > LARGEST_VALUE:
            self._fail("a value is longer than any real one")
        fresh: list[str] = []
        size = 0
        while size < max(least, 1) and not self._is_at_end:
            piece = next(self._pieces, None)
            self._is_at_end = piece is None
            fresh.append(piece or "")
            size += len(fresh[-1])
        self._before += self._at
        self._lines_before += self._buffer.count("\n", 0, self._at)
        self._buffer = "".join([self._buffer[self._at :], *fresh])
        self._at = 0
        return size > 0

    def _fail(self, detail: str) -> NoReturn:
        line = 1 + self._lines_before + self._buffer.count("\n", 0, self._at)
        position = f"{self._where} line {line} at character {self._before + self._at}"
        raise InvalidValue(position, detail)
