"""The one parameter vocabulary of pages, API and exports, parsed into a RankingQuery."""

import datetime as dt
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import fields as dataclass_fields
from decimal import Decimal
from enum import Enum
from typing import Any

from backend.catalog.selectors.current_prices import MACHINE, ON_DEMAND, SUSTAINED_USE, TERMS
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
    whole,
)
from backend.common.rest.table import ColumnType
from backend.domain.metrics import METRICS, Metric
from backend.domain.mix import MIX
from backend.domain.pricing.extras import DISK, EGRESS, IP, Wanted
from backend.domain.pricing.periods import HOURS_IN_LONGEST_MONTH, PERIODS
from backend.domain.units import HOURS_PER_MONTH
from backend.rankings.selectors.columns import COLUMN, COLUMNS_V1, RankingColumn

__all__ = [
    "DEFAULTS",
    "DEFAULT_SORT",
    "PARAMETER",
    "PARAMETERS",
    "Filter",
    "InvalidParameters",
    "Parameter",
    "RankingQuery",
    "Role",
    "described_parameters",
    "idle_parameters",
    "query_from",
]

DEFAULT_SORT = (("value_per_cost", True),)
OPERATORS = ("__gte", "__lte", "__gt", "__lt", "!")
BASIS_PARTS = (MACHINE, SUSTAINED_USE, DISK, IP, EGRESS)
"""What a price may hold, in the order in which its cell names them; the machine is always in."""
MOST_METRICS = 12
MOST_SORT_KEYS = 10
MOST_WEIGHT = Decimal(1000)
MOST_GB = Decimal(10**9)
MOST_ADDRESSES = 10_000
RANKING_METRICS = tuple(key for key, metric in METRICS.items() if metric.ranking_variants)


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
    weights: tuple[tuple[str, Decimal], ...] = ()
    """Metric and weight, by key; where there are any, their mix ranks in place of `metric`."""
    base: str = ""
    """Slug of the offer that a mix is relative to; empty: the first that has all its metrics."""
    period: str = "hour"
    currency: str = "USD"
    hours_per_month: Decimal = Decimal(HOURS_PER_MONTH)
    term: str = ON_DEMAND
    basis: tuple[str, ...] = (MACHINE,)
    """Of BASIS_PARTS, in their order."""
    basis_disk_gb: Decimal = Decimal(100)
    """Disk wanted in all; what the machine includes counts."""
    basis_ipv4: int = 1
    basis_egress_gb: Decimal = Decimal(1000)
    """Traffic to the internet in a month; what the price includes counts."""
    tax_rate: Decimal | None = None
    """The reader's tax (ratio) that prices are shown with; None = net prices."""
    as_of: dt.date | None = None
    q: str = ""
    filters: tuple[Filter, ...] = ()
    sort: tuple[tuple[str, bool], ...] = DEFAULT_SORT
    """Column and whether descending; the first is foremost."""
    cols: tuple[str, ...] = COLUMNS_V1
    page: int = 1
    per_page: int = PER_PAGE

    @property
    def ranked_metric(self) -> Metric:
        """What ranks: the metric asked for, or the mix of several."""
        return MIX if self.weights else METRICS[self.metric]

    @property
    def machine_basis(self) -> str:
        """How the machine itself is priced: machine or sustained_use."""
        return SUSTAINED_USE if SUSTAINED_USE in self.basis else MACHINE

    @property
    def wanted(self) -> Wanted:
        """What is wanted of each extra in the basis, in a month; None = not in the basis."""
        return Wanted(
            disk_gb=self.basis_disk_gb if DISK in self.basis else None,
            ipv4_count=self.basis_ipv4 if IP in self.basis else None,
            egress_gb=self.basis_egress_gb if EGRESS in self.basis else None,
        )


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
            if reader := _READERS.get(name):
                is_list = name in PARAMETER and PARAMETER[name].is_list
                fields[name] = reader(",".join(values) if is_list else values[-1])
            elif condition := _filter(name, values):
                filters.append(condition)
            else:
                warnings.append(unknown_warning(name))
        except ValueError as error:
            errors.append((name, str(error)))
    if fields.get("currency", DEFAULTS["currency"]) not in currencies:
        errors.append(("currency", f"no exchange rate is known for {fields['currency'][:9]!r}"))
    if errors:
        raise InvalidParameters(errors)
    query = RankingQuery(filters=tuple(sorted(filters, key=repr)), **fields)
    return _without_idle(query), warnings


