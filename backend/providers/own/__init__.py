"""Machines that belong to the workspace."""

from backend.foundation.texts import text as _
from backend.providers.base import MachineKind, ProviderRecord, Shape

RECORD = ProviderRecord(
    slug="own",
    name="Own machines",
    short_name=_("Own"),
    kind=MachineKind.ONPREM,
    colour="#17212b",
    dark_colour="#f2f4f6",
    shape=Shape.STAR,
    is_hollow=False,
)
