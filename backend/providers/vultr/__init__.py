"""Vultr."""

import re

from backend.foundation.texts import text as _
from backend.providers.base import TOKEN, AuthMethod, ProviderRecord, SecretField, Shape
from backend.providers.price_feeds import FeedKind

RECORD = ProviderRecord(
    slug="vultr",
    name="Vultr",
    short_name="Vultr",
    homepage="https://www.vultr.com/",
    colour="#009e73",
    shape=Shape.RIGHT,
    is_hollow=True,
    auth_methods={TOKEN: AuthMethod(secret=(SecretField("token", _("API key")),))},
    rents_machines=True,
    region=re.compile(r"[a-z]{3}"),
    example_region="fra",
    family=re.compile(r"[a-z]+[0-9]*"),
    # 30 calls a second and address (vultr.com/api, Introduction).
    calls_per_s=5,
    calls_at_once=20,
    lines={
        "vc2": _("Cloud Compute"),
        "vhf": _("High Frequency"),
        "vhp": _("High Performance"),
        "voc": _("Optimized Cloud Compute"),
        "vx1": _("VX1 Cloud Compute"),
        "vbm": _("Bare Metal"),
    },
    feeds=(
        FeedKind(
            kind="on_demand",
            meaning=_("plans"),
            documents={
                "plans": re.compile(r'"plans"\s*:\s*\['),
                "metal": re.compile(r'"plans_metal"\s*:\s*\['),
            },
        ),
    ),
)
