"""The only module that reads the wall clock."""

import datetime as dt

from django.utils import timezone


def now() -> dt.datetime:
    """Current time, aware, UTC."""
    return timezone.now()
