"""Requests that a worker answers: the web process may not call providers or hosts itself."""

import time
from collections.abc import Callable

from django.db import models

from backend.core.rest.problem import GatewayTimeout

POLL_S = 0.1


def wait_for_worker(
    row: models.Model, is_answered: Callable[[], bool], *, wait_s: float, late: str
) -> None:
    """Read the row again until a worker has answered; raises GatewayTimeout with `late`."""
    deadline = time.monotonic() + wait_s
    row.refresh_from_db()
    while not is_answered():
        if time.monotonic() > deadline:
            raise GatewayTimeout(late)
        time.sleep(POLL_S)
        row.refresh_from_db()
