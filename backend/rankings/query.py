"""The one parameter vocabulary of pages, API and exports, parsed into a RankingQuery."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from backend.catalog.models import Kind as OfferKind
from backend.catalog.models import VcpuKind
from backend.catalog.selectors import BASES, MACHINE, ON_DEMAND, TERMS
from backend.common.rest.parameters import (
    PAGING,
    PER_PAGE,
    InvalidParameters,
    Reader,
    boolean,
    day,
    given,
    number,
    one_of,
    text,
    time,
    unknown_warning,
)
from backend.common.rest.table import Column, Kind
from backend.domain.metrics import METRICS
from backend.domain.pricing.periods import HOURS_IN_LONGEST_MONTH, PERIODS
from backend.rankings.columns import COLUMN, COLUMNS_V1

__all__ = [
    "DEFAULT_SORT",
    "Filter",
    "InvalidParameters",
    "RankingQuery",
    "described_parameters",
    "query_from",
]

DEFAULT_SORT = (("value_per_cost", True),)
OPERATORS = ("__gte", "__lte", "!")
# Of the design's vocabulary, but not yet understood: answered like an unknown parameter.
LATER = ("weights", "view")
CHOICES: Mapping[str, Sequence[str]] = {"kind": OfferKind.values, "vcpu_kind": VcpuKind.values}


@dataclass(frozen=True)
class Filter:
    """One condition on a column; `values` are alternatives for `=` and `!`."""

    column: str
    operator: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class RankingQuery:
    """Everything that a ranking depends on, and the part of it to show."""

    metric: str = "cmips_score"
    period: str = "hour"
    currency: str = "USD"
    hours_per_month: Decimal = Decimal(730)
    term: str = ON_DEMAND
    basis: str = MACHINE
    as_of: dt.date | None = None
    q: str = ""
    filters: tuple[Filter, ...] = ()
    sort: tuple[tuple[str, bool], ...] = DEFAULT_SORT
    """Column and whether descending; the first is foremost."""
    cols: tuple[str, ...] = COLUMNS_V1
    page: int = 1
    per_page: int = PER_PAGE


def query_from(
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
    for name, values in given(params).items():
        if name in also_known or (name, values[-1]) == ("measured", "any"):
            continue
        try:
            if name in _FIELDS:
                fields[name] = _FIELDS[name](values[-1])
            elif condition := _filter(name, values):
                filters.append(condition)
            else:
                warnings.append(_warning(name))
        except ValueError as error:
            errors.append((name, str(error)))
    if fields.get("currency", "USD") not in currencies:
        errors.append(("currency", f"no exchange rate is known for {fields['currency'][:9]!r}"))
    if errors:
        raise InvalidParameters(errors)
    return RankingQuery(filters=tuple(sorted(filters, key=repr)), **fields), warnings


def _warning(name: str) -> str:
    if name in LATER:
        return f"parameter {name} is not supported yet and was ignored"
    return unknown_warning(name)


# --- single values ----------------------------------------------------------------------------


def _hours(value: str) -> Decimal:
    hours = number(value)
    if not 0 < hours <= HOURS_IN_LONGEST_MONTH:
        raise ValueError(f"{value!r} is not above 0 and up to {HOURS_IN_LONGEST_MONTH}")
    return Decimal(hours)


def _sort(value: str) -> tuple[tuple[str, bool], ...]:
    keys = [key.strip() for key in value.split(",") if key.strip()]
    return tuple((_column_name(key.removeprefix("-")), key.startswith("-")) for key in keys)


def _cols(value: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_column_name(name) for name in _split([value])))


def _column_name(name: str) -> str:
    if name not in COLUMN:
        raise ValueError(f"{name!r} is not a column")
    return name


_FIELDS: Mapping[str, Reader] = {
    **PAGING,
    "metric": one_of(tuple(METRICS)),
    "period": one_of(PERIODS),
    "currency": str.upper,
    "hours_per_month": _hours,
    "term": one_of(tuple(TERMS)),
    "basis": one_of(BASES),
    "as_of": day,
    "q": text,
    "sort": _sort,
    "cols": _cols,
}
_DESCRIBED = {
    "metric": f"Key of the metric (default cmips_score): {', '.join(METRICS)}",
    "period": "hour (default), month or year",
    "currency": "Three-letter code (default USD)",
    "hours_per_month": "Hours that stand for a month (default 730), up to 744",
    "term": f"How it is bought (default on_demand, else monthly): {', '.join(TERMS)}",
    "basis": "What the price holds: machine (default), or sustained_use for whole months",
    "as_of": "Prices and exchange rates known on that day",
    "q": "Words that identifier, name, provider, region or processor hold",
    "measured": "1: measured only; 0: all others",
    "sort": "Columns, comma-separated, - for descending (default -value_per_cost)",
    "cols": "Columns to show, comma-separated",
}


def described_parameters() -> dict[str, str]:
    """Names and meanings of the parameters; those of paging left out."""
    filters: dict[str, str] = {}
    for column in COLUMN.values():
        if column.name not in _FIELDS:
            filters[column.name] = f"Alternatives, comma-separated. {column.description}"
        filters[f"{column.name}!"] = "None of these, comma-separated"
        if column.kind.is_ordered:
            filters[f"{column.name}__gte"] = "At least"
            filters[f"{column.name}__lte"] = "At most"
    return {**_DESCRIBED, **filters}


# --- filters ----------------------------------------------------------------------------------


def _split(values: Sequence[str]) -> list[str]:
    return [part.strip() for value in values for part in value.split(",") if part.strip()]


def _filter(name: str, values: Sequence[str]) -> Filter | None:
    """The condition that a parameter states; None when its name is not one."""
    if name == "measured":
        return Filter("source", "=" if boolean(values[-1]) else "!", ("measured",))
    operator = next((mark for mark in OPERATORS if name.endswith(mark)), "=")
    column = COLUMN.get(name.removesuffix(operator))
    if column is None or (operator.startswith("__") and not column.kind.is_ordered):
        return None
    if operator.startswith("__"):
        return Filter(column.name, operator, (_value(column, values[-1]),))
    return Filter(column.name, operator, tuple(_value(column, part) for part in _split(values)))


def _value(column: Column, value: str) -> Any:
    if column.name in CHOICES:
        return one_of(CHOICES[column.name])(value)
    if column.kind.is_numeric:
        return number(value)
    if column.kind is Kind.BOOLEAN:
        return boolean(value)
    if column.kind is Kind.DATE:
        return day(value)
    if column.kind is Kind.TIME:
        return time(value)
    return value
