"""Values of filters that no offer has, with the one that may have been meant."""

from collections.abc import Iterator
from dataclasses import replace

from backend.catalog.selectors.data_version import DataStamp
from backend.core.rest.parameters import nearest, printable
from backend.core.rest.table import ColumnType
from backend.rankings.selectors.columns import COLUMN
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.ranking import ranking


def warnings_of_unknown(
    query: RankingQuery, workspace_slug: str, stamp: DataStamp
) -> Iterator[str]:
    """A warning for each name that a filter asks for and no offer has under the same basis."""
    asked = [
        (condition.column, str(value))
        for condition in query.filters
        if condition.operator == "=" and COLUMN[condition.column].kind is ColumnType.TEXT
        for value in condition.values
    ]
    if not asked:
        return
    everyone = ranking(replace(query, filters=(), q=""), workspace_slug=workspace_slug, stamp=stamp)
    rows = (*everyone.rows, *everyone.unscored)
    for column, value in asked:
        known = {str(cell) for row in rows if (cell := getattr(row, column)) is not None}
        if value not in known:
            yield f"no offer has the {column} {printable(value)!r}{nearest(value, known)}"
