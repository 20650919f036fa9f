"""Providers, and the offers that a workspace may see."""

from django.db.models import Q, QuerySet

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.catalog.models import Offer, Provider


def offers_visible(workspace_slug: str = DEFAULT_WORKSPACE) -> QuerySet[Offer]:
    """What providers sell to everybody, and the machines of the workspace."""
    return Offer.objects.filter(
        Q(workspace=None) | Q(workspace__slug=workspace_slug)
    ).select_related("provider", "region")


def providers() -> QuerySet[Provider]:
    """Every provider of which an offer was ever known."""
    return Provider.objects.all()
