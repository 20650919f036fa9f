"""OVHcloud: only what imported tables say of it."""

from backend.providers.base import ProviderRecord, Shape

RECORD = ProviderRecord(
    slug="ovh",
    name="OVHcloud",
    short_name="OVH",
    homepage="https://www.ovhcloud.com/",
    colour="#cc79a7",
    shape=Shape.DOWN,
    is_hollow=False,
)
