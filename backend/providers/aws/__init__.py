"""Amazon Web Services."""

import re
from decimal import Decimal

from backend.foundation.texts import text as _
from backend.measure.credits import STANDARD, UNLIMITED
from backend.money.money import Money
from backend.providers.base import (
    ADDRESS,
    ASSUME_ROLE,
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
from backend.providers.price_feeds import HOUR_S, FeedKind
from backend.providers.rentals import BY_SECOND

# 3,000 IOPS and 125 MiB/s come with every gp3 volume, whatever its size.
VOLUME = Volume("gp3", 20, iops=3000, mib_per_s=125)

# Types that have CPU credits and a mode of them; T8i has none, as describe-instance-types says.
CREDIT_FAMILIES = ("t2.", "t3.", "t3a.", "t4g.")

KEY_PAIR = (
    SecretField("access_key_id", _("Access key id")),
    SecretField("secret_access_key", _("Secret access key")),
)
ROLE = {
    "role_arn": Setting(
        _("Role to assume"),
        r"arn:aws[a-z-]{0,20}:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]{1,512}",
        _("a role looks like arn:aws:iam::123456789012:role/name"),
        _("It looks like arn:aws:iam::123456789012:role/rackrate."),
        is_identity=True,
    ),
    "external_id": Setting(
        _("External id of the role"),
        r"[A-Za-z0-9+=,.@:/_-]{2,1224}",
        _("2 or more letters, digits and + = , . @ : / _ -"),
        _("The same as in the role's trust policy. This one is new, and nobody can guess it."),
        is_chosen_by_us=True,
    ),
}


def credit_surcharge(machine_type: str) -> Money:
    """ "$0.05 per vCPU-Hour for Linux", and 0.04 of T4g, in every region of the commercial partition
    (aws.amazon.com/ec2/pricing/on-demand/, "T2/T3/T4g Unlimited Mode Pricing", read 2026-11-23)."""
    return Money(Decimal("0.04" if machine_type.startswith("t4g") else "0.05"), "USD")


RECORD = ProviderRecord(
    slug="aws",
    name="Amazon Web Services",
    short_name="AWS",
    homepage="https://aws.amazon.com/",
    kind=MachineKind.CLOUD,
    colour="#e69f00",
    shape=Shape.CIRCLE,
    is_hollow=False,
    auth_methods={
        WORKLOAD_IDENTITY: AuthMethod(),
        ASSUME_ROLE: AuthMethod(settings=ROLE, optional=(KEY_PAIR,)),
        STATIC_KEY: AuthMethod(secret=KEY_PAIR),
    },
    settings={
        "subnet_id": Setting(
            _("Subnet"),
            r"subnet-[0-9a-f]{8,17}",
            _("a subnet looks like subnet-0a1b2c3d"),
            _("Leave blank for the default network."),
            form=SettingForm.BY_REGION,
            is_of_one_region=True,
        ),
        "address": ADDRESS,
        "credit_mode": Setting(
            _("Without CPU credits"),
            r"standard|unlimited",
            _("standard or unlimited is needed"),
            _(
                "For t2, t3, t3a and t4g. standard: slowed to their share. unlimited: they run "
                "on, for 0.04 or 0.05 USD per vCPU and hour, which is reserved and booked. "
                "Leave blank for standard."
            ),
        ),
        "allowed_cidrs": Setting(
            _("Networks that may log in"),
            r"[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}",
            _("a network looks like 203.0.113.0/24"),
            _(
                "Addresses of the workers. Leave blank for every address, with the machine’s "
                "own key only."
            ),
            form=SettingForm.LIST,
        ),
        "tags": Setting(
            _("Further tags"),
            # No prefix of ours, and none that AWS reserves.
            r"(?!aws:|rackrate-)[A-Za-z0-9 _.:/=+@-]{1,128}=[A-Za-z0-9 _.:/+@-]{0,256}",
            _("up to 128 letters, digits and _ . : / + - @ = and up to 256; not aws: or rackrate-"),
            _(
                "Added to everything that is created, if a policy of the organisation requires "
                "tags."
            ),
            form=SettingForm.PAIRS,
        ),
    },
    rents_machines=True,
    # The other mode is dearer, so nobody gets it unasked.
    credit_modes=(STANDARD, UNLIMITED),
    credit_surcharge=credit_surcharge,
    volume=lambda _: VOLUME,
    priced_disk=VOLUME.type,
    region=re.compile(r"[a-z]{2}(-[a-z]{2,12}){1,2}-[0-9]{1,2}"),
    example_region="eu-west-1",
    family=re.compile(r"[^.]+"),
    # Bare metal "can take longer to boot than other instance types" (docs.aws.amazon.com/ec2/latest/
    # instancetypes/, read 2026-11-23): 8 to 20 minutes are reported.
    slow_boot=re.compile(r"\.metal"),
    # It is ended by shutdown(8), which lets no user but root log in during the last five minutes;
    # its minutes are whole ones, and counted from up to a minute before the lifetime's end.
    last_login_s=420,
    # Linux by the second, at least a minute of it.
    increment=BY_SECOND,
    lines={
        "t[0-9]": _("burstable"),
        "m[0-9]": _("general purpose"),
        "c[0-9]": _("compute optimized"),
        "r[0-9]|x[0-9]|u-|u7|z1|cr1": _("memory optimized"),
        "i[0-9]|im4|is4|d[0-9]|h1": _("storage optimized"),
        "hpc": _("high-performance computing"),
        "a1": _("general purpose, first Arm"),
        "[pg][0-9]|gr|inf|trn|dl|vt|f[0-9]": _("with accelerator"),
    },
    feeds=(
        FeedKind(
            kind="on_demand",
            meaning=_("price list file: on demand and reserved"),
            is_regional=True,
            documents={
                "offers": re.compile(
                    r'"products"\s*:\s*\{|\A\s*"?(?:FormatVersion|SKU)"?,',
                )
            },
            is_one_document=True,
        ),
        FeedKind(
            kind="products",
            meaning=_("price list interface: as on_demand, of machines only"),
            is_regional=True,
            needs_account=True,
            is_alternative=True,
            replaces="on_demand",
            documents={"products": re.compile(r'"PriceList"\s*:\s*\[')},
        ),
        FeedKind(
            kind="savings",
            meaning=_("savings plans; after on_demand"),
            is_regional=True,
            needs_on_demand=True,
            documents={"savings": re.compile(r'"products"\s*:\s*\[')},
            is_one_document=True,
            region=re.compile(r'"regionCode"\s*:\s*"([a-z0-9-]+)"'),
        ),
        FeedKind(
            kind="spot",
            meaning=_("spot prices by zone"),
            every_s=HOUR_S,
            is_regional=True,
            needs_account=True,
            documents={"spot": re.compile(r'"SpotPriceHistory"\s*:\s*\[')},
            # Named only within the codes of zones.
            region=re.compile(r'"AvailabilityZone"\s*:\s*"([a-z]{2}(?:-[a-z]+)+-[0-9]+)'),
        ),
    ),
)
