"""Text of a report below its title: the same on the page and on paper."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import TypeAdapter

from backend.rankings.calc.conclusions import Conclusion
from backend.site import figures
from backend.site.language import _

# A sheet is one page of paper, and a line of sources or parts is only a hint at where to look.
MOST_NAMED = 8


@dataclass(frozen=True)
class SheetColumn:
    """A column of the sheet's table; `share` is its part of the paper's width."""

    head: str
    share: float
    is_number: bool = False


@dataclass(frozen=True)
class Sheet:
    """Sentence, picture, a few rows, and what they rest on."""

    conclusion: Conclusion
    # `title`, `unit`, `summary` and `bars` (label, value, low, high), as the page's script has them.
    chart: Mapping[str, Any] | None
    columns: Sequence[SheetColumn]
    rows: Sequence[Sequence[str]]
    facts: Sequence[tuple[str, str]]

    @property
    def rows_with_labels(self) -> list[list[tuple[SheetColumn, str]]]:
        """The rows, each cell with its column."""
        return [list(zip(self.columns, row, strict=True)) for row in self.rows]

    def document(self) -> dict[str, Any]:
        return asdict(self)


_SHEET = TypeAdapter(Sheet)


def sheet_of(document: Mapping[str, Any]) -> Sheet:
    """A sheet that was stored."""
    return _SHEET.validate_python(document)


def bar(label: str, value: float, interval: tuple[float, float] | None = None) -> dict[str, Any]:
    """A bar that belongs to no provider."""
    low, high = interval or (None, None)
    # The script takes the same bars everywhere: one without a provider has the neutral colour.
    return {"label": label, "provider": "", "value": value, "low": low, "high": high}


def bar_chart(
    title: str, unit: str, bars: Sequence[Mapping[str, Any]], summary: str, *, interval: str = ""
) -> dict[str, Any]:
    """The chart of a sheet; without a name of its interval the page says 95 %."""
    chart = {"title": title, "unit": unit, "bars": bars, "median": None, "summary": summary}
    return {**chart, "range": interval} if interval else chart


def bar_words(bars: Sequence[Mapping[str, Any]]) -> str:
    """The bars in one line, for the summary of their chart."""
    return "; ".join(f"{entry['label']} {figures.figure(entry['value'])}" for entry in bars)


def some(parts: Sequence[str]) -> str:
    """The first parts of a long list in one line, and how many are left out."""
    more = len(parts) - MOST_NAMED
    return "; ".join(
        [*parts[:MOST_NAMED], *([_("and {more} more", more=more)] if more > 0 else [])]
    )
