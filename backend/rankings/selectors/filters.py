"""Which cells a filter keeps; what is unknown meets no bound."""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from backend.core.rest.table import ColumnType
from backend.foundation.units import exact_decimal
from backend.rankings.selectors.columns import COLUMN
from backend.rankings.selectors.query import Filter

COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "__gte": operator.ge,
    "__lte": operator.le,
    "__gt": operator.gt,
    "__lt": operator.lt,
}


def meets(cell: Any, condition: Filter) -> bool:
    """True if a cell meets a filter of its column."""
    if COLUMN[condition.column].kind is ColumnType.WORDS:
        # Flags and extras are several words in a cell, of which one is enough.
        is_any = not set(condition.values).isdisjoint((cell or "").split())
        return is_any != (condition.operator == "!")
    # What is unknown is not among the values named, and may be among all others.
    if cell is None:
        return condition.operator == "!"
    # The query's bounds are decimals; a float 0.1 lies above its own text.
    value = exact_decimal(cell) if isinstance(cell, float) else cell
    if compared := COMPARED.get(condition.operator):
        return bool(compared(value, condition.values[0]))
    return (value in condition.values) != (condition.operator == "!")


def has_words(text: str, searched: str) -> bool:
    """True if the text holds every word searched for, in any order and case."""
    return all(word in text for word in searched.lower().split())
