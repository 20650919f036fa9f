"""Scaleway: only what imported tables say of it."""

from backend.providers.base import ProviderRecord, Shape

RECORD = ProviderRecord(
    slug="scaleway",
    name="Scaleway",
    short_name="Scaleway",
    homepage="https://www.scaleway.com/",
    colour="#e69f00",
    shape=Shape.CIRCLE,
    is_hollow=True,
)
