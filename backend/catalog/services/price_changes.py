"""What a new list of prices changes in what is stored of it."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from backend.catalog.selectors.published_prices import Held
from backend.domain.parsing.prices import Key, ParsedPrice, but_currency
from backend.domain.parsing.prices.quarantine import Decision, Outcome, Verdict


@dataclass
class Changes:
    """Rows to be appended, and stored ones of which one thing changes."""

    append: list[tuple[ParsedPrice, str]] = field(default_factory=list)
    """(price, doubt); with a doubt it waits for a person."""
    publish: list[UUID] = field(default_factory=list)
    """Those that waited and are plausible now."""
    returned: list[UUID] = field(default_factory=list)
    missing: list[UUID] = field(default_factory=list)
    """Published ones that the list does not tell any more."""
    withdrawn: list[UUID] = field(default_factory=list)
    """Waiting ones that the list does not tell any more."""
    unchanged: int = 0
    quarantined: int = 0
    refused: int = 0

    @property
    def published(self) -> int:
        """How many prices are published by these changes."""
        return len(self.publish) + sum(not doubt for _, doubt in self.append)


def compared(
    held: Mapping[Key, Held], told: Iterable[Key], torn_since: dt.datetime | None
) -> list[ParsedPrice]:
    """Of the published prices those that a new list, which tells the keys `told`, is held against.

    One that was stale before is not missing once more, unless it vanished with a torn list, or its
    price is told in another currency that is not published yet.
    """
    keys = set(told)
    unheld = {but_currency(key) for key in keys - held.keys()}
    return [
        row.price
        for key, row in held.items()
        if row.missing_since is None
        or key in keys
        or but_currency(key) in unheld
        or (torn_since is not None and row.missing_since >= torn_since)
    ]


def changes(
    verdict: Verdict, held: Mapping[Key, Held], unpublished: Mapping[Key, list[Held]]
) -> Changes:
    """What the verdict on a list means for the newest published and the unpublished rows."""
    found = Changes()
    for decision in verdict.decisions:
        key = decision.price.key
        _decide(found, decision, held.get(key), unpublished.get(key, []))
    told = {decision.price.key for decision in verdict.decisions}
    for key, rows in unpublished.items():
        if key not in told:
            found.withdrawn.extend(_waiting(rows))
    vanished = (held[price.key] for price in verdict.missing)
    found.missing.extend(row.pk for row in vanished if row.missing_since is None)
    return found


def _waiting(rows: Iterable[Held]) -> list[UUID]:
    return [row.pk for row in rows if row.reviewed_at is None]


def _decide(found: Changes, decision: Decision, old: Held | None, rows: list[Held]) -> None:
    price = decision.price
    same = [row for row in rows if row.price.terms == price.terms]
    waiting = _waiting(same)
    found.withdrawn.extend(pk for pk in _waiting(rows) if pk not in waiting)
    if decision.outcome is Outcome.UNCHANGED:
        found.unchanged += 1
        if old is not None and old.missing_since is not None:
            found.returned.append(old.pk)
    elif len(same) > len(waiting):
        # A person refused this very price.
        found.refused += 1
    elif decision.outcome is Outcome.QUARANTINE:
        found.quarantined += 1
        if not waiting:
            found.append.append((price, decision.detail))
    elif waiting:
        found.publish.extend(waiting)
    else:
        found.append.append((price, ""))
