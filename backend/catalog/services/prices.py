"""Writes of the catalog: the data version, own machines and their prices."""

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal

from django.db import transaction
from django.db.models import ProtectedError

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.accounts.services.workspaces import demand_owner
from backend.catalog.models import Offer, PriceObservation
from backend.catalog.selectors.price_before import price_before, price_words
from backend.catalog.services.data_version import data_version_bump
from backend.catalog.services.plausible import PriceJudge
from backend.core import clock
from backend.foundation.errors import InvalidValue
from backend.money.money import CURRENCIES, Money
from backend.money.pricing.purchase import PurchaseModel
from backend.money.pricing.quoted import ALL_MACHINES, MODEL_OF_UNIT, amount_fault, kind_fault

MOST_REASON = 500

ENTERED = "entered by "
BY_OWNER = "stated by its owner"
# Sources of what people typed in: for any offer, and with a machine of their own.
OF_HARDWARE = "own hardware "


@dataclass(frozen=True)
class PriceInput:
    """A price as a person states it; amounts are net and in `currency`.

    Without a purchase model it follows from the unit.
    """

    amount: Decimal
    currency: str
    unit: str
    setup: Decimal | None = None
    purchase_model: str = ""
    term: str = ""
    minimum_months: int | None = None
    valid_from: dt.date | None = None
    valid_until: dt.date | None = None
    applies_to: str = ALL_MACHINES


@transaction.atomic
def price_observation_create(
    *,
    offer: Offer,
    price: PriceInput,
    source: str,
    note: str = "",
    pointer: str = "/price",
    is_judged: bool = True,
) -> PriceObservation:
    """Append a price of an offer; one that is not plausible waits in quarantine, if it is judged.

    Raises InvalidValue below `pointer` for an amount that cannot be kept as stated, an
    unknown unit or currency, and a unit or term that does not go with the purchase model.
    """
    purchase_model = _check_price(price, pointer)
    anomaly = ""
    if is_judged:
        anomaly = PriceJudge([offer]).anomaly(
            offer,
            amount=price.amount,
            currency=price.currency,
            unit=price.unit,
            purchase_model=purchase_model,
        )
    observation = PriceObservation.objects.create(
        offer=offer,
        purchase_model=purchase_model,
        term=price.term,
        minimum_months=price.minimum_months,
        amount=price.amount,
        currency=price.currency,
        unit=price.unit,
        setup_amount=price.setup,
        valid_from=price.valid_from,
        valid_until=price.valid_until,
        applies_to=price.applies_to,
        source=source,
        note=note,
        is_published=not anomaly,
        anomaly=anomaly,
        observed_at=clock.now(),
    )
    data_version_bump()
    return observation


def _check_price(price: PriceInput, pointer: str) -> str:
    """The purchase model of a sound price."""
    try:
        Money(price.amount, price.currency)
    except InvalidValue as error:
        raise InvalidValue(f"{pointer}/{error.field}", error.detail) from None
    if price.currency not in CURRENCIES:
        detail = f"{price.currency!r} is not the code of a currency in use"
        raise InvalidValue(f"{pointer}/currency", detail)
    if fault := amount_fault(price.amount):
        raise InvalidValue(f"{pointer}/amount", fault)
    if price.setup is not None and (fault := amount_fault(price.setup, is_zero_allowed=True)):
        raise InvalidValue(f"{pointer}/setup", fault)
    if price.unit not in MODEL_OF_UNIT:
        detail = f"{price.unit!r} is not one of {', '.join(MODEL_OF_UNIT)}"
        raise InvalidValue(f"{pointer}/unit", detail)
    purchase_model = price.purchase_model or MODEL_OF_UNIT[price.unit]
    if purchase_model not in tuple(PurchaseModel):
        detail = f"{purchase_model!r} is not one of {', '.join(PurchaseModel)}"
        raise InvalidValue(f"{pointer}/purchase_model", detail)
    if wrong := kind_fault(purchase_model, price.unit, price.term):
        raise InvalidValue(f"{pointer}/{wrong[0]}", wrong[1])
    if price.valid_from and price.valid_until and price.valid_until < price.valid_from:
        detail = f"{price.valid_until} is before the first day, {price.valid_from}"
        raise InvalidValue(f"{pointer}/valid_until", detail)
    return purchase_model


@transaction.atomic
def price_remove(*, workspace: Workspace, observation: PriceObservation, actor: str) -> None:
    """Delete a price that a person entered or sent in a table; the newest one before it is in force again.

    Raises InvalidValue for one of a list or a cost model, and for one that the costs of
    runs are made of, NotOwned for one of another workspace.
    """
    demand_owner(workspace, observation)
    if not is_entered(observation):
        raise InvalidValue("/price", "a price of a list or a cost model is not deleted by hand")
    # First, as a row that is deleted has no key any more that the record could name.
    audit_record(
        workspace=workspace,
        actor=actor,
        action="price_remove",
        target=observation,
        detail={
            "offer": observation.offer.slug,
            "amount": format(observation.amount, "f"),
            "currency": observation.currency,
            "unit": observation.unit,
        },
    )
    price_delete(observation=observation)


def is_entered(observation: PriceObservation) -> bool:
    """True if a person stated the price: by hand, or in a table of the workspace's own offers."""
    if observation.source.startswith(ENTERED) or observation.source == BY_OWNER:
        return True
    is_own = observation.feed_id is None and observation.offer.workspace_id is not None
    return is_own and not observation.source.startswith(OF_HARDWARE)


def price_delete(*, observation: PriceObservation) -> None:
    """Delete a row; raises InvalidValue where the cost of a run needs it."""
    try:
        with transaction.atomic():
            observation.delete()
    except ProtectedError:
        raise InvalidValue("/price", "the costs of runs were calculated with it") from None
    data_version_bump()


@transaction.atomic
def price_enter(
    *, workspace: Workspace, offer: Offer, price: PriceInput, reason: str, actor: str
) -> PriceObservation:
    """A price that a person knows better than a list, with why; published unless it is not plausible.

    In force until a list tells a price that is new: one that it told before does not come back.

    Raises InvalidValue by JSON pointer, NotOwned for an offer that another workspace prices.
    """
    demand_owner(workspace, offer)
    reason = reason.strip()
    if not 1 <= len(reason) <= MOST_REASON:
        raise InvalidValue("/reason", f"1 to {MOST_REASON} characters are needed")
    observation = price_observation_create(
        offer=offer, price=price, source=f"{ENTERED}{actor}", note=reason, pointer=""
    )
    old = price_before(observation)
    audit_record(
        workspace=workspace,
        actor=actor,
        action="price_enter",
        target=observation,
        detail={
            "offer": offer.slug,
            "amount": format(price.amount, "f"),
            "currency": price.currency,
            "unit": price.unit,
            "purchase_model": observation.purchase_model,
            "old_price": old and price_words(old),
            "reason": reason,
        },
    )
    return observation
