"""A RankingQuery from the parameters of a request."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from backend.core.rest.parameters import (
    SHOWN_WARNINGS,
    InvalidParameters,
    boolean,
    day,
    given,
    number,
    one_of,
    time,
    warning_of_unknown,
)
from backend.core.rest.table import ColumnType
from backend.rankings.selectors.columns import COLUMN
from backend.rankings.selectors.parameters import (
    PARAMETER,
    READERS,
    canonical_names,
    idle_parameters,
    parameter_descriptions,
    split,
)
from backend.rankings.selectors.query import DEFAULTS, Filter, RankingQuery
from backend.rankings.selectors.ranking_column import RankingColumn

# Filters that a reader may state to be none.
# Check boxes of a form cannot send nothing, and so send "any".
HAS_ANY = ("measured", "available")
KNOWN = frozenset(parameter_descriptions()) | frozenset(READERS)
# The longer ones first: `price__gte` also ends like `price__gt` plus a letter.
OPERATORS = ("__gte", "__lte", "__gt", "__lt", "!")


def parse_query(
    params: Mapping[str, Sequence[str]],
    *,
    currencies: frozenset[str],
    also_known: frozenset[str] = frozenset(),
) -> tuple[RankingQuery, list[str]]:
    """The query that the parameters ask for, and a warning for each one not known.

    Empty values count as not given, so a form may send all its fields. `also_known` are names
    that the caller reads itself. Raises InvalidParameters with every bad value.
    """
    fields: dict[str, Any] = {}
    filters: list[Filter] = []
    warnings: list[str] = []
    errors: list[tuple[str, str]] = []
    for name, values in given(canonical_names(params)).items():
        if name in also_known or (name in HAS_ANY and values[-1] == "any"):
            continue
        try:
            if reader := READERS.get(name):
                is_list = name in PARAMETER and PARAMETER[name].is_list
                # Lists may be repeated or separated by commas; of others the last one counts, as in forms.
                fields[name] = reader(",".join(values) if is_list else values[-1])
            elif condition := _filter(name, values):
                filters.append(condition)
            else:
                # A warning and no error: addresses of newer versions and trackers' parameters still work.
                known = KNOWN | also_known if len(warnings) < SHOWN_WARNINGS else ()
                warnings.append(warning_of_unknown(name, known))
        except ValueError as error:
            # All of them at once: who corrects an address should not do it error by error.
            errors.append((name, str(error)))
    if fields.get("currency", DEFAULTS["currency"]) not in currencies:
        errors.append(("currency", f"no exchange rate is known for {fields['currency'][:9]!r}"))
    if errors:
        raise InvalidParameters(errors)
    # Sorted, so that the same question in another order meets the same cache.
    query = RankingQuery(filters=tuple(sorted(filters, key=repr)), **fields)
    # More hours than a month has would be billed by nobody.
    if query.hours_run is not None and query.hours_run > query.hours_per_month:
        detail = f"{query.hours_run} is more than the {query.hours_per_month} hours of a month"
        raise InvalidParameters([("hours_run", detail)])
    return _without_idle(query), warnings


def _without_idle(query: RankingQuery) -> RankingQuery:
    """The query without what it does not use, so that equal rankings are computed once."""
    plain = RankingQuery()
    idle = idle_parameters(lambda name: getattr(query, name))
    return replace(query, **{name: getattr(plain, name) for name in idle})


def _filter(name: str, values: Sequence[str]) -> Filter | None:
    """The condition that a parameter states; None when its name is not one."""
    # The one filter whose word is no column: it asks for a source.
    if name == "measured":
        return Filter("source", "=" if boolean(values[-1]) else "!", ("measured",))
    operator = next((mark for mark in OPERATORS if name.endswith(mark)), "=")
    column = COLUMN.get(name.removesuffix(operator))
    # "More than eu-west-1" means nothing.
    if column is None or (operator.startswith("__") and not column.kind.is_ordered):
        return None
    if operator.startswith("__"):
        return Filter(column.name, operator, (_value(column, values[-1]),))
    return Filter(column.name, operator, tuple(_value(column, part) for part in split(values)))


def _value(column: RankingColumn, value: str) -> Any:
    if column.choices:
        return one_of(column.choices)(value)
    if column.kind.is_numeric:
        return number(value)
    if column.kind is ColumnType.BOOLEAN:
        return boolean(value)
    if column.kind is ColumnType.DATE:
        return day(value)
    if column.kind is ColumnType.TIME:
        return time(value)
    return value
