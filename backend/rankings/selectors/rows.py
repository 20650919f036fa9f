"""A row per offer: what it is, what it costs, what it scored, and how it stands."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from backend.benchmarks.selectors.scores import DERIVED
from backend.catalog.models import Offer, VcpuKind
from backend.catalog.selectors.price_choice import PriceChoice
from backend.foundation.units import BYTES_PER_GB, BYTES_PER_GIB
from backend.measure.credits import credit_flag
from backend.measure.pairwise import NO_FIGURE
from backend.providers.registry import provider
from backend.rankings.calc.ranking import NOT_COMPARED, Standing
from backend.rankings.calc.region_groups import region_group
from backend.rankings.selectors.prices import Context, price_cells
from backend.rankings.selectors.scores import Score

# The fields that decide each cell of `offer_cells` but the slug: filters and orders work one cell
# out for all offers in which these are the same.
DECIDED_BY: Mapping[str, tuple[str, ...]] = {
    "provider": ("provider",), "offer": ("name",), "kind": ("kind",), "region": ("region",),
    "arch": ("arch",), "vcpu": ("vcpu_count",), "vcpu_kind": ("vcpu_kind",),
    "threads": ("thread_count",), "ram_gib": ("memory_bytes",), "disk_gb": ("disk_bytes",),
    "disk_kind": ("disk_kind",), "region_group": ("region",),
    "cpu_baseline_ratio": ("cpu_baseline_ratio",), "no_orders_on": ("no_orders_on",),
}  # fmt: skip

# Flag of an offer that can no longer be bought.
DISCONTINUED = "discontinued"
# Flag of one for which its provider took no orders lately, and how long such a statement holds.
NOT_ORDERABLE = "not_orderable"
STOCK_LAPSES_AFTER = dt.timedelta(days=14)


@dataclass(frozen=True)
class RankingRow:
    """An offer under a query; attribute names are the columns, None is unknown.

    Made once under a basis, not yet compared and of no state of the data; a list that ranks it makes
    the row with its standing.
    """

    offer_id: str
    provider: str
    offer: str
    kind: str
    region: str | None
    arch: str | None
    vcpu: int | float | None
    vcpu_kind: str | None
    threads: int | None
    ram_gib: int | float | None
    disk_gb: int | float | None
    disk_kind: str | None
    price: Decimal | None
    currency: str
    period: str
    hours_per_month: int | float
    price_basis: str | None
    price_term: str | None
    price_usd_hour: Decimal | None
    price_observed_on: dt.date | None
    fx_rate: Decimal | None
    fx_date: dt.date | None
    metric: str
    score: float | None
    score_ci95_low: float | None
    score_ci95_high: float | None
    score_n_instances: int | None
    score_n_repeats: int | None
    interval_basis: str | None
    cup: Decimal | None
    value_per_cost: Decimal | None
    value_per_cost_ci95_low: Decimal | None
    value_per_cost_ci95_high: Decimal | None
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    tie_group: int | None
    pareto: bool | None
    measured_at: dt.datetime | None
    method_version: str | None
    source: str | None
    result_url: str | None
    data_version: int | None
    flags: str
    missing: str
    price_zone: str | None
    hours_run: int | float
    setup_months: int
    region_group: str | None
    available: bool
    hardware: str | None
    licence: str | None
    commitment_months: int | None
    load: str
    cpu_baseline_ratio: Decimal | None
    credit_mode: str | None
    burst_score: float | None
    price_id: UUID | None = None
    """The observation behind the price; no column, but where a page finds its source."""
    included: tuple[str, ...] = ()
    """Extras that the machine's own price holds; no column, but what makes prices unlike."""
    is_unfit: bool = False
    """True if its score is shown and never compared; no column, the flags say why."""
    source_figure: int = NO_FIGURE
    """Number of the figure that it shares with other rows (measure.pairwise); no column."""
    no_orders_on: dt.date | None = None
    """Day on which its provider took no orders for it; no column, an answer that names it warns."""

    @property
    def order_value(self) -> Decimal | None:
        """The value per cost by which it takes its rank."""
        is_derived = DERIVED in self.flags.split()
        return self.value_per_cost_ci95_low if is_derived else self.value_per_cost

    def listed(self, standing: Standing, data_version: int) -> "RankingRow":
        """The same row with how it stands in a list of a state of the data."""
        # Thousands of rows are made for each list, and `replace` would set sixty fields one by one.
        # A shallow copy, in a third of the time of `copy`: all cells are immutable, and shared with
        # the basis.
        made = object.__new__(RankingRow)
        cells = vars(made)
        cells.update(vars(self))
        cells.update(vars(standing), data_version=data_version)
        return made


def simple_number(value: Decimal | float) -> int | float:
    """A count or size as an int where it is whole, else as a float."""
    # 8 and not 8.0 in exports, where a spreadsheet would show both.
    return int(value) if value == int(value) else float(value)


