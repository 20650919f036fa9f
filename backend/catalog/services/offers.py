"""Writes of providers, regions and offers."""

from django.db import transaction
from django.utils.text import slugify

from backend.accounts.models import Workspace
from backend.catalog.models import (
    Offer,
    OfferKind,
    Provider,
    Region,
)
from backend.catalog.services.data_version import data_version_bump
from backend.catalog.services.prices import BY_OWNER, PriceInput, price_observation_create
from backend.common.slugs import MOST_OF_OFFER, offer_slug
from backend.domain.errors import InvalidValue
from backend.providers.registry import PROVIDERS

OWN_PROVIDER = "own"


def provider_get(*, slug: str, name: str = "") -> Provider:
    """The provider of this slug, made on first use under its known name, else the one given."""
    known = PROVIDERS.get(slug)
    defaults = {"name": known.name, "homepage": known.homepage} if known else {"name": name or slug}
    return Provider.objects.get_or_create(slug=slug, defaults=defaults)[0]


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
    slug = offer_slug(OWN_PROVIDER, name)
    if not slugify(name):
        raise InvalidValue("/name", "a letter or digit is needed")
    if kind not in OfferKind.values:
        raise InvalidValue("/kind", f"{kind!r} is not one of {', '.join(OfferKind.values)}")
    if len(slugify(name)) > MOST_OF_OFFER - 4 or Offer.objects.filter(slug=slug).exists():
        raise InvalidValue("/name", f"the offer {slug} exists, or its name is too long")
    offer = Offer.objects.create(
        slug=slug,
        workspace=workspace,
        provider=provider_get(slug=OWN_PROVIDER),
        name=name,
        kind=kind,
    )
    if price is not None:
        price_observation_create(offer=offer, price=price, source=BY_OWNER)
    data_version_bump()
    return offer
