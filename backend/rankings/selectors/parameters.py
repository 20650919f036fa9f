"""The parameters of a ranking, the one vocabulary of pages, API and exports; those that are filters
on a column follow from the columns."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

from backend.catalog.selectors.price_choice import LIST, MACHINE, SUSTAINED_USE, TERMS
from backend.core.rest.parameters import PAGING, Reader, day, number, one_of, text, whole
from backend.foundation.texts import text as _
from backend.measure.metrics import METRICS
from backend.money.pricing.extras import DISK, EGRESS, IP
from backend.money.pricing.periods import HOURS_IN_LONGEST_MONTH, PERIODS
from backend.money.pricing.quoted import MOST_SETUP_MONTHS
from backend.rankings.selectors.columns import COLUMN
from backend.rankings.selectors.query import (
    BURST,
    CONTRACT,
    DEFAULTS,
    RANKED,
    SUSTAINED,
    UNRANKED,
)

# Contents of a price, in the order in which its cell names them; the machine is always in.
BASIS_PARTS = (MACHINE, LIST, CONTRACT, DISK, IP, EGRESS)
# Once asked for, and since then part of every month.
BASIS_ALIASES = {SUSTAINED_USE: MACHINE}
MOST_METRICS = 12
MOST_SORT_KEYS = 10
MOST_WEIGHT = Decimal(1000)
MOST_GB = Decimal(10**9)
MOST_ADDRESSES = 10_000
RANKING_METRICS = tuple(key for key, metric in METRICS.items() if metric.ranking_variants)


def _hours(value: str) -> Decimal:
    hours = number(value)
    if not 0 < hours <= HOURS_IN_LONGEST_MONTH:
        raise ValueError(f"{value!r} is not above 0 and up to {HOURS_IN_LONGEST_MONTH}")
    return Decimal(hours)


def _month(value: str) -> Decimal:
    hours = _hours(value)
    # Prices by the hour would round to nothing in a month that is shorter.
    if hours < 1:
        raise ValueError(f"{value!r} hours are no month: 1 is the least")
    return hours


def _weights(value: str) -> tuple[tuple[str, Decimal], ...]:
    """`key:weight` or `key` (weight 1), comma-separated, each metric once."""
    weights: dict[str, Decimal] = {}
    for part in split([value]):
        key, _, weight = (word.strip() for word in part.partition(":"))
        one_of(RANKING_METRICS)(key)
        if key in weights:
            raise ValueError(f"{key} is named twice")
        weights[key] = _between(Decimal(0), MOST_WEIGHT, is_low_in=False)(weight or "1")
    if len(weights) > MOST_METRICS:
        raise ValueError(f"{len(weights)} metrics are more than {MOST_METRICS}")
    return tuple(sorted(weights.items()))


def _between(low: Decimal, high: Decimal, *, is_low_in: bool = True) -> Callable[[str], Decimal]:
    def reader(value: str) -> Decimal:
        amount = number(value)
        if not low <= amount <= high or (amount == low and not is_low_in):
            raise ValueError(f"{value!r} is not {'from' if is_low_in else 'above'} {low} to {high}")
        return amount

    return reader


def _basis(value: str) -> tuple[str, ...]:
    named = {one_of((*BASIS_PARTS, *BASIS_ALIASES))(part) for part in split([value])}
    if LIST in named and (discounts := named & {SUSTAINED_USE, CONTRACT}):
        raise ValueError(f"list is without the discount that {min(discounts)} asks for: name one")
    machine = LIST if LIST in named else MACHINE
    asked = {machine, *(named - BASIS_ALIASES.keys() - {MACHINE})}
    return tuple(part for part in BASIS_PARTS if part in asked)


def _sort(value: str) -> tuple[tuple[str, bool], ...]:
    """Keys in order; a column's second key changes nothing and is dropped."""
    keys: dict[str, bool] = {}
    for key in split([value]):
        keys.setdefault(_column_name(key.removeprefix("-")), key.startswith("-"))
    if len(keys) > MOST_SORT_KEYS:
        raise ValueError(f"{len(keys)} columns are more than {MOST_SORT_KEYS}")
    return tuple(keys.items())


