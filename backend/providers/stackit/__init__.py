"""STACKIT: only what imported tables say of it."""

from backend.foundation.texts import text as _
from backend.providers.base import MachineKind, ProviderRecord

RECORD = ProviderRecord(
    slug="stackit",
    name="STACKIT",
    short_name="STACKIT",
    homepage="https://stackit.com/",
    kind=MachineKind.CLOUD,
    lines={
        "t[0-9]": _("tiny"),
        "c": _("compute optimized"),
        "g": _("general purpose"),
        "m": _("memory optimized"),
        "b": _("memory optimized, large"),
        "s": _("compute optimized, small memory"),
    },
)
