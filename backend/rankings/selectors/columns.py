"""The columns of offers and rankings: all that API, exports, filters and pages know of each.

Version 1: their order never changes, new ones go last. A new column is an entry here and its value
in `rows`; only a cell that shows more than its value has a renderer in `web.ranking.cells`.
"""

from dataclasses import dataclass
from enum import Enum

from backend.catalog.models import Kind as OfferKind
from backend.catalog.models import VcpuKind
from backend.common.rest.table import Column, ColumnType


class Stage(Enum):
    """When the cells of a column are known, and so when a filter on it is applied."""

    OFFER = "before ranking"
    VALUE = "with the price, whoever else is listed: the list is ranked without what it excludes"
    RANK = "once all are ranked: a filter only hides rows"


class Scale(Enum):
    """The scale, with its unit, on which a page shows the cells of a column."""

    SCORE = "of the metric"
    VALUE = "of the metric per cost"


@dataclass(frozen=True, kw_only=True)
class RankingColumn(Column):
    """One column, with what filters and pages need beside what every table has."""

    label: str
    """Head of the column."""
    empty: str = "not stated"
    """What an empty cell says."""
    filter_words: str = ""
    """What a filter is called where the head of the cells says something wider."""
    choices: tuple[str, ...] = ()
    """The only values that a filter takes; empty: any."""
    stage: Stage = Stage.OFFER
    scale: Scale | None = None
    shows_unit: bool = False
    """Whether a page names the unit, which is then the same for every query."""
    is_descending_first: bool = False
    """Whether a first click sorts downwards: figures are read best first."""
    has_bounds: bool = True
    """Whether a column with an order has a field for each bound."""
    is_unbroken: bool = False
    """Whether its cells stay on one line."""

    @property
    def filter_label(self) -> str:
        """Words of a filter, with its unit."""
        words = self.filter_words or self.label
        return f"{words} ({self.unit})" if self.shows_unit else words

    @property
    def is_sortable(self) -> bool:
        """Whether an order by the column says something: not so for lists of marks."""
        return self.kind is not ColumnType.WORDS

    @property
    def is_category(self) -> bool:
        """Whether its values are words, of which a filter names some."""
        return self.kind in {ColumnType.TEXT, ColumnType.WORDS}


