"""Oracle Cloud Infrastructure: only what imported tables say of it."""

from backend.foundation.texts import text as _
from backend.providers.base import MachineKind, ProviderRecord

RECORD = ProviderRecord(
    slug="oci",
    name="Oracle Cloud Infrastructure",
    short_name="Oracle",
    homepage="https://www.oracle.com/cloud/",
    kind=MachineKind.CLOUD,
    lines={
        "VM.Standard": _("standard shape"),
        "VM.Optimized": _("optimized shape"),
    },
)
