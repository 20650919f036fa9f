"""Writes of the catalog: the data version, own machines and their prices."""

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal

from django.db import transaction
from django.db.models import F
from django.utils.text import slugify

from backend.accounts.models import Workspace
from backend.accounts.selectors import default_workspace
from backend.accounts.services import audit_record
from backend.catalog.models import (
    DataVersion,
    Kind,
    Offer,
    PriceObservation,
    Provider,
    PurchaseModel,
    Region,
)
from backend.common import clock
from backend.domain.errors import InvalidValue
from backend.domain.money import Money
from backend.domain.pricing.quoted import MODEL_OF_UNIT, amount_fault, kind_fault

OWN_PROVIDER = "own"
PROVIDER_NAMES = {
    "aws": "Amazon Web Services",
    "gcp": "Google Cloud",
    "azure": "Microsoft Azure",
    "hetzner": "Hetzner",
    "ovh": "OVHcloud",
    "digitalocean": "DigitalOcean",
    "linode": "Linode",
    "rackspace": "Rackspace",
    "upcloud": "UpCloud",
    "vultr": "Vultr",
    OWN_PROVIDER: "Own machines",
}
MOST_REASON = 500


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


def data_version_bump() -> None:
    """Count up after any change of an offer, price, rate or sample, in the same transaction."""
    changed = DataVersion.objects.filter(pk=1).update(
        number=F("number") + 1, changed_at=clock.now()
    )
    if not changed:
        _, is_new = DataVersion.objects.get_or_create(pk=1)
        if not is_new:
            data_version_bump()


def provider_get(*, slug: str, name: str = "") -> Provider:
    """The provider of this slug, made on first use under its known name, else the one given."""
    name = PROVIDER_NAMES.get(slug, name or slug)
    return Provider.objects.get_or_create(slug=slug, defaults={"name": name})[0]


def region_get(*, provider: Provider, code: str) -> Region:
    """The provider's region of this code, made on first use."""
    return Region.objects.get_or_create(provider=provider, code=code)[0]


@transaction.atomic
def own_offer_create(
    *, workspace: Workspace, name: str, kind: str, price: PriceInput | None = None
) -> Offer:
    """A machine of one's own as the offer `own-<slug of its name>`.

    Raises InvalidValue for a name without a letter or digit, a used one, or an unknown kind.
    """
    slug = f"{OWN_PROVIDER}-{slugify(name)}"
    if slug == f"{OWN_PROVIDER}-":
        raise InvalidValue("/name", "a letter or digit is needed")
    if kind not in Kind.values:
        raise InvalidValue("/kind", f"{kind!r} is not one of {', '.join(Kind.values)}")
    if len(slug) > 120 or Offer.objects.filter(slug=slug).exists():
        raise InvalidValue("/name", f"the offer {slug} exists, or its name is too long")
    offer = Offer.objects.create(
        slug=slug,
        workspace=workspace,
        provider=provider_get(slug=OWN_PROVIDER),
        name=name,
        kind=kind,
    )
    if price is not None:
        price_observation_create(offer=offer, price=price, source="stated by its owner")
    data_version_bump()
    return offer


@transaction.atomic
def price_observation_create(
    *,
    offer: Offer,
    price: PriceInput,
    source: str,
    note: str = "",
    observed_at: dt.datetime | None = None,
    place: str = "/price",
) -> PriceObservation:
    """Append a price of an offer.

    Raises InvalidValue below the pointer `place` for an amount that cannot be kept as stated, an
    unknown unit or currency, and a unit or term that does not go with the purchase model.
    """
    purchase_model = _checked(price, place)
    observation = PriceObservation.objects.create(
        offer=offer,
        purchase_model=purchase_model,
        term=price.term,
        amount=price.amount,
        currency=price.currency,
        unit=price.unit,
        setup_amount=price.setup,
        source=source,
        note=note,
        observed_at=observed_at or clock.now(),
    )
    data_version_bump()
    return observation


def _checked(price: PriceInput, place: str) -> str:
    """The purchase model of a sound price."""
    try:
        Money(price.amount, price.currency)
    except InvalidValue as error:
        raise InvalidValue(f"{place}/{error.field}", error.detail) from None
    if fault := amount_fault(price.amount):
        raise InvalidValue(f"{place}/amount", fault)
    if price.setup is not None and (fault := amount_fault(price.setup, is_zero_allowed=True)):
        raise InvalidValue(f"{place}/setup", fault)
    if price.unit not in MODEL_OF_UNIT:
        detail = f"{price.unit!r} is not one of {', '.join(MODEL_OF_UNIT)}"
        raise InvalidValue(f"{place}/unit", detail)
    purchase_model = price.purchase_model or MODEL_OF_UNIT[price.unit]
    if purchase_model not in PurchaseModel.values:
        detail = f"{purchase_model!r} is not one of {', '.join(PurchaseModel.values)}"
        raise InvalidValue(f"{place}/purchase_model", detail)
    if wrong := kind_fault(purchase_model, price.unit, price.term):
        raise InvalidValue(f"{place}/{wrong[0]}", wrong[1])
    return purchase_model


@transaction.atomic
def price_enter(*, offer: Offer, price: PriceInput, reason: str, actor: str) -> PriceObservation:
    """A price that a person knows better than a list, with why; it is published at once.

    In force until a list tells a price that is new: one that it told before does not come back.

    Raises InvalidValue by JSON pointer.
    """
    reason = reason.strip()
    if not 1 <= len(reason) <= MOST_REASON:
        raise InvalidValue("/reason", f"1 to {MOST_REASON} characters are needed")
    observation = price_observation_create(
        offer=offer, price=price, source=f"entered by {actor}", note=reason, place=""
    )
    audit_record(
        workspace=offer.workspace or default_workspace(),
        actor=actor,
        action="price_enter",
        target=observation,
        detail={
            "offer": offer.slug,
            "amount": format(price.amount, "f"),
            "currency": price.currency,
            "unit": price.unit,
            "purchase_model": observation.purchase_model,
            "reason": reason,
        },
    )
    return observation
