"""Rackspace: only what imported tables say of it."""

from backend.providers.base import ProviderRecord, Shape

RECORD = ProviderRecord(
    slug="rackspace",
    name="Rackspace",
    short_name="Rackspace",
    homepage="https://www.rackspace.com/",
    colour="#d55e00",
    shape=Shape.DIAMOND,
    is_hollow=True,
)
