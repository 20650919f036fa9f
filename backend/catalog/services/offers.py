"""Writes of providers, regions and offers."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils.text import slugify

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.accounts.services.workspaces import demand_owner
from backend.catalog.models import (
    Offer,
    OfferKind,
    Provider,
    Region,
    VcpuKind,
)
from backend.catalog.services.data_version import data_version_bump
from backend.catalog.services.prices import BY_OWNER, PriceInput, price_observation_create
from backend.core.slugs import MOST_OF_OFFER, offer_slug
from backend.foundation.errors import InvalidValue
from backend.providers.registry import PROVIDERS

OWN_PROVIDER = "own"
MOST_NAME = 150
CHOICES: Mapping[str, tuple[str, ...]] = {
    "kind": tuple(OfferKind.values),
    "vcpu_kind": ("", *VcpuKind.values),
}
COUNTS = ("vcpu_count", "thread_count", "memory_bytes", "disk_bytes")


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
    # The slug is made of `own-`, which has four characters, and the name.
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


def demand_own(workspace: Workspace, offer: Offer) -> None:
    """Raises NotOwned for the offer of another workspace, InvalidValue for one that everybody sees."""
    demand_owner(workspace, offer)
    if offer.workspace_id is None:
        raise InvalidValue(
            "/offer", f"{offer.slug} is sold to everybody: its price list changes it"
        )


@transaction.atomic
def offer_update(
    *, workspace: Workspace, offer: Offer, changes: Mapping[str, Any], actor: str
) -> Offer:
    """Change what is known of an offer of the workspace alone; its slug stays, and so does what is
    not named. `discontinued_on` retires it, None takes that back.

    Raises InvalidValue by JSON pointer, and what demand_own does.
    """
    demand_own(workspace, offer)
    offer = Offer.objects.select_for_update().get(pk=offer.pk)
    changed = {name: value for name, value in changes.items() if value != getattr(offer, name)}
    if not changed:
        return offer
    if "name" in changed:
        _check_name(offer, changed["name"])
    for name, known in CHOICES.items():
        if changed.get(name, known[0]) not in known:
            raise InvalidValue(f"/{name}", f"{changed[name]!r} is not one of {', '.join(known)}")
    for name in COUNTS:
        if (count := changed.get(name)) is not None and Decimal(count) <= 0:
            raise InvalidValue(f"/{name}", f"{count} is not more than 0")
    for name, value in changed.items():
        setattr(offer, name, value)
    offer.save(update_fields=list(changed))
    audit_record(workspace=workspace, actor=actor, action="offer_update", target=offer)
    data_version_bump()
    return offer


def _check_name(offer: Offer, name: str) -> None:
    if len(name) > MOST_NAME or not name.isprintable() or not slugify(name):
        raise InvalidValue(
            "/name", f"1 to {MOST_NAME} characters with a letter or digit are needed"
        )
    # Tables find an offer by these three.
    alike = Offer.objects.filter(
        workspace=offer.workspace, provider=offer.provider, region=offer.region, name__iexact=name
    )
    if other := alike.exclude(pk=offer.pk).first():
        raise InvalidValue("/name", f"{other.slug} has this name already")
