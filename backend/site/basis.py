"""Basis of a page's figures, in words: above its table and inside its pictures."""

import datetime as dt
from collections.abc import Iterable, Sequence

from backend.core import clock
from backend.rankings.selectors.listing import value_counts
from backend.rankings.selectors.rows import RankingRow
from backend.site import state, words
from backend.site.language import _


def basis_words(params: state.Params, rows: Sequence[RankingRow]) -> list[str]:
    """Term, days of the prices and of the rates, hours of a month, months of setup fees."""
    said = [words.term(state.value(params, "term"))]
    if observed := _span(value_counts(rows, "price_observed_on")):
        said.append(_("prices as of {observed}", observed=observed))
    if rated := _span(value_counts(rows, "fx_date")):
        said.append(_("rates as of {rated}", rated=rated))
    # What is bought is paid once, so the hours of a month play no part.
    if state.value(params, "term") != "purchase":
        month, run = (state.value(params, name) for name in ("hours_per_month", "hours_run"))
        said.append(
            _("{run} of {month} h/month", run=run, month=month)
            if run
            else _("{month} h/month", month=month)
        )
    if any("setup" in (basis or "").split("+") for basis in value_counts(rows, "price_basis")):
        said.append(
            _("set-up fees over {months} months", months=state.value(params, "setup_months"))
        )
    return said


def _span(days: Iterable[dt.date | None]) -> str:
    # A set first: thousands of rows share a few days.
    known = sorted(day for day in set(days) if day is not None)
    if not known:
        return ""
    return (
        f"{known[-1]}"
        if len(known) == 1
        else _("{first} to {last}", first=known[0], last=known[-1])
    )


def picture(
    name: str, params: state.Params, basis: Sequence[str], data_version: int
) -> dict[str, str]:
    """Name of the file and the lines that a saved chart carries; the title is the chart's own."""
    filters = [f"{chip.label}: {chip.value}" for chip in state.chips(params, "")]
    # A picture leaves its page behind: it carries what the page says around the chart.
    today = clock.now().date()
    return {
        "name": f"rackrate-{name}-{today}",
        "subtitle": " · ".join(["; ".join(filters) or _("all offers"), *basis]),
        "footer": _(
            "Rackrate, {today}, data version {data_version}. Whiskers are 95% intervals.",
            today=today,
            data_version=data_version,
        ),
    }
