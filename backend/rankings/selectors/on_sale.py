"""Offers that an answer may name: a buyer can order them, and they hold the score they are listed with."""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from operator import eq

import numpy as np

from backend.catalog.models import VcpuKind
from backend.foundation.texts import join_texts, number
from backend.foundation.texts import text as _
from backend.money.amounts import Flags
from backend.providers.registry import provider
from backend.rankings.calc.conclusions import name_list
from backend.rankings.selectors.listing import mark_rows, select_rows, value_counts
from backend.rankings.selectors.prices import TAX_UNKNOWN
from backend.rankings.selectors.query import RANKED, SUSTAINED, RankingQuery
from backend.rankings.selectors.rows import NOT_ORDERABLE, RankingRow


class NotOnSale(StrEnum):
    """Why an offer stays out of an answer."""

    AUCTION = "auction"
    WAITING = "price_waiting"
    TAX = "tax_unknown"
    BURST = "burstable"
    STOCK = NOT_ORDERABLE


# What is said of one such offer, and the name of several.
WORDS: Mapping[NotOnSale, tuple[str, str]] = {
    NotOnSale.AUCTION: (_("it is a single lot of an auction"), _("auction lots")),
    NotOnSale.WAITING: (
        _("its list states another price now, which waits for a review"),
        _("prices that wait for a review"),
    ),
    NotOnSale.TAX: (
        _("whether its price includes tax, or at which rate, is not known"),
        _("prices of unknown tax"),
    ),
    NotOnSale.BURST: (
        _("it is burstable, and what it holds under load is not known"),
        _("burstable types of unknown speed under load"),
    ),
    NotOnSale.STOCK: (
        _("its provider took no orders for it lately"),
        _("types for which no orders were taken lately"),
    ),
}


def holds_its_score(vcpu_kind: str | None, baseline: object, load: str | None) -> bool:
    """False for types that earn CPU credits where the score is a burst of seconds."""
    return vcpu_kind != VcpuKind.BURSTABLE or (load == SUSTAINED and baseline is not None)


def asks_for_burstable(query: RankingQuery) -> bool:
    """True where a filter of the query names burstable types."""
    return any(
        condition.column == "vcpu_kind"
        and condition.operator == "="
        and VcpuKind.BURSTABLE in condition.values
        for condition in query.filters
    )


def reasons(
    rows: Sequence[RankingRow], query: RankingQuery, *, has_burstable: bool
) -> list[tuple[NotOnSale, Flags]]:
    """The rows that stay out, marked under the first reason that holds."""
    is_out = np.zeros(len(rows), bool)
    marked_out = []
    for reason, marks in _marks(rows, query, has_burstable=has_burstable):
        if (first := marks & ~is_out).any():
            marked_out.append((reason, first))
        is_out |= marks
    return marked_out


def _marks(
    rows: Sequence[RankingRow], query: RankingQuery, *, has_burstable: bool
) -> Iterator[tuple[NotOnSale, Flags]]:
    yield NotOnSale.AUCTION, _single_lots(rows)
    yield NotOnSale.WAITING, mark_rows(rows, "flags", _has_word(NotOnSale.WAITING))
    yield NotOnSale.STOCK, mark_rows(rows, "flags", _has_word(NotOnSale.STOCK))
    is_tax_unknown = _has_word(TAX_UNKNOWN)
    # Where no price at all is net they are like each other, as in the ranking.
    if query.tax_unknown != RANKED and not all(map(is_tax_unknown, value_counts(rows, "flags"))):
        yield NotOnSale.TAX, mark_rows(rows, "flags", is_tax_unknown)
    if not has_burstable:
        yield NotOnSale.BURST, _burst_scores(rows, query)


def _burst_scores(rows: Sequence[RankingRow], query: RankingQuery) -> Flags:
    """Types with CPU credits whose score is a burst of seconds."""
    earns_credits = mark_rows(rows, "vcpu_kind", lambda kind: kind == VcpuKind.BURSTABLE)
    if query.load != SUSTAINED:
        return earns_credits
    return earns_credits & mark_rows(rows, "cpu_baseline_ratio", lambda ratio: ratio is None)


def _single_lots(rows: Sequence[RankingRow]) -> Flags:
    """Offers of which there is one only, which somebody else may have bought."""
    single = np.zeros(len(rows), bool)
    for slug in value_counts(rows, "provider"):
        if names := provider(slug).single:
            is_lot = mark_rows(rows, "offer", _matches(names))
            single |= is_lot & mark_rows(rows, "provider", partial(eq, slug))
    return single


def _matches(names: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda name: names.match(name) is not None


def _has_word(word: str) -> Callable[[str], bool]:
    return lambda cell: word in cell.split()


def rows_on_sale(
    rows: Sequence[RankingRow], query: RankingQuery, *, has_burstable: bool
) -> tuple[Sequence[RankingRow], Mapping[NotOnSale, int]]:
    """The rows that an answer may name, in their order, and how many stay out by reason."""
    marked_out = reasons(rows, query, has_burstable=has_burstable)
    if not marked_out:
        return rows, {}
    is_out = np.logical_or.reduce([marks for _, marks in marked_out])
    return select_rows(rows, ~is_out), {reason: int(marks.sum()) for reason, marks in marked_out}


def left_out_words(counts: Mapping[NotOnSale, int]) -> str:
    """The counts in a sentence; empty where there are none."""
    parts = [join_texts(" ", (number(f"{n:,}"), WORDS[reason][1])) for reason, n in counts.items()]
    return _("Left out: {parts}.", parts=name_list(parts, len(parts))) if parts else ""


def stock_words(rows: Iterable[RankingRow]) -> str:
    """Warning for offers of which a stock statement has lapsed; empty where there is none."""
    names: dict[tuple[dt.date, str], dict[str, None]] = {}
    for row in rows:
        if row.no_orders_on is not None:
            names.setdefault((row.no_orders_on, row.provider), {})[row.offer] = None
    return join_texts(
        " ",
        [
            _(
                "On {day} {provider} took no orders for {names}: check before you plan.",
                day=str(day),
                provider=provider(slug).short_name,
                names=name_list(list(offers)),
            )
            for (day, slug), offers in names.items()
        ],
    )
