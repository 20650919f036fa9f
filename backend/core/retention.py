"""How long rows are kept: policies that the apps state, and their one way to end."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from backend.core import clock

# Few enough that nobody waits for their locks.
BATCH = 1_000


@dataclass(frozen=True)
class Retention:
    """`old` are the rows that nothing on screen needs and that are older than the setting's days.

    `remove` takes some of them away and says how many; without it they are deleted.
    """

    kind: str
    setting: str
    old: Callable[[dt.datetime], QuerySet[Any]]
    remove: Callable[[dt.datetime, int], int] | None = None
    done: str = "deleted"
    """Past tense of the deletion, for people."""

    @property
    def before(self) -> dt.datetime | None:
        """Time before which objects may go; None where the setting is 0: they are kept for good."""
        days: int = getattr(settings, self.setting)
        return clock.now() - dt.timedelta(days=days) if days else None


def count_old(policy: Retention) -> int:
    """How many rows would go."""
    return policy.old(policy.before).count() if policy.before else 0


def forget_old(policy: Retention, *, most: int) -> int:
    """Take at most so many away, each batch in a transaction of its own; how many went."""
    before, gone = policy.before, 0
    while before and gone < most:
        size = min(BATCH, most - gone)
        with transaction.atomic():
            removed = (policy.remove or _deletion(policy))(before, size)
        gone += removed
        if removed < size:
            break
    return gone


def _deletion(policy: Retention) -> Callable[[dt.datetime, int], int]:
    def delete(before: dt.datetime, size: int) -> int:
        rows = policy.old(before)
        keys = list(rows.order_by("pk").values_list("pk", flat=True)[:size])
        rows.model._default_manager.filter(pk__in=keys).delete()
        return len(keys)

    return delete
