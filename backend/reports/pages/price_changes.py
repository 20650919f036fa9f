"""The sheet of price changes between two days: the lines that moved, and the best answers."""

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from statistics import median

import numpy as np

from backend.catalog.selectors.data_version import DataStamp
from backend.catalog.selectors.price_list import PriceFilter
from backend.catalog.selectors.price_movements import LineMovement, Movement, price_movements
from backend.foundation.texts import join_texts
from backend.rankings.calc.conclusions import Certainty, Conclusion, name_list, price_words
from backend.rankings.selectors.answer import best_of_ranking, candidate_name
from backend.rankings.selectors.candidates import Candidate
from backend.rankings.selectors.default_metric import default_metric
from backend.rankings.selectors.listing import cells, floats, select_rows
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.ranking import Ranking, query_from, ranking
from backend.reports.pages.sheet import Sheet, SheetColumn, some
from backend.site import figures, words
from backend.site.language import _, count_words

# With sentence and facts that is one sheet of paper.
MAX_LINES, MAX_TYPES = 12, 3
# Sizes (vCPU, GiB) of which the best value is compared.
SIZES = ((2, 4), (8, 32))


def changes_sheet(
    price_filter: PriceFilter,
    days: tuple[dt.date, dt.date],
    *,
    workspace_slug: str,
    stamp: DataStamp,
) -> Sheet:
    """Prices that rose and fell, by line, and what the best answers cost before and after."""
    lines = price_movements(*days, price_filter, workspace_slug=workspace_slug)
    best = list(_best_answers(lines, price_filter, days, workspace_slug, stamp))
    return Sheet(
        conclusion=replace(_conclusion(lines, days), detail=join_texts(" ", best)),
        chart=None,
        columns=[
            SheetColumn(_("Line and type"), 3.4),
            SheetColumn(_("Prices"), 1.1),
            SheetColumn(_("Before"), 1.3, is_number=True),
            SheetColumn(_("After"), 1.3, is_number=True),
            SheetColumn(_("Change"), 1.5, is_number=True),
        ],
        rows=[row for line in lines[:MAX_LINES] for row in _rows(line)],
        facts=list(_facts(lines, price_filter)),
    )


def _change(ratio: Decimal) -> str:
    return figures.percent_change(ratio - 1)


def _conclusion(lines: Sequence[LineMovement], days: tuple[dt.date, dt.date]) -> Conclusion:
    first, last = map(str, days)
    ratios = [ratio for line in lines for ratio in line.ratios]
    if not ratios:
        sentence = _("No price changed from {first} to {last}.", first=first, last=last)
        return Conclusion(sentence, Certainty.CLEAR)
    parts = [
        _("{count} (median {change})", count=words_of(len(part)), change=_change(median(part)))
        for part, words_of in (
            ([ratio for ratio in ratios if ratio > 1], _rose),
            ([ratio for ratio in ratios if ratio < 1], _fell),
        )
        if part
    ]
    said = [
        _(
            "From {first} to {last}, {parts}.",
            first=first,
            last=last,
            parts=name_list(parts),
        )
    ]
    kept = sum(
        len(each.regions)
        for line in lines
        for each in line.movements
        if each.is_new_orders_only and each.ratio > 1
    )
    if kept:
        said.append(
            _(
                "{n} of the rises apply to new orders only: servers that you have keep their price.",
                n=kept,
            )
        )
    return Conclusion(join_texts(" ", said), Certainty.CLEAR)


def _rose(n: int) -> str:
    return count_words("{n} price rose", "{n} prices rose", n)


def _fell(n: int) -> str:
    return count_words("{n} price fell", "{n} prices fell", n)


def _rows(line: LineMovement) -> Iterator[list[str]]:
    ratios = line.ratios
    rose = sum(ratio > 1 for ratio in ratios)
    count = [words_of(n) for n, words_of in ((rose, _rose), (len(ratios) - rose, _fell)) if n]
    change = _("median {change}", change=_change(line.median_ratio))
    yield [f"{words.provider(line.provider)}, {line.line}", "\n".join(count), "", "", change]
    for each in line.movements[:MAX_TYPES]:
        where = f" ({', '.join(filter(None, each.regions))})" if any(each.regions) else ""
        yield [
            f"{each.name}{where}",
            words.term(each.purchase_model),
            figures.quote(each.before, each.currency, each.unit),
            figures.quote(each.after, each.currency, each.unit),
            _change(each.ratio),
        ]


