"""UpCloud: only what imported tables say of it."""

from backend.providers.base import ProviderRecord, Shape

RECORD = ProviderRecord(
    slug="upcloud",
    name="UpCloud",
    short_name="UpCloud",
    homepage="https://upcloud.com/",
    colour="#cc79a7",
    shape=Shape.DOWN,
    is_hollow=True,
)
