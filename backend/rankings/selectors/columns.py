"""The columns of offers and rankings: all that API, exports, filters and pages know of each.

Version 1: their order never changes, new ones go last. A new column is an entry here and its value
in `rows`; only a cell that shows more than its value has a renderer in `web.ranking.cells`.
"""

from dataclasses import dataclass
from enum import Enum

from backend.catalog.models import Kind as OfferKind
from backend.catalog.models import VcpuKind
from backend.common.rest.table import Column, Kind


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
        return self.kind is not Kind.WORDS

    @property
    def is_category(self) -> bool:
        """Whether its values are words, of which a filter names some."""
        return self.kind in {Kind.TEXT, Kind.WORDS}


COLUMNS: tuple[RankingColumn, ...] = (
    RankingColumn(
        "offer_id",
        Kind.TEXT,
        "Slug of the offer, used wherever an offer is asked for",
        label="Identifier",
    ),
    RankingColumn(
        "provider",
        Kind.TEXT,
        "Slug of the provider; own for one's own machines",
        label="Provider",
        is_unbroken=True,
    ),
    RankingColumn(
        "offer",
        Kind.TEXT,
        "The provider's own name of the type",
        label="Offer",
    ),
    RankingColumn(
        "kind",
        Kind.TEXT,
        "cloud, vps, dedicated or onprem",
        label="Kind",
        choices=tuple(OfferKind.values),
    ),
    RankingColumn(
        "region",
        Kind.TEXT,
        "The provider's name of the place",
        label="Region",
        is_unbroken=True,
    ),
    RankingColumn(
        "arch",
        Kind.TEXT,
        "Processor architecture",
        label="Architecture",
    ),
    RankingColumn(
        "vcpu",
        Kind.NUMBER,
        "Virtual CPUs that a guest sees, or CPUs of a machine",
        label="vCPU",
        is_descending_first=True,
    ),
    RankingColumn(
        "vcpu_kind",
        Kind.TEXT,
        "dedicated, shared or burstable",
        label="vCPU kind",
        choices=tuple(VcpuKind.values),
    ),
    RankingColumn(
        "threads",
        Kind.INTEGER,
        "Hardware threads of the machine",
        label="Threads",
        is_descending_first=True,
    ),
    RankingColumn(
        "ram_gib",
        Kind.NUMBER,
        "Memory",
        "GiB",
        label="RAM",
        shows_unit=True,
        is_descending_first=True,
    ),
    RankingColumn(
        "disk_gb",
        Kind.NUMBER,
        "Disk that the price includes",
        "GB",
        label="Disk",
        shows_unit=True,
        is_descending_first=True,
    ),
    RankingColumn(
        "disk_kind",
        Kind.TEXT,
        "Kind of that disk",
        label="Disk kind",
    ),
    RankingColumn(
        "price",
        Kind.DECIMAL,
        "Price for the period in the currency",
        "currency/period",
        label="Price",
        empty="no price",
    ),
    RankingColumn(
        "currency",
        Kind.TEXT,
        "Currency of price, cup and value_per_cost",
        label="Currency",
    ),
    RankingColumn(
        "period",
        Kind.TEXT,
        "hour, month or year; once for a purchase",
        label="Period",
    ),
    RankingColumn(
        "hours_per_month",
        Kind.NUMBER,
        "Hours that stand for a month",
        "h",
        label="Hours a month",
        has_bounds=False,
    ),
    RankingColumn(
        "price_basis",
        Kind.TEXT,
        "What the price holds: machine or sustained_use, +disk, +ip, +egress, +tax",
        label="Price includes",
        empty="no price",
    ),
    RankingColumn(
        "price_term",
        Kind.TEXT,
        "How it is bought: on_demand, monthly, spot, committed_1y, …",
        label="Price term",
        empty="no price",
        filter_words="Term of the price",
    ),
    RankingColumn(
        "price_usd_hour",
        Kind.DECIMAL,
        "The price for one hour in US dollars",
        "USD/h",
        label="Price, USD/hour",
        empty="no price",
    ),
    RankingColumn(
        "price_observed_on",
        Kind.DATE,
        "Day on which the price was read, or found unchanged",
        label="Price observed",
        empty="no price",
        is_descending_first=True,
        is_unbroken=True,
    ),
    RankingColumn(
        "fx_rate",
        Kind.DECIMAL,
        "Units of currency for one unit of the currency quoted",
        label="Exchange rate",
        empty="not converted",
    ),
    RankingColumn(
        "fx_date",
        Kind.DATE,
        "Day of that rate",
        label="Day of the rate",
        empty="not converted",
        is_unbroken=True,
    ),
    RankingColumn(
        "metric",
        Kind.TEXT,
        "Key of the metric; mix for several",
        label="Metric",
    ),
    RankingColumn(
        "score",
        Kind.NUMBER,
        "Median result of the metric",
        "unit of the metric",
        label="Score",
        empty="not measured",
        is_descending_first=True,
        scale=Scale.SCORE,
    ),
    RankingColumn(
        "score_ci95_low",
        Kind.NUMBER,
        "Lower end of its 95 % interval",
        "unit of the metric",
        label="Score, 95 % low",
        empty="no interval",
        is_descending_first=True,
        scale=Scale.SCORE,
    ),
    RankingColumn(
        "score_ci95_high",
        Kind.NUMBER,
        "Upper end of its 95 % interval",
        "unit of the metric",
        label="Score, 95 % high",
        empty="no interval",
        is_descending_first=True,
        scale=Scale.SCORE,
    ),
    RankingColumn(
        "score_n_instances",
        Kind.INTEGER,
        "Different machines behind the score",
        label="Machines",
        is_descending_first=True,
    ),
    RankingColumn(
        "score_n_repeats",
        Kind.INTEGER,
        "Single results behind the score",
        label="Repeats",
        is_descending_first=True,
    ),
    RankingColumn(
        "interval_basis",
        Kind.TEXT,
        "How the interval was made",
        label="Interval from",
    ),
    RankingColumn(
        "cup",
        Kind.DECIMAL,
        "Cost of unit process: price of an hour / score",
        "currency/h",
        label="CUP",
        empty="unknown",
        stage=Stage.VALUE,
    ),
    RankingColumn(
        "value_per_cost",
        Kind.DECIMAL,
        "score / price, or 1 / (score × price)",
        label="Value per cost",
        is_descending_first=True,
        scale=Scale.VALUE,
        stage=Stage.VALUE,
    ),
    RankingColumn(
        "value_per_cost_ci95_low",
        Kind.DECIMAL,
        "Lower end of its 95 % interval",
        label="Value, 95 % low",
        empty="no interval",
        is_descending_first=True,
        scale=Scale.VALUE,
        stage=Stage.VALUE,
    ),
    RankingColumn(
        "value_per_cost_ci95_high",
        Kind.DECIMAL,
        "Upper end of its 95 % interval",
        label="Value, 95 % high",
        empty="no interval",
        is_descending_first=True,
        scale=Scale.VALUE,
        stage=Stage.VALUE,
    ),
    RankingColumn(
        "rank",
        Kind.INTEGER,
        "Place by value_per_cost in the filtered list",
        label="Rank",
        empty="unranked",
        stage=Stage.RANK,
    ),
    RankingColumn(
        "rank_low",
        Kind.INTEGER,
        "Best plausible place (5th percentile)",
        label="Best place",
        empty="unranked",
        stage=Stage.RANK,
    ),
    RankingColumn(
        "rank_high",
        Kind.INTEGER,
        "Worst plausible place (95th percentile)",
        label="Worst place",
        empty="unranked",
        stage=Stage.RANK,
    ),
    RankingColumn(
        "tie_group",
        Kind.INTEGER,
        "Rows of one group are not distinguishable",
        label="Tie group",
        empty="unranked",
        stage=Stage.RANK,
    ),
    RankingColumn(
        "pareto",
        Kind.BOOLEAN,
        "No other listed offer costs no more and scores no worse",
        label="Pareto front",
        empty="unranked",
        is_descending_first=True,
        stage=Stage.RANK,
    ),
    RankingColumn(
        "measured_at",
        Kind.TIME,
        "Time of the newest result used",
        label="Source",
        filter_words="Measured at",
        is_descending_first=True,
        is_unbroken=True,
    ),
    RankingColumn(
        "method_version",
        Kind.TEXT,
        "Version of the method that made it",
        label="Method",
    ),
    RankingColumn(
        "source",
        Kind.TEXT,
        "measured, published or imported",
        label="Origin",
    ),
    RankingColumn(
        "result_url",
        Kind.TEXT,
        "Where the raw output or the publication is",
        label="Result",
    ),
    RankingColumn(
        "data_version",
        Kind.INTEGER,
        "State of the data that this row shows",
        label="Data version",
        has_bounds=False,
    ),
    RankingColumn(
        "flags",
        Kind.WORDS,
        "disturbed unstable cached shared_vcpu burstable stale_price …",
        label="Notes",
        empty="",
    ),
    RankingColumn(
        "missing",
        Kind.WORDS,
        "Inputs that are not known",
        label="Missing",
        empty="nothing",
        stage=Stage.RANK,
    ),
    RankingColumn(
        "price_zone",
        Kind.TEXT,
        "Zone of a spot price: the cheapest of its region",
        label="Price zone",
        empty="no zone",
        is_unbroken=True,
    ),
)
COLUMN = {column.name: column for column in COLUMNS}
COLUMNS_V1: tuple[str, ...] = tuple(COLUMN)
