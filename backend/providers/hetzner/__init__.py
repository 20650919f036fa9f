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
    # A project has 3,600 calls an hour, of which one comes back each second
    # (docs.hetzner.cloud, Rate Limiting, read 2026-11-22); half of them may end machines.
    calls_per_s=0.5,
    calls_at_once=1800,
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
