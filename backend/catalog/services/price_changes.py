"""Changes of stored prices by a new list."""

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from backend.catalog.selectors.published_prices import StoredPrice
from backend.money.price_lists import Key, ParsedPrice, but_currency
from backend.money.price_lists.quarantine import PriceCheck


@dataclass
class PriceChanges:
    """Rows to be appended, and stored ones of which one thing changes."""

    append: list[tuple[ParsedPrice, str]] = field(default_factory=list)
    """(price, anomaly); with an anomaly it waits for a person."""
    publish: list[UUID] = field(default_factory=list)
    """Prices that waited and are plausible now."""
    returned: list[UUID] = field(default_factory=list)
    missing: list[UUID] = field(default_factory=list)
    """Published ones that are not on the list any more."""
    withdrawn: list[UUID] = field(default_factory=list)
    """Waiting ones that are not on the list any more."""
    unchanged: int = 0
    announced: int = 0
    """Prices that begin on a later day."""
    quarantined: int = 0
    refused: int = 0
    is_incomplete: bool = False
    """True if so much is missing that nothing new is published."""

    @property
    def published(self) -> int:
        return len(self.publish) + sum(not anomaly for _, anomaly in self.append)


@dataclass(frozen=True)
class StoredList:
    """A list as it is stored, on the day of a new one."""

    published: Mapping[Key, StoredPrice]
    unpublished: Mapping[Key, list[StoredPrice]]
    announced: Sequence[StoredPrice]


def price_changes(
    prices: Sequence[ParsedPrice],
    announced: Sequence[ParsedPrice],
    stored: StoredList,
    *,
    incomplete_since: dt.datetime | None,
    **known: Any,
) -> PriceChanges:
    """Changes of the stored prices by those of a list and those that it announces.

    `incomplete_since`: since when so much of the list has been missing; `known` is what PriceCheck
    takes beside the prices.
    """
    keys = {price.key for price in prices}
    comparable = _comparable(stored.published, keys, incomplete_since)
    check = PriceCheck[StoredPrice](prices, comparable, **known)
    changes = PriceChanges(is_incomplete=check.is_incomplete)
    for price in prices:
        rows = stored.unpublished.get(price.key, [])
        _add(changes, price, stored.published.get(price.key), rows, check)
    for key, rows in stored.unpublished.items():
        if key not in keys:
            changes.withdrawn.extend(_waiting(rows))
    _announce(changes, announced, stored.announced, check)
    changes.missing.extend(price.pk for price in check.missing if price.missing_since is None)
    return changes


def _announce(
    changes: PriceChanges,
    prices: Iterable[ParsedPrice],
    stored: Iterable[StoredPrice],
    check: PriceCheck[StoredPrice],
) -> None:
    """Append what is announced for the first time, and withdraw what is announced no more."""
    known = {(row.key, row.valid_from, row.terms): row for row in stored}
    for price in prices:
        row = known.pop((price.key, price.valid_from, price.terms), None)
        if row is None:
            anomalies = check.anomalies(price)
            changes.append.append((price, "; ".join(anomalies.values())))
            is_waiting = bool(anomalies)
        else:
            is_waiting = not row.is_published and row.reviewed_at is None
            changes.refused += not row.is_published and not is_waiting
        changes.quarantined += is_waiting
        changes.announced += 1
    left = (row for row in known.values() if row.is_published or row.reviewed_at is None)
    changes.withdrawn.extend(row.pk for row in left)


def _comparable(
    published: Mapping[Key, StoredPrice],
    keys: Collection[Key],
    incomplete_since: dt.datetime | None,
) -> list[StoredPrice]:
    """The published prices that a list with these keys is compared with.

    One that was stale before is not missing once more, unless it vanished with an incomplete list,
    or its price is stated in another currency that is not published yet.
    """
    new = {but_currency(key) for key in keys if key not in published}
    return [
        row
        for key, row in published.items()
        if row.missing_since is None
        or key in keys
        or but_currency(key) in new
        or (incomplete_since is not None and row.missing_since >= incomplete_since)
    ]


def _waiting(rows: Iterable[StoredPrice]) -> list[UUID]:
    return [row.pk for row in rows if row.reviewed_at is None]


def _add(
    changes: PriceChanges,
    price: ParsedPrice,
    old: StoredPrice | None,
    rows: list[StoredPrice],
    check: PriceCheck[StoredPrice],
) -> None:
    same = [row for row in rows if row.terms == price.terms]
    waiting = _waiting(same)
    changes.withdrawn.extend(pk for pk in _waiting(rows) if pk not in waiting)
    if check.is_unchanged(price):
        changes.unchanged += 1
        if old is not None and old.missing_since is not None:
            changes.returned.append(old.pk)
    elif len(same) > len(waiting):
        # A person refused this very price.
        changes.refused += 1
    elif anomalies := check.anomalies(price):
        changes.quarantined += 1
        if not waiting:
            changes.append.append((price, "; ".join(anomalies.values())))
    elif waiting:
        changes.publish.extend(waiting)
    else:
        changes.append.append((price, ""))