COLUMNS: tuple[RankingColumn, ...] = (
    RankingColumn(
        "offer_id",
        ColumnType.TEXT,
        "Slug of the offer, used wherever an offer is asked for",
        label="Identifier",
    ),
    RankingColumn(
        "provider",
        ColumnType.TEXT,
        "Slug of the provider; own for one's own machines",
        label="Provider",
        is_unbroken=True,
    ),
    RankingColumn(
        "offer",
        ColumnType.TEXT,
        "The provider's own name of the type",
        label="Offer",
    ),
    RankingColumn(
        "kind",
        ColumnType.TEXT,
        "cloud, vps, dedicated or onprem",
        label="Kind",
        choices=tuple(OfferKind.values),
    ),
    RankingColumn(
        "region",
        ColumnType.TEXT,
        "The provider's name of the place",
        label="Region",
        is_unbroken=True,
    ),
    RankingColumn(
        "arch",
        ColumnType.TEXT,
        "Processor architecture",
        label="Architecture",
    ),
    RankingColumn(
        "vcpu",
        ColumnType.NUMBER,
        "Virtual CPUs that a guest sees, or CPUs of a machine",
        label="vCPU",
        is_descending_first=True,
    ),
    RankingColumn(
        "vcpu_kind",
        ColumnType.TEXT,
        "dedicated, shared or burstable",
        label="vCPU kind",
        choices=tuple(VcpuKind.values),
    ),
    RankingColumn(
        "threads",
        ColumnType.INTEGER,
        "Hardware threads of the machine",
        label="Threads",
        is_descending_first=True,
    ),
    RankingColumn(
        "ram_gib",
        ColumnType.NUMBER,
        "Memory",
        "GiB",
        label="RAM",
        shows_unit=True,
        is_descending_first=True,
    ),
    RankingColumn(
        "disk_gb",
        ColumnType.NUMBER,
        "Disk that the price includes",
        "GB",
        label="Disk",
        shows_unit=True,
        is_descending_first=True,
    ),
    RankingColumn(
        "disk_kind",
        ColumnType.TEXT,
        "Kind of that disk",
        label="Disk kind",
    ),
    RankingColumn(
        "price",
        ColumnType.DECIMAL,
        "Price for the period in the currency",
        "currency/period",
        label="Price",
        empty="no price",
    ),
    RankingColumn(
        "currency",
        ColumnType.TEXT,
        "Currency of price, cup and value_per_cost",
        label="Currency",
    ),
    RankingColumn(
        "period",
        ColumnType.TEXT,
        "hour, month or year; once for a purchase",
        label="Period",
    ),
    RankingColumn(
        "hours_per_month",
        ColumnType.NUMBER,
        "Hours that stand for a month",
        "h",
        label="Hours a month",
        has_bounds=False,
    ),
    RankingColumn(
        "price_basis",
        ColumnType.TEXT,
        "What the price holds: machine or sustained_use, +disk, +ip, +egress, +tax",
        label="Price includes",
        empty="no price",
    ),
    RankingColumn(
        "price_term",
        ColumnType.TEXT,
        "How it is bought: on_demand, monthly, spot, committed_1y, …",
        label="Price term",
        empty="no price",
        filter_words="Term of the price",
    ),
    RankingColumn(
        "price_usd_hour",
        ColumnType.DECIMAL,
        "The price for one hour in US dollars",
        "USD/h",
        label="Price, USD/hour",
        empty="no price",
    ),
    RankingColumn(
        "price_observed_on",
        ColumnType.DATE,
        "Day on which the price was read, or found unchanged",
        label="Price observed",
        empty="no price",
        is_descending_first=True,
        is_unbroken=True,
    ),
    RankingColumn(
        "fx_rate",
        ColumnType.DECIMAL,
        "Units of currency for one unit of the currency quoted",
        label="Exchange rate",
        empty="not converted",
    ),
    RankingColumn(
        "fx_date",
        ColumnType.DATE,
        "Day of that rate",
        label="Day of the rate",
        empty="not converted",
        is_unbroken=True,
    ),
    RankingColumn(
        "metric",
        ColumnType.TEXT,
        "Key of the metric; mix for several",
        label="Metric",
    ),
    RankingColumn(
        "score",
        ColumnType.NUMBER,
        "Median result of the metric",
        "unit of the metric",
        label="Score",
        empty="not measured",
        is_descending_first=True,
        scale=Scale.SCORE,
    ),
    RankingColumn(
        "score_ci95_low",
        ColumnType.NUMBER,
        "Lower end of its 95 % interval",
        "unit of the metric",
        label="Score, 95 % low",
        empty="no interval",
        is_descending_first=True,
        scale=Scale.SCORE,
    ),
    RankingColumn(
        "score_ci95_high",
        ColumnType.NUMBER,
        "Upper end of its 95 % interval",
        "unit of the metric",
        label="Score, 95 % high",
        empty="no interval",
        is_descending_first=True,
        scale=Scale.SCORE,
    ),
    RankingColumn(
        "score_n_instances",
        ColumnType.INTEGER,
        "Different machines behind the score",
        label="Machines",
        is_descending_first=True,
    ),
    RankingColumn(
        "score_n_repeats",
        ColumnType.INTEGER,
        "Single results behind the score",
        label="Repeats",
        is_descending_first=True,
    ),
    RankingColumn(
        "interval_basis",
        ColumnType.TEXT,
        "How the interval was made",
        label="Interval from",
    ),
    RankingColumn(
        "cup",
        ColumnType.DECIMAL,
        "Cost of unit process: price of an hour / score",
        "currency/h",
        label="CUP",
        empty="unknown",
        stage=Stage.VALUE,
    ),
    RankingColumn(
        "value_per_cost",
        ColumnType.DECIMAL,
        "score / price, or 1 / (score × price)",
        label="Value per cost",
        is_descending_first=True,
        scale=Scale.VALUE,
        stage=Stage.VALUE,
    ),
    RankingColumn(
        "value_per_cost_ci95_low",
        ColumnType.DECIMAL,
        "Lower end of its 95 % interval",
        label="Value, 95 % low",
        empty="no interval",
        is_descending_first=True,
        scale=Scale.VALUE,
        stage=Stage.VALUE,
    ),
    RankingColumn(
        "value_per_cost_ci95_high",
        ColumnType.DECIMAL,
        "Upper end of its 95 % interval",
        label="Value, 95 % high",
        empty="no interval",
        is_descending_first=True,
        scale=Scale.VALUE,
        stage=Stage.VALUE,
    ),
    RankingColumn(
        "rank",
        ColumnType.INTEGER,
        "Place by value_per_cost in the filtered list",
        label="Rank",
        empty="unranked",
        stage=Stage.RANK,
    ),
    RankingColumn(
        "rank_low",
        ColumnType.INTEGER,
        "Best plausible place (5th percentile)",
        label="Best place",
        empty="unranked",
        stage=Stage.RANK,
    ),
    RankingColumn(
        "rank_high",
        ColumnType.INTEGER,
        "Worst plausible place (95th percentile)",
        label="Worst place",
        empty="unranked",
        stage=Stage.RANK,
    ),
    RankingColumn(
        "tie_group",
        ColumnType.INTEGER,
        "Rows of one group are not distinguishable",
        label="Tie group",
        empty="unranked",
        stage=Stage.RANK,
    ),
    RankingColumn(
        "pareto",
        ColumnType.BOOLEAN,
        "No other listed offer costs no more and scores no worse",
        label="Pareto front",
        empty="unranked",
        is_descending_first=True,
        stage=Stage.RANK,
    ),
    RankingColumn(
        "measured_at",
        ColumnType.TIME,
        "Time of the newest result used",
        label="Source",
        filter_words="Measured at",
        is_descending_first=True,
        is_unbroken=True,
    ),
    RankingColumn(
        "method_version",
        ColumnType.TEXT,
        "Version of the method that made it",
        label="Method",
    ),
    RankingColumn(
        "source",
        ColumnType.TEXT,
        "measured, published or imported",
        label="Origin",
    ),
    RankingColumn(
        "result_url",
        ColumnType.TEXT,
        "Where the raw output or the publication is",
        label="Result",
    ),
    RankingColumn(
        "data_version",
        ColumnType.INTEGER,
        "State of the data that this row shows",
        label="Data version",
        has_bounds=False,
    ),
    RankingColumn(
        "flags",
        ColumnType.WORDS,
        "disturbed unstable cached shared_vcpu burstable stale_price …",
        label="Notes",
        empty="",
    ),
    RankingColumn(
        "missing",
        ColumnType.WORDS,
        "Inputs that are not known",
        label="Missing",
        empty="nothing",
        stage=Stage.RANK,
    ),
    RankingColumn(
        "price_zone",
        ColumnType.TEXT,
        "Zone of a spot price: the cheapest of its region",
        label="Price zone",
        empty="no zone",
        is_unbroken=True,
    ),
)
COLUMN = {column.name: column for column in COLUMNS}
COLUMNS_V1: tuple[str, ...] = tuple(COLUMN)
