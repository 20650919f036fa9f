"""Rented machines in words, for the pages of runs and of accounts."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from backend.benchmarks.calc.rented_parts import LedgerKind
from backend.benchmarks.models import Resource, ResourcePurchase, ResourceState
from backend.benchmarks.selectors.rental_prices import parts_without_price, resource_cost
from backend.site import figures
from backend.site.language import _, lazy

STATES = {
    ResourceState.REQUESTED: lazy("nothing asked for yet"),
    ResourceState.RESERVED: lazy("budget reserved"),
    ResourceState.CALLED: lazy("asked for"),
    ResourceState.CREATED: lazy("exists"),
    ResourceState.GONE: lazy("gone"),
}
TONES = {ResourceState.CALLED: "live", ResourceState.CREATED: "live"}
PURCHASES = {ResourcePurchase.ON_DEMAND: lazy("on demand"), ResourcePurchase.SPOT: lazy("spot")}

PARTS: Mapping[str, str] = {
    LedgerKind.MACHINE: lazy("machine"),
    LedgerKind.DISK: lazy("disk"),
    LedgerKind.ADDRESS: lazy("public address"),
    LedgerKind.TRAFFIC: lazy("traffic"),
    LedgerKind.SURPLUS: lazy("further machines of the launch"),
}


@dataclass(frozen=True)
class MachineLine:
    """A rented machine; amounts with their currency, "" where nothing is known yet."""

    resource: Resource
    state: str
    tone: str
    purchase: str
    location: str
    reserved: str
    cost: str
    lived_s: float | None
    unpriced: str
    """Parts that are charged without a known price."""

    @property
    def is_gone(self) -> bool:
        """True if nothing of it is left."""
        return self.resource.state == ResourceState.GONE


def line(resource: Resource) -> MachineLine:
    """The machine (with its account) as a line."""
    state = ResourceState(resource.state)
    # No identifier of the provider: the launch was refused or never asked for, and cost nothing.
    was_never = state == ResourceState.GONE and not resource.provider_id
    cost = None if was_never else resource_cost(resource)
    return MachineLine(
        resource=resource,
        state=_("never made") if was_never else STATES[state],
        # Before its state: a machine that may go on costing matters more than what it is doing.
        tone="bad" if resource.is_alarmed else TONES.get(state, ""),
        purchase=PURCHASES[ResourcePurchase(resource.purchase_model)],
        location=" · ".join(part for part in (resource.region, resource.zone) if part),
        reserved=_amount(resource.reserved_amount, resource.currency),
        cost=_amount(cost, resource.currency),
        lived_s=_lifetime_s(resource),
        unpriced=parts_named(parts_without_price(resource)),
    )


def parts_named(kinds: Iterable[str]) -> str:
    """Parts of a machine in words."""
    return ", ".join(PARTS[kind] for kind in kinds)


def _amount(amount: object, currency: str) -> str:
    text = figures.figure(amount)  # type: ignore[arg-type]
    return f"{text} {currency}" if text else ""


def _lifetime_s(resource: Resource) -> float | None:
    if resource.launched_at is None or resource.gone_at is None:
        return None
    # The end may be the time that the provider states, and its clock is not ours.
    return max(dt.timedelta(0), resource.gone_at - resource.launched_at).total_seconds()
