"""What rankings read is stored ready; edges make sure of it before they read."""

from backend.benchmarks.services import summaries
from backend.catalog.selectors.data_version import DataStamp, data_stamp
from backend.catalog.services import current_prices


def current_stamp() -> DataStamp:
    """The present state of the data, after what is stored was made anew where that was needed."""
    stamp = data_stamp()
    if not (current_prices.is_pending(stamp) or summaries.is_pending(stamp)):
        return stamp
    current_prices.prices_refresh()
    summaries.summaries_refresh()
    return data_stamp()
