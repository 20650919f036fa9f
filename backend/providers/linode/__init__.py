"""Linode, which is now a part of Akamai."""

import re

from backend.foundation.facts import Fact
from backend.foundation.texts import text as _
from backend.providers.base import TOKEN, AuthMethod, ProviderRecord, SecretField, Shape
from backend.providers.price_feeds import FeedKind

RECORD = ProviderRecord(
    slug="linode",
    name="Linode",
    short_name="Linode",
    homepage="https://www.linode.com/",
    colour="#f0e442",
    shape=Shape.LEFT,
    is_hollow=False,
    auth_methods={TOKEN: AuthMethod(secret=(SecretField("token", _("API token")),))},
    rents_machines=True,
    region=re.compile(r"[a-z]{2}(-[a-z]{2,12}){1,2}(-[0-9]{1,2})?"),
    example_region="eu-central",
    # 800 changes and 200 pages of a list a minute (techdocs.akamai.com/linode-api, Rate limits).
    calls_per_s=2,
    calls_at_once=40,
    family=re.compile(r"g[0-9]+-[a-z]+"),
    incidents=(
        Fact(
            "Two unknown faults of ColdFusion gave attackers its management console, and with it "
            "servers of customers, one of them that of Nmap",
            None,
            "",
            "2013-04-12",
            "Linode Hacked: The Dark Side of Cloud Hosting (2013-04-16)",
            "break-in",
        ),
    ),
    lines={
        "g6-nanode": _("Nanode, shared vCPUs"),
        "g6-standard": _("Shared CPU"),
        "g[67]-dedicated": _("Dedicated CPU"),
        "g7-highmem": _("High Memory"),
        "g7-premium": _("Premium CPU"),
    },
    feeds=(
        FeedKind(
            kind="on_demand",
            meaning=_("types"),
            documents={"types": re.compile(r'"data"\s*:\s*\[')},
        ),
    ),
)
