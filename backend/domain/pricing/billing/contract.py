"""When a rented machine's contract ends after notice was given."""

import datetime as dt

NOTICE_DAYS = 30


def contract_end(given: dt.date, *, notice_days: int = NOTICE_DAYS) -> dt.date:
    """Last day of a contract under "`notice_days` to the end of a month", by the day of notice.

    The last day of the first month that ends at least `notice_days` after the day of notice.
    """
    earliest = given + dt.timedelta(days=notice_days)
    following = (earliest.replace(day=1) + dt.timedelta(days=32)).replace(day=1)
    return following - dt.timedelta(days=1)
