"""The columns of offers and rankings.

Version 1: their order never changes, new ones go last. A new column is an entry here and its value
in `rows`; only a cell that shows more than its value has a renderer in `rankings.pages.ranking.cells`.
"""

from backend.core.rest.table import ColumnType
from backend.foundation.texts import text as _
from backend.rankings.calc.region_groups import REGION_GROUPS
from backend.rankings.selectors.machine_columns import MACHINE_COLUMNS
from backend.rankings.selectors.ranking_column import ColumnScale, RankingColumn

COLUMNS: tuple[RankingColumn, ...] = (
    *MACHINE_COLUMNS,
    RankingColumn(
        "price",
        ColumnType.DECIMAL,
        _("Price for the period in the currency"),
        _("currency/period"),
        label=_("Price"),
        empty=_("no price"),
    ),
    RankingColumn(
        "currency",
        ColumnType.TEXT,
        _("Currency of price, cup and value_per_cost"),
        label=_("Currency"),
    ),
    RankingColumn(
        "period",
        ColumnType.TEXT,
        _("hour, month or year; once for a purchase"),
        label=_("Period"),
    ),
    RankingColumn(
        "hours_per_month",
        ColumnType.NUMBER,
        _("Hours that stand for a month"),
        "h",
        label=_("Hours per month"),
        has_bounds=False,
    ),
    RankingColumn(
        "price_basis",
        ColumnType.TEXT,
        _("What the price holds: machine or sustained_use, +setup, +disk, +ip, +egress, +tax"),
        label=_("Price includes"),
        empty=_("no price"),
    ),
    RankingColumn(
        "price_term",
        ColumnType.TEXT,
        _("How it is bought: on_demand, monthly, spot, committed_1y, …"),
        label=_("Payment option"),
        empty=_("no price"),
        filter_words=_("Payment option"),
    ),
    RankingColumn(
        "price_usd_hour",
        ColumnType.DECIMAL,
        _("The price of the period for each hour that the machine runs in it, in US dollars"),
        "USD/h",
        label=_("Price, USD/hour"),
        empty=_("no price"),
    ),
    RankingColumn(
        "price_observed_on",
        ColumnType.DATE,
        _("Day on which the price was read, or found unchanged"),
        label=_("Price observed"),
        empty=_("no price"),
        is_descending_first=True,
        is_unbroken=True,
    ),
    RankingColumn(
        "fx_rate",
        ColumnType.DECIMAL,
        _("Units of currency for one unit of the currency quoted"),
        label=_("Exchange rate"),
        empty=_("not converted"),
    ),
    RankingColumn(
        "fx_date",
        ColumnType.DATE,
        _("Day of that rate"),
        label=_("Day of the rate"),
        empty=_("not converted"),
        is_unbroken=True,
    ),
    RankingColumn(
        "metric", ColumnType.TEXT, _("Key of the metric; mix for several"), label=_("Metric")
    ),
    RankingColumn(
        "score",
        ColumnType.NUMBER,
        _("Median result of the metric"),
        _("unit of the metric"),
        label=_("Score"),
        empty=_("not measured"),
        is_descending_first=True,
        scale=ColumnScale.SCORE,
    ),
    RankingColumn(
        "score_ci95_low",
        ColumnType.NUMBER,
        _("Lower end of its 95% interval"),
        _("unit of the metric"),
        label=_("Score, 95% low"),
        empty=_("no interval"),
        is_descending_first=True,
        scale=ColumnScale.SCORE,
    ),
    RankingColumn(
        "score_ci95_high",
        ColumnType.NUMBER,
        _("Upper end of its 95% interval"),
        _("unit of the metric"),
        label=_("Score, 95% high"),
        empty=_("no interval"),
        is_descending_first=True,
        scale=ColumnScale.SCORE,
    ),
    RankingColumn(
        "score_n_instances",
        ColumnType.INTEGER,
        _("Different machines behind the score"),
        label=_("Machines"),
        is_descending_first=True,
    ),
    RankingColumn(
        "score_n_repeats",
        ColumnType.INTEGER,
        _("Single results behind the score"),
        label=_("Repeats"),
        is_descending_first=True,
    ),
    RankingColumn(
        "interval_basis",
        ColumnType.TEXT,
        _(
            "How the interval was made: instances_order, instances_t, repeats_widened, published_sd, "
            "stated_spread, combined"
        ),
        label=_("Interval from"),
    ),
    RankingColumn(
        "cup",
        ColumnType.DECIMAL,
        _("Cost of unit process: price of an hour / score"),
        _("currency/h"),
        label="CUP",
        empty=_("unknown"),
    ),
    RankingColumn(
        "value_per_cost",
        ColumnType.DECIMAL,
        _("score / price, or 1 / (score × price)"),
        label=_("Value per cost"),
        is_descending_first=True,
        scale=ColumnScale.VALUE,
    ),
    RankingColumn(
        "value_per_cost_ci95_low",
        ColumnType.DECIMAL,
        _("Lower end of its 95% interval"),
        label=_("Value, 95% low"),
        empty=_("no interval"),
        is_descending_first=True,
        scale=ColumnScale.VALUE,
    ),
    RankingColumn(
        "value_per_cost_ci95_high",
        ColumnType.DECIMAL,
        _("Upper end of its 95% interval"),
        label=_("Value, 95% high"),
        empty=_("no interval"),
        is_descending_first=True,
        scale=ColumnScale.VALUE,
    ),
    RankingColumn(
        "rank",
        ColumnType.INTEGER,
        _("Place by value_per_cost in the filtered list"),
        label=_("Rank"),
        empty=_("unranked"),
        needs_ranking=True,
    ),
    RankingColumn(
        "rank_low",
        ColumnType.INTEGER,
        _("Best plausible place (5th percentile)"),
        label=_("Best place"),
        empty=_("unranked"),
        needs_ranking=True,
    ),
    RankingColumn(
        "rank_high",
        ColumnType.INTEGER,
        _("Worst plausible place (95th percentile)"),
        label=_("Worst place"),
        empty=_("unranked"),
        needs_ranking=True,
    ),
    RankingColumn(
        "tie_group",
        ColumnType.INTEGER,
        _("Rows of one group are not distinguishable"),
        label=_("Tie group"),
        empty=_("unranked"),
        needs_ranking=True,
    ),
    RankingColumn(
        "pareto",
        ColumnType.BOOLEAN,
        _("No other listed offer costs no more and scores no worse"),
        label=_("Pareto front"),
        empty=_("unranked"),
        is_descending_first=True,
        needs_ranking=True,
    ),
    RankingColumn(
        "measured_at",
        ColumnType.TIME,
        _("Time of the newest result used"),
        label=_("Source"),
        filter_words=_("Measured at"),
        is_descending_first=True,
        is_unbroken=True,
    ),
    RankingColumn(
        "method_version",
        ColumnType.TEXT,
        _("Version of the method that made it"),
        label=_("Method"),
    ),
    RankingColumn(
        "source", ColumnType.TEXT, _("measured, published or imported"), label=_("Origin")
    ),
    RankingColumn(
        "result_url",
        ColumnType.TEXT,
        _("Where the raw output or the publication is"),
        label=_("Result"),
    ),
    RankingColumn(
        "data_version",
        ColumnType.INTEGER,
        _("State of the data that this row shows"),
        label=_("Data version"),
        has_bounds=False,
    ),
    RankingColumn(
        "flags",
        ColumnType.WORDS,
        _(
            "disturbed unstable mixed_hardware unknown_hardware cached shared_vcpu burstable "
            "credit_standard credit_unlimited volume_small discontinued not_orderable stale_price "
            "price_waiting lacks_month_price …"
        ),
        label=_("Notes"),
        empty="",
    ),
    RankingColumn(
        "missing",
        ColumnType.WORDS,
        _("Inputs that are not known"),
        label=_("Missing"),
        empty=_("nothing"),
        needs_ranking=True,
    ),
    RankingColumn(
        "price_zone",
        ColumnType.TEXT,
        _("Zone of a spot price: the cheapest of its region"),
        label=_("Price zone"),
        empty=_("no zone"),
        is_unbroken=True,
    ),
    RankingColumn(
        "hours_run",
        ColumnType.NUMBER,
        _("Hours a month that the machine runs"),
        "h",
        label=_("Hours used per month"),
        has_bounds=False,
    ),
    RankingColumn(
        "setup_months",
        ColumnType.INTEGER,
        _("Months over which a setup fee is spread; 0: not counted"),
        label=_("Setup fee over (months)"),
        has_bounds=False,
    ),
    RankingColumn(
        "region_group",
        ColumnType.TEXT,
        _("Part of the world that the region is in, by its country"),
        label=_("Continent"),
        choices=REGION_GROUPS,
    ),
    RankingColumn(
        "available",
        ColumnType.BOOLEAN,
        _("Whether it can still be bought"),
        label=_("Available"),
        is_descending_first=True,
    ),
    RankingColumn(
        "hardware",
        ColumnType.TEXT,
        _("CPU models behind the score, else the one that the provider states"),
        label=_("CPU model"),
    ),
    RankingColumn(
        "licence",
        ColumnType.TEXT,
        _("Licence of a published figure, and whose it is"),
        label=_("Licence of the figure"),
        empty=_("none stated"),
    ),
    RankingColumn(
        "commitment_months",
        ColumnType.INTEGER,
        _(
            "Months that have to be paid at least: 0 on demand, 1 monthly, 12, 36, life of own hardware"
        ),
        label=_("Commitment (months)"),
        empty=_("no contract"),
    ),
    RankingColumn(
        "load",
        ColumnType.TEXT,
        _("The load that types with CPU credits are ranked under: sustained or burst"),
        label=_("Load"),
        choices=("sustained", "burst"),
    ),
    RankingColumn(
        "cpu_baseline_ratio",
        ColumnType.DECIMAL,
        _("Share of each vCPU that a type with CPU credits sustains"),
        "ratio",
        label=_("CPU baseline"),
        empty=_("no CPU credits"),
    ),
    RankingColumn(
        "credit_mode",
        ColumnType.TEXT,
        _("Mode of CPU credits that score and price are of: standard or unlimited"),
        label=_("CPU credits"),
        empty=_("no CPU credits"),
        choices=("standard", "unlimited"),
    ),
    RankingColumn(
        "burst_score",
        ColumnType.NUMBER,
        _("The measured score, which a type with CPU credits reaches while they last"),
        label=_("Burst score"),
        empty=_("no CPU credits"),
        scale=ColumnScale.SCORE,
    ),
)
COLUMN = {column.name: column for column in COLUMNS}
COLUMNS_V1: tuple[str, ...] = tuple(COLUMN)
