"""Providers, and the offers that a workspace may see."""

from functools import reduce

from django.db.models import Q, QuerySet

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.catalog.models import Offer, Provider
from backend.foundation.errors import InvalidValue

MOST_WORDS = 6
SEARCHED = ("slug", "name", "provider__name", "region__name")


def offers_visible(workspace_slug: str = DEFAULT_WORKSPACE) -> QuerySet[Offer]:
    """Offers that providers sell to everybody, and the machines of the workspace."""
    return Offer.objects.filter(
        Q(workspace=None) | Q(workspace__slug=workspace_slug)
    ).select_related("provider", "region")


def offers_with_words(words: str, workspace_slug: str = DEFAULT_WORKSPACE) -> QuerySet[Offer]:
    """Offers that have every word in their name, provider or region; all without any word."""
    offers = offers_visible(workspace_slug)
    for word in words.replace("\0", "").split()[:MOST_WORDS]:
        offers = offers.filter(
            reduce(Q.__or__, (Q(**{f"{of}__icontains": word}) for of in SEARCHED))
        )
    return offers


def offer_called(name: str, workspace_slug: str = DEFAULT_WORKSPACE) -> Offer | None:
    """The offer with the identifier, or the only one with the name; None where there is none."""
    offers = offers_visible(workspace_slug)
    rows = offers.filter(slug=name) or offers.filter(name__iexact=name)[:2]
    return rows[0] if len(rows) == 1 else None


def offer_with_slug(slug: str, workspace_slug: str = DEFAULT_WORKSPACE) -> Offer:
    """The offer; raises InvalidValue("/offer") where there is none."""
    # Addresses may name NUL characters, which no text of the database holds.
    offer = None if "\0" in slug else offers_visible(workspace_slug).filter(slug=slug).first()
    if offer is None:
        raise InvalidValue("/offer", f"no offer is called {slug!r}")
    return offer


def providers() -> QuerySet[Provider]:
    """Every provider of which an offer was ever known."""
    return Provider.objects.all()
