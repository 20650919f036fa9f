"""DigitalOcean."""

import datetime as dt
import re
from decimal import Decimal

from backend.foundation.texts import text as _
from backend.money.money import Money
from backend.providers.base import TOKEN, AuthMethod, ProviderRecord, SecretField, Shape
from backend.providers.price_feeds import FeedKind
from backend.providers.rentals import BY_HOUR, Increment

RECORD = ProviderRecord(
    slug="digitalocean",
    name="DigitalOcean",
    short_name="DigitalOcean",
    homepage="https://www.digitalocean.com/",
    colour="#009e73",
    shape=Shape.RIGHT,
    is_hollow=False,
    auth_methods={TOKEN: AuthMethod(secret=(SecretField("token", _("API token")),))},
    rents_machines=True,
    region=re.compile(r"[a-z]{3}[0-9]"),
    example_region="fra1",
    # 5,000 calls an hour, 250 a minute (docs.digitalocean.com/reference/api, Rate Limit).
    calls_per_s=0.7,
    calls_at_once=120,
    # By the second since 2026, at least a minute and a cent
    # (digitalocean.com/community/questions/how-billing-works-for-1-hour, read in November 2026).
    increment=Increment(
        minimum_s=60,
        step_s=1,
        least=Money(Decimal("0.01"), "USD"),
        valid_from=dt.date(2026, 1, 1),
        before=BY_HOUR,
    ),
    family=re.compile(r"[a-z]+[0-9_.]*(?=-)"),
    lines={
        "s-": _("Basic Droplet, shared vCPUs"),
        "so": _("Storage-Optimized Droplet"),
        "g": _("General Purpose Droplet"),
        "c": _("CPU-Optimized Droplet"),
        "m": _("Memory-Optimized Droplet"),
    },
    feeds=(
        FeedKind(
            kind="on_demand",
            meaning=_("sizes"),
            needs_account=True,
            documents={"sizes": re.compile(r'"sizes"\s*:\s*\[')},
        ),
    ),
)
