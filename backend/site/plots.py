"""A chart as plain data: the page's script draws it, and the table beside it is made from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from backend.site import figures
from backend.site.language import lazy

# Longer series are averaged down to this: a screen shows no more, and the table stays short.
MOST_POINTS = 240

Values = Sequence[float | None]


@dataclass(frozen=True)
class Mark:
    """A row of bars, line or row of dots: a value, and perhaps a range, for each x."""

    label: str
    values: Values
    # area: a line filled down to zero or to what it stands on; span: a bar from low to high.
    kind: Literal["bar", "line", "dots", "area", "span"] = "line"
    axis: Literal["y", "y2"] = "y"
    lows: Values | None = None
    highs: Values | None = None
    # Whether a value holds until the next one; None then breaks the line.
    is_stepped: bool = False
    # Colour and shape by number; None = its place among the marks.
    tone: int | None = None


@dataclass(frozen=True)
class Axis:
    """A vertical axis: its unit or name, and its kind."""

    label: str
    is_log: bool = False
    is_from_zero: bool = True
    most: float | None = None


@dataclass(frozen=True)
class PlotRow:
    """A line of the table."""

    head: str
    url: str | None
    cells: Sequence[str]


@dataclass(frozen=True)
class Plot:
    """A chart over one x axis: names of categories, seconds, or milliseconds since 1970."""

    id: str
    title: str
    x_label: str
    x_kind: Literal["category", "linear", "time"]
    x: Sequence[str | float]
    y: Axis
    marks: Sequence[Mark]
    summary: str
    note: str = ""
    y2: Axis | None = None
    # How the table writes x; empty = as it is.
    x_text: Sequence[str] = ()
    urls: Sequence[str | None] = ()
    # Columns that only the table shows, text for each x.
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)
    more_rows: Sequence[PlotRow] = ()
    range_words: tuple[str, str] = (lazy("lowest"), lazy("highest"))
    is_stacked: bool = False
    # Whether bars lie: x then runs downwards, and y to the right.
    is_flat: bool = False
    # Levels of the left axis drawn as dashed lines, with their labels.
    lines: Sequence[tuple[float, str]] = ()

    @property
    def json_id(self) -> str:
        """Id of the element that holds the data."""
        return f"{self.id}-json"

    @property
    def document(self) -> dict[str, Any]:
        """Data of the script; every value is one that the table shows."""
        return {
            "id": self.id,
            "title": self.title,
            "x": {"label": self.x_label, "kind": self.x_kind, "values": list(self.x)},
            "y": _axis(self.y),
            "y2": _axis(self.y2) if self.y2 else None,
            "isStacked": self.is_stacked,
            "isFlat": self.is_flat,
            "marks": [
                {
                    "label": mark.label,
                    "kind": mark.kind,
                    "axis": mark.axis,
                    "isStepped": mark.is_stepped,
                    "tone": index if mark.tone is None else mark.tone,
                    "values": list(mark.values),
                    "lows": None if mark.lows is None else list(mark.lows),
                    "highs": None if mark.highs is None else list(mark.highs),
                }
                for index, mark in enumerate(self.marks)
            ],
            "lines": [{"value": value, "label": label} for value, label in self.lines],
        }

    @property
    def heads(self) -> list[str]:
        """Heads of the table's columns after the first."""
        heads = []
        for mark in self.marks:
            axis = self.y2 if mark.axis == "y2" and self.y2 else self.y
            # Some labels name their unit themselves, where one axis has several.
            heads.append(mark.label if axis.label in mark.label else f"{mark.label}, {axis.label}")
            if _has_range(mark):
                heads += [f"{mark.label}, {word}" for word in self.range_words]
        return [*heads, *self.extra]

    @property
    def rows(self) -> list[PlotRow]:
        """The table: one row for each x, in order, then those that only the table has."""
        texts = self.x_text or [x if isinstance(x, str) else figures.quantity(x) for x in self.x]
        return [
            *(
                PlotRow(text, self.urls[index] if self.urls else None, self._cells(index))
                for index, text in enumerate(texts)
            ),
            *self.more_rows,
        ]

    def _cells(self, index: int) -> list[str]:
        cells = []
        for mark in self.marks:
            columns = [mark.values]
            if _has_range(mark):
                columns += [mark.lows or (), mark.highs or ()]
            cells += [figures.figure(column[index]) for column in columns]
        return [*cells, *(column[index] for column in self.extra.values())]


def _has_range(mark: Mark) -> bool:
    """True if a mark has a range beside its value; that of a span is what it shows."""
    return mark.kind != "span" and mark.lows is not None and mark.highs is not None


def _axis(axis: Axis) -> dict[str, Any]:
    return {
        "label": axis.label,
        "isLog": axis.is_log,
        "isFromZero": axis.is_from_zero,
        "most": axis.most,
    }


def thin(x: Sequence[float], columns: Sequence[Values]) -> tuple[list[float], list[Values]]:
    """The series averaged over equal groups of neighbours, at most MOST_POINTS of them."""
    # Rounded up, since one group more than fits would be one point too many.
    size = -(-len(x) // MOST_POINTS)
    if size <= 1:
        return list(x), [list(column) for column in columns]
    starts = range(0, len(x), size)
    return (
        [x[start] for start in starts],
        [[_mean(column[start : start + size]) for start in starts] for column in columns],
    )


def _mean(values: Values) -> float | None:
    # Unknown seconds are left out of the mean; counted as zero they would be dips that never were.
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