def _cols(value: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_column_name(name) for name in split([value])))


def _column_name(name: str) -> str:
    if name not in COLUMN:
        raise ValueError(f"{name!r} is not a column")
    return name


def split(values: Sequence[str]) -> list[str]:
    return [part.strip() for value in values for part in value.split(",") if part.strip()]


class Role(Enum):
    """Effect of a parameter, and with it where pages show it."""

    SELECTOR = "what the figures are, chosen above every table"
    QUESTION = "what the figures are, shown as a chip where it is stated"
    FILTER = "which rows are listed, shown as a chip"
    ARRANGEMENT = "order, columns and page"


@dataclass(frozen=True)
class RankingParameter:
    """A parameter of a ranking; those that are filters on a column follow from the columns.

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
    """True if a form may send it as several values."""
    owner: str = ""
    """The parameter that it belongs to: without that it says nothing, and they share a chip."""
    part: str = ""
    """Item of its owner's list that it is the amount of; empty: of all."""

    @property
    def default(self) -> str:
        """Value when it is not given, as text; empty for nothing."""
        return DEFAULTS.get(self.name, "")


PARAMETERS: tuple[RankingParameter, ...] = (
    RankingParameter(
        "metric",
        one_of(tuple(METRICS)),
        Role.SELECTOR,
        f"Key of the metric (default {DEFAULTS['metric']}): {', '.join(METRICS)}",
    ),
    RankingParameter(
        "weights",
        _weights,
        Role.QUESTION,
        "Several metrics in one score, as metric:weight, comma-separated: the weighted "
        "geometric mean of the ratios to the offer `base`; the metric column then says mix",
        label=_("Weights"),
        is_list=True,
    ),
    RankingParameter(
        "base",
        text,
        Role.QUESTION,
        "Slug of that offer (default: the first that has all the metrics); no order depends on it",
        label=_("Baseline"),
        owner="weights",
    ),
    RankingParameter(
        "load",
        one_of((SUSTAINED, BURST)),
        Role.QUESTION,
        f"{SUSTAINED} (default): types with CPU credits count with what they hold, or with the charge "
        f"for running on, when busy for all of the hours run; {BURST}: with what they do while credits last",
        label=_("Load"),
    ),
    RankingParameter("period", one_of(PERIODS), Role.SELECTOR, "hour (default), month or year"),
    RankingParameter(
        "currency",
        str.upper,
        Role.SELECTOR,
        f"Three-letter code (default {DEFAULTS['currency']})",
    ),
    RankingParameter(
        "hours_per_month",
        _month,
        Role.SELECTOR,
        f"Hours that stand for a month (default {DEFAULTS['hours_per_month']}), up to "
        f"{HOURS_IN_LONGEST_MONTH}",
    ),
    RankingParameter(
        "hours_run",
        _hours,
        Role.QUESTION,
        "Hours a month that the machine runs (default: all of hours_per_month); what is paid by the "
        "month or for a term is paid in full all the same",
        label=_("Hours used per month"),
    ),
    RankingParameter(
        "setup_months",
        whole(0, MOST_SETUP_MONTHS),
        Role.QUESTION,
        f"Months over which a setup fee is spread (default {DEFAULTS['setup_months']}); 0 leaves it out",
        label=_("Setup fee over (months)"),
    ),
    RankingParameter(
        "term",
        one_of(tuple(TERMS)),
        Role.SELECTOR,
        f"How it is bought (default {DEFAULTS['term']}, else monthly): {', '.join(TERMS)}",
    ),
    RankingParameter(
        "basis",
        _basis,
        Role.QUESTION,
        "What the price holds beside the machine, comma-separated: disk, ip, egress; list for "
        "list prices, without the discount that a provider takes off a month by itself "
        "(sustained_use is an alias of machine); contract for prices after the discounts that the "
        "workspace has agreed, for those who may write prices",
        label=_("Price basis"),
        is_list=True,
    ),
    RankingParameter(
        "basis_disk_gb",
        _between(Decimal(0), MOST_GB),
        Role.QUESTION,
        "With disk: GB needed in all, those included counted "
        f"(default {DEFAULTS['basis_disk_gb']})",
        label=_("Disk (GB)"),
        owner="basis",
        part=DISK,
    ),
    RankingParameter(
        "basis_ipv4",
        whole(0, MOST_ADDRESSES),
        Role.QUESTION,
        f"With ip: public IPv4 addresses (default {DEFAULTS['basis_ipv4']})",
        label=_("Public IPv4 addresses"),
        owner="basis",
        part=IP,
    ),
    RankingParameter(
        "basis_egress_gb",
        _between(Decimal(0), MOST_GB),
        Role.QUESTION,
        "With egress: GB to the internet in a month, those included counted "
        f"(default {DEFAULTS['basis_egress_gb']})",
        label=_("Traffic (GB/month)"),
        owner="basis",
        part=EGRESS,
    ),
    RankingParameter(
        "tax_rate",
        _between(Decimal(0), Decimal(1)),
        Role.QUESTION,
        "Ratio, such as 0.19: prices with that tax (default: net)",
        label=_("Tax"),
    ),
    RankingParameter(
        "tax_unknown",
        one_of((UNRANKED, RANKED)),
        Role.QUESTION,
        f"What becomes of prices whose tax is not known beside net ones: {UNRANKED} (default) or {RANKED}",
        label=_("Prices of unknown tax"),
    ),
    RankingParameter(
        "as_of",
        day,
        Role.QUESTION,
        "Prices, exchange rates and scores known at the end of that day",
        label=_("As of"),
    ),
    RankingParameter(
        "q",
        text,
        Role.FILTER,
        "Words that identifier, name, provider, region or processor hold",
        label=_("Search"),
    ),
    RankingParameter(
        "measured",
        None,
        Role.FILTER,
        "1: measured only; 0: all others",
        label=_("Measured"),
    ),
    RankingParameter(
        "sort",
        _sort,
        Role.ARRANGEMENT,
        f"Up to {MOST_SORT_KEYS} columns, comma-separated, - for descending "
        f"(default {DEFAULTS['sort']})",
    ),
    RankingParameter(
        "cols", _cols, Role.ARRANGEMENT, "Columns to show, comma-separated", is_list=True
    ),
)
PARAMETER = {parameter.name: parameter for parameter in PARAMETERS}
READERS: Mapping[str, Reader] = {
    **PAGING,
    **{parameter.name: parameter.reader for parameter in PARAMETERS if parameter.reader},
}


