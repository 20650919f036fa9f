"""IBM Cloud: only what imported tables say of it."""

from backend.foundation.texts import text as _
from backend.providers.base import MachineKind, ProviderRecord

RECORD = ProviderRecord(
    slug="ibm",
    name="IBM Cloud",
    short_name="IBM",
    homepage="https://www.ibm.com/cloud",
    kind=MachineKind.CLOUD,
    lines={
        "bx": _("balanced"),
        "cx": _("compute"),
        "mx": _("memory"),
    },
)