def _without_idle(query: RankingQuery) -> RankingQuery:
    """The query without what it does not use, so that equal rankings are computed once."""
    plain = RankingQuery()
    idle = idle_parameters(lambda name: getattr(query, name))
    return replace(query, **{name: getattr(plain, name) for name in idle})


# --- single values ----------------------------------------------------------------------------


def _hours(value: str) -> Decimal:
    hours = number(value)
    if not 0 < hours <= HOURS_IN_LONGEST_MONTH:
        raise ValueError(f"{value!r} is not above 0 and up to {HOURS_IN_LONGEST_MONTH}")
    return Decimal(hours)


def _weights(value: str) -> tuple[tuple[str, Decimal], ...]:
    """`key:weight` or `key` (weight 1), comma-separated, each metric once."""
    found: dict[str, Decimal] = {}
    for part in _split([value]):
        key, _, weight = (word.strip() for word in part.partition(":"))
        one_of(RANKING_METRICS)(key)
        if key in found:
            raise ValueError(f"{key} is named twice")
        found[key] = _between(Decimal(0), MOST_WEIGHT, is_low_in=False)(weight or "1")
    if len(found) > MOST_METRICS:
        raise ValueError(f"{len(found)} metrics are more than {MOST_METRICS}")
    return tuple(sorted(found.items()))


def _between(low: Decimal, high: Decimal, *, is_low_in: bool = True) -> Callable[[str], Decimal]:
    def reader(value: str) -> Decimal:
        amount = number(value)
        if not low <= amount <= high or (amount == low and not is_low_in):
            raise ValueError(f"{value!r} is not {'from' if is_low_in else 'above'} {low} to {high}")
        return amount

    return reader


def _basis(value: str) -> tuple[str, ...]:
    asked = {one_of(BASIS_PARTS)(part) for part in _split([value])} | {MACHINE}
    return tuple(part for part in BASIS_PARTS if part in asked)


def _sort(value: str) -> tuple[tuple[str, bool], ...]:
    """Keys in order; a column's second key changes nothing and is dropped."""
    keys: dict[str, bool] = {}
    for key in _split([value]):
        keys.setdefault(_column_name(key.removeprefix("-")), key.startswith("-"))
    if len(keys) > MOST_SORT_KEYS:
        raise ValueError(f"{len(keys)} columns are more than {MOST_SORT_KEYS}")
    return tuple(keys.items())


def _cols(value: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_column_name(name) for name in _split([value])))


def _column_name(name: str) -> str:
    if name not in COLUMN:
        raise ValueError(f"{name!r} is not a column")
    return name


# --- the parameters ---------------------------------------------------------------------------


class Role(Enum):
    """What a parameter decides, and with it where pages show it."""

    SELECTOR = "what the figures are, chosen above every table"
    QUESTION = "what the figures are, shown as a chip where it is stated"
    FILTER = "which rows are listed, shown as a chip"
    ARRANGEMENT = "order, columns and page"


@dataclass(frozen=True)
class Parameter:
    """One parameter of a ranking; those that are filters on a column follow from the columns.

    Its default is that of the field of RankingQuery with its name.
    """

    name: str
    reader: Reader | None
    """None where it is short for a filter."""
    role: Role
    description: str
    label: str = ""
    """Words of its chip."""
    is_list: bool = False
    """Whether a form may send it as several values."""
    owner: str = ""
    """The parameter that it belongs to: without that it says nothing, and they share a chip."""
    part: str = ""
    """What of its owner's list it is the amount of; empty: of all."""

    @property
    def default(self) -> str:
        """What it says when it is not given, as text; empty for nothing."""
        return DEFAULTS.get(self.name, "")


def _default_text(name: str, value: Any) -> str:
    if name == "sort":
        return ",".join(
            f"{'-' if is_descending else ''}{column}" for column, is_descending in value
        )
    if isinstance(value, tuple):
        return ",".join(value)
    return "" if value is None else str(value)


