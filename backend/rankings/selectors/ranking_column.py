"""A column of offers and rankings, for API, exports, filters and pages."""

from dataclasses import dataclass
from enum import Enum

from backend.core.rest.table import Column, ColumnType


class ColumnScale(Enum):
    """The scale, with its unit, on which a page shows the cells of a column."""

    SCORE = "of the metric"
    VALUE = "of the metric per cost"


@dataclass(frozen=True, kw_only=True)
class RankingColumn(Column):
    """A column, with what filters and pages need beside what every table has."""

    label: str
    """Head of the column."""
    empty: str = "not stated"
    """Text of an empty cell."""
    filter_words: str = ""
    """Name of the filter where the head of the cells says something wider."""
    choices: tuple[str, ...] = ()
    """The only values that a filter takes; empty: any."""
    needs_ranking: bool = False
    """True if its cells are known only once all are ranked: a filter on it then only hides rows,
    while on others the list is ranked without what they exclude."""
    scale: ColumnScale | None = None
    shows_unit: bool = False
    """True if a page names the unit, which is then the same for every query."""
    is_descending_first: bool = False
    """True if a first click sorts downwards: figures are read best first."""
    has_bounds: bool = True
    """True if a column with an order has a field for each bound."""
    is_unbroken: bool = False
    """True if its cells stay on one line."""

    @property
    def filter_label(self) -> str:
        """Words of a filter, with its unit."""
        words = self.filter_words or self.label
        return f"{words} ({self.unit})" if self.shows_unit else words

    @property
    def is_sortable(self) -> bool:
        """True if an order by the column says something: not so for lists of marks."""
        return self.kind is not ColumnType.WORDS

    @property
    def is_category(self) -> bool:
        """True if its values are words, of which a filter names some."""
        return self.kind in {ColumnType.TEXT, ColumnType.WORDS}
