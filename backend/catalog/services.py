"""Writes of the catalog: the data version, own machines and their prices."""

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal

from django.db import transaction
from django.db.models import F
from django.utils.text import slugify

from backend.accounts.models import Workspace
from backend.catalog.models import (
    DataVersion,
    ExchangeRate,
    Kind,
    Offer,
    PriceObservation,
    PriceUnit,
    Provider,
    PurchaseModel,
    Region,
)
from backend.common import clock
from backend.domain.errors import InvalidValue
from backend.domain.money import Money

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
PURCHASE_MODEL_OF_UNIT = {
    PriceUnit.HOUR: PurchaseModel.ON_DEMAND,
    PriceUnit.MONTH: PurchaseModel.MONTHLY,
    PriceUnit.YEAR: PurchaseModel.MONTHLY,
    PriceUnit.ONCE: PurchaseModel.PURCHASE,
}


@dataclass(frozen=True)
class PriceInput:
    """A price as a person states it; amounts are net and in `currency`."""

    amount: Decimal
    currency: str
    unit: str
    setup: Decimal | None = None


def data_version_bump() -> None:
    """Count up after any change of an offer, price, rate or sample, in the same transaction."""
    changed = DataVersion.objects.filter(pk=1).update(
        number=F("number") + 1, changed_at=clock.now()
    )
    if not changed:
        _, is_new = DataVersion.objects.get_or_create(pk=1)
        if not is_new:
            data_version_bump()


def provider_get(*, slug: str) -> Provider:
    """The provider of this slug, made on first use."""
    name = PROVIDER_NAMES.get(slug, slug)
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
    observed_at: dt.datetime | None = None,
) -> PriceObservation:
    """Append a price of an offer; the purchase model follows from the unit.

    Raises InvalidValue for an amount that is not above zero or an unknown unit or currency.
    """
    Money(price.amount, price.currency)
    if not 0 < price.amount < Decimal(10) ** 10:
        raise InvalidValue("/price/amount", "an amount above zero and below 10^10 is needed")
    if price.setup is not None and not 0 <= price.setup < Decimal(10) ** 10:
        raise InvalidValue("/price/setup", "an amount of zero or more is needed")
    if price.unit not in PriceUnit.values:
        raise InvalidValue("/price/unit", f"{price.unit!r} is not one of hour, month, year, once")
    observation = PriceObservation.objects.create(
        offer=offer,
        purchase_model=PURCHASE_MODEL_OF_UNIT[PriceUnit(price.unit)],
        amount=price.amount,
        currency=price.currency,
        unit=price.unit,
        setup_amount=price.setup,
        source=source,
        observed_at=observed_at or clock.now(),
    )
    data_version_bump()
    return observation


@transaction.atomic
def exchange_rate_record(
    *, date: dt.date, currency: str, units_per_eur: Decimal, source: str
) -> ExchangeRate:
    """Keep the rate of a day; recording the same day again replaces it."""
    rate, _ = ExchangeRate.objects.update_or_create(
        date=date,
        currency=currency,
        defaults={"units_per_eur": units_per_eur, "source": source},
    )
    data_version_bump()
    return rate
