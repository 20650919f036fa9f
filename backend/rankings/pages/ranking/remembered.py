"""Cache of a page's work over all rows of a ranking, for as long as that ranking exists."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import ref

from backend.rankings.selectors.ranking import Ranking
from backend.site.language import language

Value = TypeVar("Value")
# By identity with a weak reference: a Ranking holds thousands of rows, and hashing it or keeping it
# alive would cost more than what is saved.
_cached: dict[int, tuple[ref[Ranking], dict[Hashable, Any]]] = {}


def remember(ranked: Ranking, key: Hashable, compute: Callable[[], Value]) -> Value:
    """The value under `key`, computed once for this very ranking and language.

    A ranking stands for one query on one state of the data, so whatever follows from both alone
    may be kept with it.
    """
    identity = id(ranked)
    entry = _cached.get(identity)
    # An id is used again once its object is gone.
    if entry is None or entry[0]() is not ranked:
        entry = (ref(ranked, lambda _: _cached.pop(identity, None)), {})
        _cached[identity] = entry
    values, known_as = entry[1], (language(), key)
    if known_as not in values:
        values[known_as] = compute()
    value: Value = values[known_as]
    return value
