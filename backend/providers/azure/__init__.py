"""Microsoft Azure."""

import re

from backend.foundation.texts import text as _
from backend.measure.credits import STANDARD
from backend.providers.azure.sizes import size_figures
from backend.providers.base import (
    ADDRESS,
    STATIC_KEY,
    WORKLOAD_IDENTITY,
    AuthMethod,
    MachineKind,
    ProviderRecord,
    SecretField,
    Setting,
    SettingForm,
    Shape,
    Volume,
)
from backend.providers.price_feeds import FeedKind
from backend.providers.rentals import BY_SECOND

# Every size takes it; premium ones need a size with an s in its name.
DISK_TYPE = "StandardSSD_LRS"
UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def volume(machine_type: str) -> Volume:
    """The disk of the system, the same for every size."""
    return Volume(DISK_TYPE, 32)


def _id_of(label: str, hint: str, *, is_identity: bool = False) -> Setting:
    meaning = _(
        "36 characters are needed: groups of 8, 4, 4, 4 and 12 lower-case hexadecimal digits"
    )
    return Setting(label, UUID, meaning, hint, is_identity=is_identity)


TENANT = _id_of(_("Tenant"), _("The directory of Microsoft Entra ID."))
CLIENT = _id_of(_("Client"), _("The application's id in the directory."))

RECORD = ProviderRecord(
    slug="azure",
    name="Microsoft Azure",
    short_name="Azure",
    homepage="https://azure.microsoft.com/",
    kind=MachineKind.CLOUD,
    colour="#0072b2",
    dark_colour="#3d9bd6",
    shape=Shape.UP,
    is_hollow=False,
    auth_methods={
        # The worker's own: a managed identity, or a federated token of Kubernetes.
        WORKLOAD_IDENTITY: AuthMethod(),
        STATIC_KEY: AuthMethod(
            settings={"tenant_id": TENANT, "client_id": CLIENT},
            secret=(SecretField("client_secret", _("Client secret")),),
        ),
    },
    settings={
        "subscription": _id_of(
            _("Subscription"), _("Machines are rented and paid for in it."), is_identity=True
        ),
        "subnet": Setting(
            _("Subnet"),
            rf"/subscriptions/{UUID}/resourceGroups/[A-Za-z0-9._()-]{{1,90}}"
            r"/providers/Microsoft\.Network/virtualNetworks/[A-Za-z0-9._-]{1,80}"
            r"/subnets/[A-Za-z0-9._-]{1,80}",
            _("the whole id is needed: /subscriptions/…/virtualNetworks/…/subnets/…"),
            _("Leave blank to give each machine a network of its own, which is deleted with it."),
            form=SettingForm.BY_REGION,
            is_of_one_region=True,
        ),
        "address": ADDRESS,
        "accelerated_networking": Setting(
            _("Accelerated networking"),
            r"on|off",
            _("on or off is needed"),
            _("on: sizes without it are refused. Leave blank for on where the size has it."),
        ),
        "tags": Setting(
            _("Further tags"),
            r"(?!rackrate-|run=|owner=|installation=)[A-Za-z0-9_. -]{1,128}=[^\x00-\x1f\x7f]{0,256}",
            _("names of letters, digits, blank and _ . -, values up to 256; none of our own"),
            _("Added to everything that is created, if a policy requires tags."),
            form=SettingForm.PAIRS,
        ),
    },
    required_settings=("subscription",),
    rents_machines=True,
    volume=volume,
    priced_disk=DISK_TYPE,
    region=re.compile(r"[a-z]{2,30}[0-9]?"),
    example_region="westeurope",
    family=re.compile(r"(?:Standard|Basic)_[A-Z]+(?=[0-9])"),
    # B1s, B2ms, B2s_v2, B4as_v2, B2pls_v2: credits, "B-series burstable" in Microsoft's list of sizes.
    burstable=re.compile(r"(?:Standard|Basic)_B[0-9]"),
    # "Extra Small (A0): Shared" in Microsoft's table of sizes, with half the compute units of an A1 core.
    shared=re.compile(r"(?:Standard|Basic)_A0$"),
    other_vcpu_kind="dedicated",
    # Without credits they run at their base performance; nothing beyond it can be bought
    # (learn.microsoft.com/azure/virtual-machines/b-series-cpu-credit-model, read 2026-11-23).
    credit_modes=(STANDARD,),
    size_figures=size_figures,
    increment=BY_SECOND,
    lines={
        "(?:Standard|Basic)_B": _("burstable"),
        "Standard_D[0-9S]": _("general purpose"),
        "Standard_DC": _("general purpose, confidential"),
        "Standard_EC": _("memory optimized, confidential"),
        "Standard_E|Standard_M|Standard_G": _("memory optimized"),
        "Standard_F": _("compute optimized"),
        "Standard_L": _("storage optimized"),
        "Standard_H": _("high-performance computing"),
        "(?:Standard|Basic)_A": _("entry level"),
        "Standard_N|Standard_P": _("with accelerator"),
        "Standard_SQL": _("for SQL Server"),
    },
    feeds=(
        FeedKind(
            kind="on_demand",
            meaning=_("retail prices: on demand, spot, reserved, savings"),
            is_regional=True,
            documents={"items": re.compile(r'"Items"\s*:\s*\[|\A\s*\[')},
        ),
    ),
)
