"""Stored prices and scores; edges make sure of them before they read."""

from backend.benchmarks.services import summaries
from backend.catalog.selectors.data_version import DataStamp, data_stamp
from backend.catalog.services import current_prices


def current_stamp(stamp: DataStamp | None = None) -> DataStamp:
    """The present state of the data, after what is stored was made anew where that was needed.

    `stamp` is the state where the caller has just asked for it.
    """
    stamp = stamp or data_stamp()
    if not is_any_pending(stamp):
        return stamp
    if stamp.is_due:
        current_prices.mark_begun_prices()
    current_prices.prices_refresh()
    summaries.summaries_refresh()
    return data_stamp()


def is_any_pending(stamp: DataStamp) -> bool:
    """True if stored prices or scores may be older than the data."""
    return current_prices.is_pending(stamp) or summaries.is_pending(stamp)
