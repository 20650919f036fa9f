"""Contabo: only what imported tables say of it."""

from backend.foundation.texts import text as _
from backend.providers.base import ProviderRecord

RECORD = ProviderRecord(
    slug="contabo",
    name="Contabo",
    short_name="Contabo",
    homepage="https://contabo.com/",
    lines={
        "cloud-vps": _("Cloud VPS"),
    },
)