# Ends a condition that leaves values out where `!` would do: in the description of the API, for
# what generates clients makes one identifier of `arch` and `arch!`.
NOT = "__not"


def canonical_names(params: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The parameters with `arch__not` as `arch!`; values under both names count together."""
    named: dict[str, list[str]] = {}
    for name, values in params.items():
        column = name.removesuffix(NOT)
        is_alias = column != name and column in COLUMN
        named.setdefault(f"{column}!" if is_alias else name, []).extend(values)
    return named


def idle_parameters(value_of: Callable[[str], Collection[Any]]) -> set[str]:
    """Parameters that say nothing: an amount without its part, a baseline without weights.

    `value_of` gives what is stated of a list of the parameters.
    """
    return {
        parameter.name
        for parameter in PARAMETERS
        if parameter.owner
        and not (
            parameter.part in value_of(parameter.owner)
            if parameter.part
            else value_of(parameter.owner)
        )
    }


def parameter_descriptions() -> dict[str, str]:
    """Names and meanings of the parameters; those of paging left out."""
    filters: dict[str, str] = {}
    for column in COLUMN.values():
        if column.name not in READERS:
            filters[column.name] = f"Alternatives, comma-separated. {column.description}"
        filters[f"{column.name}{NOT}"] = "None of these, comma-separated"
        if column.kind.is_ordered:
            filters[f"{column.name}__gte"] = "At least"
            filters[f"{column.name}__lte"] = "At most"
            filters[f"{column.name}__gt"] = "More than"
            filters[f"{column.name}__lt"] = "Less than"
    return {**{parameter.name: parameter.description for parameter in PARAMETERS}, **filters}
