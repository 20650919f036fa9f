"""Rows that a ranking takes over from one state of the data to the next."""

from itertools import islice
from typing import Any

from backend.rankings.selectors.rows import RankingRow

BYTES_OF_ROW = 3_000


class KeptRows:
    """Rows by the number of their offer, each with the facts of the price and the score that it was
    made of.

    Bases share them that differ in nothing else: from one state of the data to the next these alone
    change, with every result of a campaign and every new price, and only those of a few offers.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: dict[int, tuple[tuple[Any, ...], RankingRow]] = {}

    @property
    def nbytes(self) -> int:
        return BYTES_OF_ROW * len(self._rows)

    def row(self, number: int, facts: tuple[Any, ...]) -> RankingRow | None:
        """The row of an offer, unless none is kept or its facts are others now."""
        kept = self._rows.get(number)
        return kept[1] if kept is not None and kept[0] == facts else None

    def keep(self, number: int, facts: tuple[Any, ...], row: RankingRow) -> None:
        """Keep a row, rather than one that was not asked for in longer."""
        self._rows.pop(number, None)
        self._rows[number] = facts, row
        # Several threads may find one too many.
        for oldest in list(islice(self._rows, max(0, len(self._rows) - self._most))):
            self._rows.pop(oldest, None)
