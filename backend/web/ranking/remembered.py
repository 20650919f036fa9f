"""What a page works out of all rows of a ranking, kept for as long as that ranking is held."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import ref

from backend.rankings.selectors.ranking import Ranking

Value = TypeVar("Value")
_held: dict[int, tuple[ref[Ranking], dict[Hashable, Any]]] = {}


def remembered(found: Ranking, key: Hashable, compute: Callable[[], Value]) -> Value:
    """The value under `key`, computed once for this very ranking.

    A ranking stands for one query on one state of the data, so whatever follows from both alone
    may be kept with it.
    """
    place = id(found)
    entry = _held.get(place)
    if entry is None or entry[0]() is not found:
        entry = (ref(found, lambda _: _held.pop(place, None)), {})
        _held[place] = entry
    values = entry[1]
    if key not in values:
        values[key] = compute()
    value: Value = values[key]
    return value
