"""What goes with a price that a person deletes, and what stays: said before it is done."""

from backend.catalog.models import PriceObservation
from backend.domain.texts import text as _


def price_consequences(observation: PriceObservation) -> list[str]:
    return [_("The price before it, if there is one, counts again in rankings and scenarios.")]
