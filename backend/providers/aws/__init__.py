"""Amazon Web Services."""

import re

from backend.domain.credits import STANDARD, UNLIMITED
from backend.domain.price_feeds import HOUR_S, FeedKind
from backend.domain.rentals import BY_SECOND
from backend.providers.base import (
    ASSUME_ROLE,
    STATIC_KEY,
    WORKLOAD_IDENTITY,
    AuthMethod,
    MachineKind,
    ProviderRecord,
    SecretField,
    Setting,
    Shape,
    Volume,
)

# 3,000 IOPS and 125 MiB/s come with every gp3 volume, whatever its size.
VOLUME = Volume("gp3", 20, iops=3000, mib_per_s=125)

KEY_PAIR = (
    SecretField("access_key_id", "Access key id"),
    SecretField("secret_access_key", "Secret access key"),
)
ROLE = {
    "role_arn": Setting(
        "Role to assume",
        r"arn:aws[a-z-]{0,20}:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]{1,512}",
        "a role looks like arn:aws:iam::123456789012:role/name",
        "It looks like arn:aws:iam::123456789012:role/rackrate.",
        is_identity=True,
    ),
    "external_id": Setting(
        "External id of the role",
        r"[A-Za-z0-9+=,.@:/_-]{2,1224}",
        "2 or more letters, digits and + = , . @ : / _ -",
        "The same as in the role's trust policy.",
    ),
}
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
            "Subnet",
            r"subnet-[0-9a-f]{8,17}",
            "a subnet looks like subnet-0a1b2c3d",
            "Empty: the default network.",
        )
    },
    rents_machines=True,
    # The other mode charges for CPU beyond the price that a budget reserves.
    credit_modes=(STANDARD, UNLIMITED),
    volume=lambda _: VOLUME,
    region=re.compile(r"[a-z]{2}(-[a-z]{2,12}){1,2}-[0-9]{1,2}"),
    example_region="eu-west-1",
    family=re.compile(r"[^.]+"),
    increment=BY_SECOND,
    feeds=(
        FeedKind(
            kind="on_demand",
            meaning="price list file: on demand and reserved",
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
            meaning="price list interface: as on_demand, of machines only",
            is_regional=True,
            needs_account=True,
            is_alternative=True,
            documents={"products": re.compile(r'"PriceList"\s*:\s*\[')},
        ),
        FeedKind(
            kind="savings",
            meaning="savings plans; after on_demand",
            is_regional=True,
            needs_on_demand=True,
            documents={"savings": re.compile(r'"products"\s*:\s*\[')},
            is_one_document=True,
            region=re.compile(r'"regionCode"\s*:\s*"([a-z0-9-]+)"'),
        ),
        FeedKind(
            kind="spot",
            meaning="spot prices by zone",
            every_s=HOUR_S,
            is_regional=True,
            needs_account=True,
            documents={"spot": re.compile(r'"SpotPriceHistory"\s*:\s*\[')},
            # Named only within the codes of zones.
            region=re.compile(r'"AvailabilityZone"\s*:\s*"([a-z]{2}(?:-[a-z]+)+-[0-9]+)'),
        ),
    ),
)
