"""Exoscale: only what imported tables say of it."""

from backend.foundation.texts import text as _
from backend.providers.base import ProviderRecord

RECORD = ProviderRecord(
    slug="exoscale",
    name="Exoscale",
    short_name="Exoscale",
    homepage="https://www.exoscale.com/",
    lines={
        "standard": _("standard instance"),
        "cpu": _("CPU-optimized instance"),
        "memory": _("memory-optimized instance"),
        "storage": _("storage-optimized instance"),
    },
)
