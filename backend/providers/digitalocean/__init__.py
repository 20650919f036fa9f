"""DigitalOcean."""

import re

from backend.domain.price_feeds import FeedKind
from backend.domain.texts import text as _
from backend.providers.base import TOKEN, AuthMethod, ProviderRecord, SecretField, Shape

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
    family=re.compile(r"[a-z]+[0-9_.]*(?=-)"),
    feeds=(
        FeedKind(
            kind="on_demand",
            meaning=_("sizes"),
            needs_account=True,
            documents={"sizes": re.compile(r'"sizes"\s*:\s*\[')},
        ),
    ),
)