DEFAULTS: Mapping[str, str] = {
    field.name: stated
    for field in dataclass_fields(RankingQuery)
    if (stated := _default_text(field.name, field.default))
}
"""Values of RankingQuery as a URL states them; what is empty is left out."""
PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "metric",
        one_of(tuple(METRICS)),
        Role.SELECTOR,
        f"Key of the metric (default {DEFAULTS['metric']}): {', '.join(METRICS)}",
    ),
    Parameter(
        "weights",
        _weights,
        Role.QUESTION,
        "Several metrics in one score, as metric:weight, comma-separated: the weighted "
        "geometric mean of the ratios to the offer `base`; the metric column then says mix",
        label="Weights",
        is_list=True,
    ),
    Parameter(
        "base",
        text,
        Role.QUESTION,
        "Slug of that offer (default: the first that has all the metrics); no order depends on it",
        label="Baseline",
        owner="weights",
    ),
    Parameter("period", one_of(PERIODS), Role.SELECTOR, "hour (default), month or year"),
    Parameter(
        "currency",
        str.upper,
        Role.SELECTOR,
        f"Three-letter code (default {DEFAULTS['currency']})",
    ),
    Parameter(
        "hours_per_month",
        _hours,
        Role.SELECTOR,
        f"Hours that stand for a month (default {DEFAULTS['hours_per_month']}), up to "
        f"{HOURS_IN_LONGEST_MONTH}",
    ),
    Parameter(
        "term",
        one_of(tuple(TERMS)),
        Role.SELECTOR,
        f"How it is bought (default {DEFAULTS['term']}, else monthly): {', '.join(TERMS)}",
    ),
    Parameter(
        "basis",
        _basis,
        Role.QUESTION,
        "What the price holds beside the machine, comma-separated: disk, ip, egress; and "
        "sustained_use for the discount on whole months",
        label="Price basis",
        is_list=True,
    ),
    Parameter(
        "basis_disk_gb",
        _between(Decimal(0), MOST_GB),
        Role.QUESTION,
        "With disk: GB wanted in all, those included counted "
        f"(default {DEFAULTS['basis_disk_gb']})",
        label="Disk (GB)",
        owner="basis",
        part=DISK,
    ),
    Parameter(
        "basis_ipv4",
        whole(0, MOST_ADDRESSES),
        Role.QUESTION,
        f"With ip: public IPv4 addresses (default {DEFAULTS['basis_ipv4']})",
        label="Public IPv4 addresses",
        owner="basis",
        part=IP,
    ),
    Parameter(
        "basis_egress_gb",
        _between(Decimal(0), MOST_GB),
        Role.QUESTION,
        "With egress: GB to the internet in a month, those included counted "
        f"(default {DEFAULTS['basis_egress_gb']})",
        label="Traffic (GB/month)",
        owner="basis",
        part=EGRESS,
    ),
    Parameter(
        "tax_rate",
        _between(Decimal(0), Decimal(1)),
        Role.QUESTION,
        "Ratio, such as 0.19: prices with that tax (default: net)",
        label="Tax",
    ),
    Parameter(
        "as_of",
        day,
        Role.QUESTION,
        "Prices and exchange rates known on that day",
        label="As of",
    ),
    Parameter(
        "q",
        text,
        Role.FILTER,
        "Words that identifier, name, provider, region or processor hold",
        label="Search",
    ),
    Parameter(
        "measured",
        None,
        Role.FILTER,
        "1: measured only; 0: all others",
        label="Measured",
    ),
    Parameter(
        "sort",
        _sort,
        Role.ARRANGEMENT,
        f"Up to {MOST_SORT_KEYS} columns, comma-separated, - for descending "
        f"(default {DEFAULTS['sort']})",
    ),
    Parameter("cols", _cols, Role.ARRANGEMENT, "Columns to show, comma-separated", is_list=True),
)
PARAMETER = {parameter.name: parameter for parameter in PARAMETERS}
_READERS: Mapping[str, Reader] = {
    **PAGING,
    **{parameter.name: parameter.reader for parameter in PARAMETERS if parameter.reader},
}


def idle_parameters(value_of: Callable[[str], Collection[Any]]) -> set[str]:
    """Parameters that say nothing: an amount without its part, a baseline without weights.

    `value_of` gives what is stated of a list of the parameters.
    """
    return {
        one.name
        for one in PARAMETERS
        if one.owner and not (one.part in value_of(one.owner) if one.part else value_of(one.owner))
    }


def described_parameters() -> dict[str, str]:
    """Names and meanings of the parameters; those of paging left out."""
    filters: dict[str, str] = {}
    for column in COLUMN.values():
        if column.name not in _READERS:
            filters[column.name] = f"Alternatives, comma-separated. {column.description}"
        filters[f"{column.name}!"] = "None of these, comma-separated"
        if column.kind.is_ordered:
            filters[f"{column.name}__gte"] = "At least"
            filters[f"{column.name}__lte"] = "At most"
            filters[f"{column.name}__gt"] = "More than"
            filters[f"{column.name}__lt"] = "Less than"
    return {**{one.name: one.description for one in PARAMETERS}, **filters}


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