def ranking_row(
    offer: Offer,
    choice: PriceChoice | None,
    score: Score | None,
    shared: Context,
    figures: Mapping[str, Any],
    *,
    source_figure: int = NO_FIGURE,
    unmeasured: tuple[str, ...] = (),
) -> RankingRow:
    """An offer with the price chosen for it and its score, not compared with any other.

    `figures` are its price and score and what follows from them in its credit mode, by column;
    `unmeasured` are the metrics of a mix that it lacks.
    """
    price = price_cells(offer, choice, shared, figures["price"])
    # The score's first, then the machine's, then the price's: as the columns follow each other.
    flags = (
        *(score.flags if score else ()),
        *_offer_flags(offer, shared.query.as_of, shared.today),
        price["flags"],
    )
    cells = {
        **offer_cells(offer),
        **price,
        "hours_per_month": simple_number(shared.query.hours_per_month),
        "hours_run": simple_number(shared.query.hours_run or shared.query.hours_per_month),
        "setup_months": shared.query.setup_months,
        "currency": shared.query.currency,
        **_score_cells(score, shared.query.ranking_metric.key),
        "hardware": _hardware(offer, score),
        "load": shared.query.load,
        **figures,
        **vars(NOT_COMPARED),
        "data_version": None,
        # A flag is shown, a column can be filtered: both say the same.
        "available": DISCONTINUED not in flags,
        # Score and offer may both say that a machine is burstable.
        "flags": " ".join(dict.fromkeys(filter(None, flags))),
        "missing": _missing(price, score, unmeasured),
    }
    return RankingRow(
        **cells,
        is_unfit=bool(score and score.is_unfit),
        source_figure=source_figure,
    )


def _missing(price: Mapping[str, Any], score: Score | None, unmeasured: tuple[str, ...]) -> str:
    names = price["missing"].split()
    if score is None:
        # Of a mix the metrics that are missing are named, so that somebody can measure them.
        names += ["score", *unmeasured]
    elif price["price"] is None and "price" not in names:
        names.append("price")
    return " ".join(names)


def offer_cells(offer: Offer) -> dict[str, Any]:
    """The cells that an offer alone decides."""
    return {
        "offer_id": offer.slug,
        "provider": offer.provider.slug,
        "offer": offer.name,
        "kind": offer.kind,
        "region": offer.region.code if offer.region else None,
        "arch": offer.arch or None,
        "vcpu": None if offer.vcpu_count is None else simple_number(offer.vcpu_count),
        "vcpu_kind": offer.vcpu_kind or None,
        "threads": offer.thread_count,
        "ram_gib": _size(offer.memory_bytes, BYTES_PER_GIB),
        "disk_gb": _size(offer.disk_bytes, BYTES_PER_GB),
        "disk_kind": offer.disk_kind or None,
        "region_group": region_group(offer.region.country) if offer.region else None,
        "cpu_baseline_ratio": offer.cpu_baseline_ratio and offer.cpu_baseline_ratio.normalize(),
        "no_orders_on": offer.no_orders_on,
    }


def _size(size_bytes: int | None, unit_bytes: int) -> int | float | None:
    return None if size_bytes is None else simple_number(size_bytes / unit_bytes)


def _offer_flags(offer: Offer, as_of: dt.date | None, today: dt.date) -> tuple[str, ...]:
    end = offer.discontinued_on
    # On a day in the past it may still have been sold.
    is_discontinued = end is not None and (as_of is None or end <= as_of)
    kinds: dict[str, str] = {VcpuKind.SHARED: "shared_vcpu", VcpuKind.BURSTABLE: "burstable"}
    kind = kinds.get(offer.vcpu_kind)
    modes = provider(offer.provider.slug).credit_modes
    # Where a provider has two credit modes, only a measured machine's is known.
    is_sold_so = offer.vcpu_kind == VcpuKind.BURSTABLE and len(modes) == 1
    mode = credit_flag(modes[0]) if is_sold_so else None
    refused = offer.no_orders_on
    is_refused = refused is not None and refused <= today <= refused + STOCK_LAPSES_AFTER
    state = DISCONTINUED if is_discontinued else NOT_ORDERABLE if is_refused else None
    return tuple(filter(None, (kind, mode, state)))


def _score_cells(score: Score | None, metric: str) -> dict[str, Any]:
    summary = score.summary if score else None
    return {
        "metric": metric,
        "score_n_instances": summary and summary.n_instances,
        "score_n_repeats": summary and summary.n_repeats,
        "interval_basis": summary and str(summary.interval_basis),
        "measured_at": score and score.measured_at,
        "method_version": (score and score.method_version) or None,
        "source": score and score.source,
        "result_url": score and score.result_url,
        "licence": (score and score.licence) or None,
    }


def _hardware(offer: Offer, score: Score | None) -> str | None:
    """The CPU models behind the score, most of them first, else the one that the offer states."""
    seen = score.cpu_models if score else {}
    # Providers put different processors behind one type, and buyers get what is met most.
    models = sorted(seen, key=lambda model: (-seen[model], model))
    return ", ".join(models) or offer.cpu_model or None
