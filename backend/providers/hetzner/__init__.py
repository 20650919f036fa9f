"""Hetzner Cloud."""

import re

from backend.domain.price_feeds import FeedKind
from backend.providers.base import TOKEN, AuthMethod, ProviderRecord, SecretField, Shape

RECORD = ProviderRecord(
    slug="hetzner",
    name="Hetzner",
    short_name="Hetzner",
    homepage="https://www.hetzner.com/",
    colour="#d55e00",
    shape=Shape.DIAMOND,
    is_hollow=False,
    auth_methods={TOKEN: AuthMethod(secret=(SecretField("token", "API token"),))},
    rents_machines=True,
    region=re.compile(r"[a-z]{3}[0-9]{0,2}"),
    example_region="fsn1",
    family=re.compile(r"[a-z]+"),
    feeds=(
        FeedKind(
            kind="on_demand",
            meaning="server types",
            needs_account=True,
            documents={
                # First, since the answer with the prices of addresses lists server types, too.
                "pricing": re.compile(r'"pricing"\s*:\s*\{'),
                "server_types": re.compile(r'"server_types"\s*:\s*\['),
            },
        ),
    ),
)
