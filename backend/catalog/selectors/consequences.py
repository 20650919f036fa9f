"""Consequences of deleting a price or a cost model, said before it is done: what goes with it, what
stays."""

from backend.catalog.models import ContractDiscount, HardwareModel, PriceObservation
from backend.foundation.texts import text as _


def price_consequences(observation: PriceObservation) -> list[str]:
    return [_("The price before it, if there is one, counts again in rankings and scenarios.")]


def discount_consequences(discount: ContractDiscount) -> list[str]:
    return [_("List prices of {name} count again.", name=discount.provider.name)]


def hardware_consequences(model: HardwareModel) -> list[str]:
    """Consequences of deleting a version of a cost model."""
    return [
        _("The price that it gave {name} is deleted, too.", name=model.offer.name),
        _("An earlier version, if there is one, prices the offer again."),
        _("Frozen reports keep it."),
    ]
