"""Vultr: only what imported tables say of it."""

from backend.providers.base import ProviderRecord, Shape

RECORD = ProviderRecord(
    slug="vultr",
    name="Vultr",
    short_name="Vultr",
    homepage="https://www.vultr.com/",
    colour="#009e73",
    shape=Shape.RIGHT,
    is_hollow=True,
)
