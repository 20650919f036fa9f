"""Prices over time: one offer's history, what changed between two days, how fresh the lists are."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Any

from django.db.models import (
    Case,
    CharField,
    Count,
    Exists,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Value,
    When,
)
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce, JSONObject
from django.db.models.lookups import Exact, IsNull, LessThan

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.catalog.models import Offer, PriceFeed, PriceObservation
from backend.catalog.selectors.current_prices import IDENTITY, NEWEST_FIRST, end_of, has_begun
from backend.catalog.selectors.feeds import feeds, is_stale
from backend.catalog.selectors.price_choice import SIDE_BY_SIDE
from backend.catalog.selectors.price_list import WAITS, PriceFilter
from backend.catalog.selectors.read_prices import as_quoted
from backend.core import clock
from backend.foundation.errors import InvalidValue
from backend.foundation.units import EXACT
from backend.money.pricing.effective import Charge, price_over

APPEARED, VANISHED, CHANGED = "appeared", "vanished", "changed"
CHANGES = (APPEARED, VANISHED, CHANGED)
KIND = tuple(name for name in IDENTITY if name != "offer_id")


# --- one offer ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PriceKind:
    """Kind of a series of prices of one offer."""

    zone: str
    operating_system: str
    tenancy: str
    purchase_model: str
    term: str
    upfront: str
    currency: str
    basis: str
    plan: str

    @property
    def label(self) -> str:
        """Difference from the plain price, such as `reserved 1y all USD`."""
        words = [self.purchase_model, self.term, self.upfront, self.plan, self.zone]
        words += [self.operating_system] if self.operating_system != "linux" else []
        words += [self.tenancy] if self.tenancy != "shared" else []
        words += [self.basis] if self.basis != "machine" else []
        return " ".join(filter(None, [*words, self.currency]))


@dataclass(frozen=True)
class PricePoint:
    """A price from when it was observed, or began, until the next one, or until its list dropped it.

    `until` None: still in force.
    """

    observation: PriceObservation
    since: dt.datetime
    until: dt.datetime | None

    @property
    def amount(self) -> Decimal:
        return as_quoted(self.observation.amount)

    def per_hour(self, hours_per_month: Decimal = SIDE_BY_SIDE) -> Decimal | None:
        """For an axis that all series share; None for a purchase."""
        return price_over(_charge(self.observation), "hour", hours_per_month)


@dataclass(frozen=True)
class PriceSeries:
    """The published prices of one kind, the oldest first."""

    kind: PriceKind
    points: tuple[PricePoint, ...]


def history(
    offer: Offer,
    *,
    since: dt.date | None = None,
    as_of: dt.date | None = None,
    purchase_model: str | None = None,
) -> tuple[PriceSeries, ...]:
    """The published prices of an offer by kind, between two days (both included).

    A price in force at the begin of `since` is part of it.
    """
    day = as_of or clock.now().date()
    rows = PriceObservation.objects.filter(has_begun(day), offer=offer, is_published=True)
    if as_of is not None:
        rows = rows.filter(observed_at__lt=end_of(as_of))
    if purchase_model is not None:
        rows = rows.filter(purchase_model=purchase_model)
    ordered = rows.order_by(*KIND, "began_at", "observed_at")
    series = []
    for kind, group in groupby(ordered, key=_kind):
        points = tuple(_points(list(group), since, as_of))
        if points:
            series.append(PriceSeries(kind, points))
    return tuple(series)


def _kind(row: PriceObservation) -> PriceKind:
    return PriceKind(**{name: getattr(row, name) for name in KIND})


def _points(
    rows: list[PriceObservation], since: dt.date | None, as_of: dt.date | None
) -> Iterator[PricePoint]:
    start = dt.datetime.combine(since, dt.time(), dt.UTC) if since else None
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        ends = [following.began_at] if following else []
        if row.missing_since is not None and (as_of is None or row.missing_since < end_of(as_of)):
            ends.append(row.missing_since)
        until = min(ends, default=None)
        if start is None or until is None or until > start:
            yield PricePoint(row, row.began_at, until)


# --- two days -------------------------------------------------------------------------------------


def difference(
    day_a: dt.date,
    day_b: dt.date,
    price_filter: PriceFilter = PriceFilter(),  # noqa: B008  (frozen)
    *,
    change: str | None = None,
    workspace_slug: str = DEFAULT_WORKSPACE,
) -> QuerySet[PriceObservation]:
    """Changes between the ends of two days, by offer: one row for each kind of price.

    Each row is the newest observation of day B with `change` (appeared, vanished, changed) and
    `before`, which is None or {id, observed_at, amount, unit, setup_amount, monthly_cap} as of day
    A, amounts as text. `price_filter.state` and `as_of` do not count. Raises InvalidValue for days in the
    wrong order.
    """
    if day_a >= day_b:
        raise InvalidValue("from", f"{day_a} is not before {day_b}")
    end_a, end_b = end_of(day_a), end_of(day_b)
    same = {name: OuterRef(name) for name in IDENTITY}
    # Begun by the end of a day, a price was read by then, too.
    others = PriceObservation.objects.filter(is_published=True, **same)
    newer = others.filter(has_begun(day_b), began_at__gt=OuterRef("began_at"), began_at__lt=end_b)
    older = others.filter(has_begun(day_a), began_at__lt=end_a).order_by(*NEWEST_FIRST)
    touched = Q(began_at__gte=end_a) | Q(missing_since__gte=end_a, missing_since__lt=end_b)
    rows = price_filter.rows(workspace_slug).filter(
        touched, has_begun(day_b), is_published=True, began_at__lt=end_b
    )
    rows = rows.filter(~Exists(newer)).annotate(change=_change(older, end_a, end_b))
    rows = rows.exclude(change="") if change is None else rows.filter(change=change)
    # Each use of an annotation is a search of its own: this one is only made for rows that show.
    rows = rows.annotate(before=Subquery(older.values(before=terms_document())[:1]))
    return rows.order_by("offer__slug", *KIND, "id")


TERMS = ("unit", "amount", "setup_amount", "monthly_cap")
# In SQL a NULL equals nothing, not even another one. No amount is negative, so this can stand for
# it.
NOTHING = Value(Decimal(-1))


def terms_document() -> JSONObject:
    # As text: numbers of JSON are read as floats, which lose digits.
    terms = {name: Cast(name, TextField()) for name in TERMS}
    return JSONObject(id="id", observed_at="observed_at", **terms)


def _change(older: QuerySet[PriceObservation], end_a: dt.datetime, end_b: dt.datetime) -> Coalesce:
    """The word for what became of a price, "" for nothing, by its newest observation."""
    is_gone = _is_before(OuterRef("missing_since"), end_b)
    was_gone = _is_before(F("missing_since"), end_a)
    same = Q(Exact(F("unit"), OuterRef("unit")), Exact(F("amount"), OuterRef("amount")))
    for name in ("setup_amount", "monthly_cap"):
        same &= Q(Exact(Coalesce(name, NOTHING), Coalesce(OuterRef(name), NOTHING)))
    word = Case(
        When(is_gone & was_gone, then=Value("")),
        When(is_gone, then=Value(VANISHED)),
        When(was_gone, then=Value(APPEARED)),
        When(same, then=Value("")),
        default=Value(CHANGED),
        output_field=CharField(),
    )
    never_was = Case(
        When(_is_before(F("missing_since"), end_b), then=Value("")),
        default=Value(APPEARED),
        output_field=CharField(),
    )
    return Coalesce(Subquery(older.values(word=word)[:1]), never_was)


def _is_before(since: Combinable, end: dt.datetime) -> Q:
    """True if a list had dropped a price by then; without a time it has not."""
    return Q(IsNull(since, False), LessThan(since, end))


@dataclass(frozen=True)
class PriceTerms:
    """Price terms at one time."""

    observation_id: str
    observed_at: dt.datetime
    unit: str
    amount: Decimal
    setup_amount: Decimal | None
    monthly_cap: Decimal | None


def terms_before(row: PriceObservation) -> PriceTerms | None:
    """The terms of day A of a row of difference; None where there was no price."""
    before: dict[str, Any] | None = getattr(row, "before", None)
    if before is None or getattr(row, "change", "") == APPEARED:
        return None
    return PriceTerms(
        observation_id=before["id"],
        observed_at=dt.datetime.fromisoformat(before["observed_at"]),
        unit=before["unit"],
        amount=as_quoted(Decimal(before["amount"])),
        setup_amount=_amount(before["setup_amount"]),
        monthly_cap=_amount(before["monthly_cap"]),
    )


def change_ratio(row: PriceObservation) -> Decimal | None:
    """Price of day B by that of day A, for a row of difference that changed.

    Of an hour, what is paid at the start of a term spread over it; None where a price paid once
    stands beside one that is not.
    """
    before = terms_before(row)
    if before is None or getattr(row, "change", "") != CHANGED:
        return None
    old = Charge(before.amount, before.unit, row.term, before.setup_amount)
    then, now = (price_over(charge, "hour", SIDE_BY_SIDE) for charge in (old, _charge(row)))
    if then is None or now is None:
        then, now = before.amount, as_quoted(row.amount)
        if before.unit != row.unit:
            return None
    return EXACT.divide(now, then)


def _amount(text: str | None) -> Decimal | None:
    return None if text is None else as_quoted(Decimal(text))


def _charge(row: PriceObservation) -> Charge:
    setup = None if row.setup_amount is None else as_quoted(row.setup_amount)
    return Charge(as_quoted(row.amount), row.unit, row.term, setup)


def change_counts(rows: QuerySet[Any]) -> dict[str, int]:
    """How many rows of a difference there are of each change."""
    counts = rows.order_by().values("change").annotate(rows=Count("pk"))
    return dict.fromkeys(CHANGES, 0) | {row["change"]: row["rows"] for row in counts}


# --- the lists ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Freshness:
    """How old one list is: `age_s` since it was last read, None for never."""

    feed: PriceFeed
    age_s: float | None
    is_stale: bool
    quarantined: int
    """Prices of it that wait for a person."""


def freshness() -> list[Freshness]:
    """Every list by provider, kind and region."""
    now = clock.now()
    waiting = PriceObservation.objects.filter(WAITS, missing_since=None, feed__isnull=False)
    counts = waiting.order_by().values("feed").annotate(rows=Count("pk"))
    by_feed = {row["feed"]: row["rows"] for row in counts}
    return [
        Freshness(
            feed=feed,
            age_s=None if feed.checked_at is None else (now - feed.checked_at).total_seconds(),
            is_stale=is_stale(feed),
            quarantined=by_feed.get(feed.pk, 0),
        )
        for feed in feeds()
    ]
