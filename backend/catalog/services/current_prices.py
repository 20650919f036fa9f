"""Stored inputs of rankings: current prices here, summaries in benchmarks.summaries.

Triggers append a mark with every change beneath it, whoever makes it; a refresh works the marks
off. Whoever changes much calls it at its end, and every ranking that finds marks calls it first.
Reads of an earlier day stay on the observations.
"""

from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Min

from backend.catalog.models import CurrentPrice, PriceObservation, StoredMark, StoredState
from backend.catalog.selectors.current_prices import IDENTITY
from backend.catalog.selectors.data_version import DataStamp
from backend.core import clock
from backend.core.statistics import tables_analyze

PRICES, SUMMARIES = "prices", "summaries"
# To be counted up with what a stored price says; older ones are then made anew.
FORMULAS = 3
# Marks from which on a refresh changes so much that the planner has to look again.
# Below it the planner's figures stay good, and analysing costs more than it saves.
MANY = 500


def marks_taken(kind: str, formulas: int) -> set[tuple[UUID | None, str]]:
    """Offer and metric of every mark of a kind, which are deleted; None stands for all offers.

    Until the end of the transaction nobody else refreshes: whoever waits finds nothing left to do.
    Those who refresh wait for nobody else's rows, so that it may be called within any transaction.
    """
    with connection.cursor() as cursor:
        # One function of the database, since reading and deleting the marks must be one step under its
        # lock.
        cursor.execute("SELECT * FROM catalog_take_marks(%s, %s)", [kind, formulas])
        return set(cursor.fetchall())


def is_pending(stamp: DataStamp) -> bool:
    """True if stored prices may be older than the observations."""
    # Both, as an upgrade changes what stored rows say without a single mark.
    return bool(stamp.mark) or stamp.is_due or stamp.prices < FORMULAS


def prices_refresh() -> None:
    """Make the current prices of the marked offers anew from their observations."""
    # Without a savepoint: where this fails, the change that it follows must not stand either.
    with transaction.atomic(savepoint=False):
        # The lock is held until the commit, so nobody reads marks whose rows are not made yet.
        marks = marks_taken(PRICES, FORMULAS)
        offers = [offer for offer, _ in marks if offer is not None]
        with connection.cursor() as cursor:
            # One mark without an offer is all of them.
            terms: dict[str, Any] = {"offers": offers, "day": clock.now().date()}
            if are_all := len(offers) < len(marks):
                cursor.execute(_rebuild_statement("TRUE"), terms)
            elif offers:
                cursor.execute(_rebuild_statement("offer_id = ANY(%(offers)s)"), terms)
        if are_all or len(marks) >= MANY:
            tables_analyze(CurrentPrice)


@transaction.atomic
def mark_begun_prices() -> None:
    """Mark the offers whose announced prices have begun, so that the next refresh takes them."""
    today = clock.now().date()
    state = StoredState.objects.select_for_update().filter(prices_begin_on__lte=today).first()
    if state is None:
        return
    # Those that wait for a person, too: from its day on such a price questions the one before it.
    prices = PriceObservation.objects.filter(valid_from__range=(state.prices_begin_on, today))
    offers = prices.order_by().values_list("offer_id", flat=True).distinct()
    StoredMark.objects.bulk_create([StoredMark(kind=PRICES, offer_id=offer) for offer in offers])
    later = PriceObservation.objects.filter(valid_from__gt=today)
    state.prices_begin_on = later.aggregate(day=Min("valid_from"))["day"]
    state.save(update_fields=["prices_begin_on"])


def _rebuild_statement(condition: str) -> str:
    """A statement that makes the stored prices of some offers those of their observations."""
    # Of the index's columns, so that newest and doubt are both found by it.
    kind = ", ".join(IDENTITY)
    same = " AND ".join(f"one.{name} = made.{name}" for name in IDENTITY if name != "currency")
    table, current = PriceObservation._meta.db_table, CurrentPrice._meta.db_table
    columns = [
        str(field.column)
        for field in CurrentPrice._meta.concrete_fields
        if field.name not in {"observation", "is_questioned"}
    ]
    stated = ", ".join(columns)
    changed = ", ".join(f"{name} = EXCLUDED.{name}" for name in (*columns, "is_doubted"))
    return f"""
        WITH newest AS (
            SELECT DISTINCT ON ({kind}) id AS observation_id, {stated}
            FROM {table} WHERE is_published AND {condition}
            AND (valid_from IS NULL OR (
                valid_from <= %(day)s AND (missing_since IS NULL OR missing_since >= valid_from)
            ))
            ORDER BY {kind}, began_at DESC, observed_at DESC
        ), gone AS (
            DELETE FROM {current} WHERE {condition}
            AND NOT EXISTS (SELECT FROM newest WHERE observation_id = {current}.observation_id)
        ), noted AS (
            UPDATE {StoredState._meta.db_table} SET prices_begin_on = least(prices_begin_on, (
                SELECT min(valid_from) FROM {table} WHERE valid_from > %(day)s
            ))
        )
        INSERT INTO {current} (observation_id, {stated}, is_doubted)
        SELECT observation_id, {stated}, EXISTS (
            SELECT FROM {table} AS one
            WHERE {same} AND NOT one.is_published
            AND (one.currency = made.currency OR made.missing_since IS NOT NULL)
            AND (one.valid_from IS NULL OR one.valid_from <= %(day)s)
            AND one.reviewed_at IS NULL AND one.missing_since IS NULL
        )
        FROM newest AS made
        ON CONFLICT (observation_id) DO UPDATE SET {changed}
    """  # noqa: S608 - names of our own models only
