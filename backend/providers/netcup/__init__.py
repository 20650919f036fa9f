"""netcup: only what imported tables say of it."""

from backend.foundation.texts import text as _
from backend.providers.base import ProviderRecord

RECORD = ProviderRecord(
    slug="netcup",
    name="netcup",
    short_name="netcup",
    homepage="https://www.netcup.com/",
    lines={
        "vps-.*arm": _("VPS on Arm, shared vCPUs"),
        "vps": _("VPS, shared vCPUs"),
        "rs": _("Root Server, dedicated cores"),
    },
)
