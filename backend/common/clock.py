"""The only module that reads the wall clock."""

import datetime as dt

from django.utils import timezone


# One place, so that a test sets the time of everything by replacing a single function.
def now() -> dt.datetime:
    """Current time, aware, UTC."""
    return timezone.now()
