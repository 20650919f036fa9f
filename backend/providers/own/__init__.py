"""Machines that belong to the workspace."""

from backend.providers.base import Kind, ProviderRecord, Shape

RECORD = ProviderRecord(
    slug="own",
    name="Own machines",
    short_name="Own",
    kind=Kind.ONPREM,
    colour="#17212b",
    dark_colour="#f2f4f6",
    shape=Shape.CROSS,
    is_hollow=False,
)
