"""Remarks on the lines of a table that a person sends."""

from dataclasses import dataclass

_SHOWN = 60


@dataclass(frozen=True)
class Remark:
    """A remark on a line: `line` counts from 1, `column` is "" for the line as a whole."""

    line: int
    column: str
    detail: str

    def __str__(self) -> str:
        location = f"line {self.line}, {self.column}" if self.column else f"line {self.line}"
        return f"{location}: {self.detail}"


def shown(text: str) -> str:
    """A foreign text fit to be shown: printable, and not long."""
    return "".join(c if c.isprintable() else "?" for c in text[:_SHOWN])


class RefusedTable(Exception):
    """Raised here and caught by the readers of tables, where nothing of a file can be used."""

    def __init__(self, *remarks: Remark) -> None:
        super().__init__("; ".join(map(str, remarks)))
        self.remarks = remarks
