"""Just enough of the ELF64 format to look inside the probes."""

import struct
from dataclasses import dataclass
from pathlib import Path

MACHINES = {62: "x86_64", 183: "aarch64"}
INTERPRETER_SEGMENT = 3


@dataclass(frozen=True)
class Elf:
    """A little-endian ELF64 file."""

    content: bytes

    @classmethod
    def read(cls, path: Path) -> "Elf":
        content = path.read_bytes()
        assert content[:6] == b"\x7fELF\x02\x01"
        return cls(content)

    @property
    def machine(self) -> str:
        return MACHINES[struct.unpack_from("<H", self.content, 18)[0]]

    def _table(self, offset_at: int, size_at: int, layout: str) -> list[tuple[int, ...]]:
        (offset,) = struct.unpack_from("<Q", self.content, offset_at)
        size, count = struct.unpack_from("<HH", self.content, size_at)
        return [struct.unpack_from(layout, self.content, offset + i * size) for i in range(count)]

    def segments(self) -> list[tuple[int, ...]]:
        """(type, flags, offset, address, _, file size, memory size, align)"""
        return self._table(32, 54, "<IIQQQQQQ")

    def sections(self) -> list[tuple[int, ...]]:
        """(name, type, flags, address, offset, size, link, info, align, entry size)"""
        return self._table(40, 58, "<IIQQQQIIQQ")

    def symbols(self) -> dict[str, tuple[int, int]]:
        """Name -> (section, value)."""
        sections = self.sections()
        found = {}
        for section in sections:
            if section[1] != 2:
                continue
            names = sections[section[6]][4]
            for at in range(section[4], section[4] + section[5], section[9]):
                name, _, _, index, value, _ = struct.unpack_from("<IBBHQQ", self.content, at)
                end = self.content.index(b"\0", names + name)
                found[self.content[names + name : end].decode()] = (index, value)
        return found

    def between(self, first: str, last: str) -> bytes:
        """The bytes of an object file from one label to another of the same section."""
        symbols = self.symbols()
        index, start = symbols[first]
        assert symbols[last][0] == index
        offset = self.sections()[index][4]
        return self.content[offset + start : offset + symbols[last][1]]

    def address_of(self, content: bytes) -> int:
        """The address of bytes that occur exactly once in the loaded part of a program."""
        assert self.content.count(content) == 1
        at = self.content.index(content)
        for kind, _, offset, address, _, size, _, _ in self.segments():
            if kind == 1 and offset <= at < offset + size:
                return address + at - offset
        raise AssertionError("the bytes are in no loaded segment")
