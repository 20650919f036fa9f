"""Civo: only what imported tables say of it."""

from backend.foundation.texts import text as _
from backend.providers.base import ProviderRecord

RECORD = ProviderRecord(
    slug="civo",
    name="Civo",
    short_name="Civo",
    homepage="https://www.civo.com/",
    lines={
        "g4s": _("Standard"),
        "g4p": _("Performance"),
        "g4c": _("CPU optimized"),
        "g4r": _("RAM optimized"),
    },
)
