"""Notices before a list's rows: why nothing is ranked, or how its prices differ."""

from dataclasses import dataclass, replace

import numpy as np

from backend.money.pricing.extras import EXTRAS, PRICE_MISSING
from backend.rankings.calc.conclusions import name_list
from backend.rankings.pages.ranking.remembered import remember
from backend.rankings.selectors.listing import floats, select_rows, value_counts
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.ranking import Ranking, ranking
from backend.site import state, words
from backend.site.language import _


@dataclass(frozen=True)
class ListNotice:
    """A sentence, and the words and address of a link that helps; empty where none does."""

    text: str
    link: str = ""
    url: str = ""


def list_notice(
    ranked: Ranking, address: state.Address, query: RankingQuery, workspace_slug: str
) -> ListNotice | None:
    """Notice on these rows; None where their prices hold the same."""
    # An empty list has words of its own.
    if not ranked.rows:
        return None
    if ranked.unpriced_count >= ranked.count:
        return _notice_without_price(ranked, address, query, workspace_slug)
    basis = state.values(address.params, "basis")
    is_mixed = remember(ranked, "is mixed", lambda: _is_mixed(ranked))
    # With the extras in the basis all prices hold the same, whatever each provider includes.
    if not is_mixed or not set(EXTRAS).isdisjoint(basis):
        return None
    return ListNotice(
        _("Some prices include a disk or traffic, others do not."),
        _("Compare all-in prices (disk, address, traffic)"),
        address.url(basis=",".join((*basis, *EXTRAS)), page=None),
    )


def counts_without_price(ranked: Ranking) -> dict[str, int]:
    """Rows without a price: those whose machine has one and only an extra lacks it, and the rest."""
    of_extras = {PRICE_MISSING[name] for name in EXTRAS}
    # Without a rate the machine's own price is lacking, too, whatever else is.
    extras = sum(
        count
        for missing, count in value_counts(ranked.rows, "missing").items()
        if "fx_rate" not in missing.split() and of_extras & {*missing.split()}
    )
    return {"terms": ranked.unpriced_count - extras, "extras": extras}


def _is_mixed(ranked: Ranking) -> bool:
    priced = select_rows(ranked.rows, ~np.isnan(floats(ranked.rows, "price")))
    return len(value_counts(priced, "included")) > 1


def _notice_without_price(
    ranked: Ranking, address: state.Address, query: RankingQuery, workspace_slug: str
) -> ListNotice | None:
    lacking = {name for missing in value_counts(ranked.rows, "missing") for name in missing.split()}
    term = state.value(address.params, "term")
    if extras := [name for name in EXTRAS if PRICE_MISSING[name] in lacking]:
        said = name_list([words.EXTRAS[name] for name in extras], len(extras))
        return ListNotice(
            _("No price is known here for {said}, so nothing is ranked by cost.", said=said),
            _("Remove the extras"),
            address.url(basis=None, page=None),
        )
    if "fx_rate" in lacking:
        currency = state.value(address.params, "currency")
        return ListNotice(
            _(
                "No exchange rate to {currency} is known, so nothing is ranked by cost.",
                currency=currency,
            )
        )
    if term == "purchase":
        return None
    return ListNotice(
        _(
            "No matching offer has a price for “{term}”, so nothing is ranked by cost.",
            term=words.term(term),
        ),
        *_purchase(address, query, workspace_slug),
    )


def _purchase(address: state.Address, query: RankingQuery, workspace_slug: str) -> tuple[str, ...]:
    """The link to what the offers cost to buy, where any can be bought."""
    # A link that leads to another empty list would be worse than none.
    bought = ranking(replace(query, term="purchase"), workspace_slug=workspace_slug)
    if bought.unpriced_count >= bought.count:
        return ()
    return _("Show what they cost to buy"), address.url(term="purchase", page=None)
