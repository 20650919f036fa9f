"""The price that a new one replaces, for the form, the audit trail and the review."""

from backend.catalog.models import PriceObservation
from backend.catalog.selectors.current_prices import IDENTITY, NEWEST_FIRST, has_begun
from backend.catalog.selectors.read_prices import as_quoted
from backend.core import clock


def price_before(price: PriceObservation) -> PriceObservation | None:
    """The published price of the same kind that counts today, in whatever currency."""
    same = {name: getattr(price, name) for name in IDENTITY if name != "currency"}
    rows = PriceObservation.objects.filter(
        has_begun(clock.now().date()), is_published=True, **same
    ).exclude(pk=price.pk)
    return rows.order_by(*NEWEST_FIRST).first()


def price_words(price: PriceObservation) -> str:
    """A price as the audit trail states it."""
    amount = format(as_quoted(price.amount), "f")
    return f"{amount} {price.currency}/{price.unit}"