def _facts(lines: Sequence[LineMovement], price_filter: PriceFilter) -> Iterator[tuple[str, str]]:
    if largest := max(
        (each for line in lines for each in line.movements),
        key=lambda each: abs(each.ratio - 1),
        default=None,
    ):
        yield _("Largest change"), _movement_words(largest)
    yield _("Best value"), _("Among offers with a price and a score on both days.")
    if more := lines[MAX_LINES:]:
        yield (
            _("Further lines"),
            some(
                [
                    f"{words.provider(line.provider)}, {line.line}: {_change(line.median_ratio)}"
                    for line in more
                ]
            ),
        )
    scope = words.provider(price_filter.provider) if price_filter.provider else _("all providers")
    left_out = "" if price_filter.purchase_model else _("; spot prices are left out")
    yield (
        _("Prices compared"),
        _(
            "Published at the ends of both days, {scope}{left_out}. Each region is a price. The"
            " largest changes of each line stand here; the page of price changes has all, as CSV too.",
            scope=scope,
            left_out=left_out,
        ),
    )


def _movement_words(each: Movement) -> str:
    before, after = (
        figures.quote(amount, each.currency, each.unit) for amount in (each.before, each.after)
    )
    return f"{each.name}: {before} → {after} ({_change(each.ratio)})"


# --- the best answers ---------------------------------------------------------------------------


def _best_answers(
    lines: Sequence[LineMovement],
    price_filter: PriceFilter,
    days: tuple[dt.date, dt.date],
    workspace_slug: str,
    stamp: DataStamp,
) -> Iterator[str]:
    """By size, in the currency of most changes, so that no exchange rate bends the difference."""
    currencies = Counter(each.currency for line in lines for each in line.movements)
    [(currency, _n)] = currencies.most_common(1) or [("USD", 0)]
    asked = {
        "metric": [default_metric(stamp, workspace_slug)],
        "currency": [currency],
        "period": ["month"],
        **({"provider": [price_filter.provider]} if price_filter.provider else {}),
    }
    for vcpu, gib in SIZES:
        size = {"vcpu__gte": [str(vcpu)], "ram_gib__gte": [str(gib)]}
        queries = [query_from({**asked, **size, "as_of": [str(day)]})[0] for day in days]
        before, after = _best_of_both(queries, workspace_slug, stamp)
        if not (before and after and before.row.price and after.row.price):
            continue
        yield _(
            "Best value of {vcpu} vCPU and {gib} GiB: {before} before, {after} after ({change}).",
            vcpu=vcpu,
            gib=gib,
            before=_name_with_price(before, before.row.price),
            after=_name_with_price(after, after.row.price),
            change=_change(after.row.price / before.row.price),
        )


def _best_of_both(
    queries: Sequence[RankingQuery], workspace_slug: str, stamp: DataStamp
) -> list[Candidate | None]:
    """The best value of each day, among offers with a price and a score on all of them."""
    rankings = [
        ranking(query, workspace_slug=workspace_slug, stamp=stamp, has_rank_bounds=False)
        for query in queries
    ]
    slugs = [_slugs_with_price(each) for each in rankings]
    common = set.intersection(*slugs)
    chosen = []
    for ranked, query in zip(rankings, queries, strict=True):
        is_common = cells(ranked.rows, "offer_id").meets(lambda slug: slug in common)
        kept = replace(ranked, rows=select_rows(ranked.rows, is_common))
        chosen.append(best_of_ranking(kept, query).choice.best)
    return chosen


def _slugs_with_price(ranked: Ranking) -> set[str]:
    slugs = cells(ranked.rows, "offer_id")
    is_priced = ~np.isnan(floats(ranked.rows, "price"))
    return {slugs.value(row) for row in np.flatnonzero(is_priced).tolist()}


def _name_with_price(candidate: Candidate, price: Decimal) -> str:
    cost = price_words(price, candidate.row.currency, candidate.row.period)
    return _("{name} at {cost}", name=candidate_name(candidate), cost=cost)
