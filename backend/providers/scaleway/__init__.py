"""Scaleway."""

import re

from backend.foundation.texts import text as _
from backend.providers.base import (
    TOKEN,
    AuthMethod,
    ProviderRecord,
    SecretField,
    Setting,
    Shape,
)
from backend.providers.price_feeds import FeedKind

RECORD = ProviderRecord(
    slug="scaleway",
    name="Scaleway",
    short_name="Scaleway",
    homepage="https://www.scaleway.com/",
    colour="#e69f00",
    shape=Shape.CIRCLE,
    is_hollow=True,
    auth_methods={TOKEN: AuthMethod(secret=(SecretField("token", _("Secret key")),))},
    settings={
        "project": Setting(
            _("Project"),
            r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
            _("the id of a project is needed, 32 hexadecimal digits with hyphens"),
            is_identity=True,
        )
    },
    required_settings=("project",),
    rents_machines=True,
    # Zones: each has its own stock and prices.
    region=re.compile(r"[a-z]{2}-[a-z]{3}-[0-9]"),
    example_region="fr-par-1",
    family=re.compile(r"[A-Z]+[0-9]*"),
    # "Shared vCPUs" in its datasheet of Instances (github.com/scaleway/docs-content, checked 2025-03-03);
    # it has no row for the BASIC ranges.
    shared=re.compile(r"(?:STARDUST1|DEV1|GP1|PLAY2|PRO2|COPARM1)-"),
    calls_per_s=1,
    calls_at_once=60,
    lines={
        "DEV1|STARDUST1|START1": _("Development"),
        "PLAY2|BASIC": _("cost-optimized"),
        "PRO2|GP1|STANDARD": _("general purpose"),
        "POP2": _("production-optimized"),
        "COMPUTE": _("compute optimized"),
        "MEMORY": _("memory optimized"),
        "X64": _("general purpose, old"),
        "EM-A": _("Elastic Metal Aluminium"),
        "EM-B": _("Elastic Metal Beryllium"),
        "EM-I": _("Elastic Metal Iridium"),
        "EM-L": _("Elastic Metal Lithium"),
        "EM-T": _("Elastic Metal Titanium"),
        "EM-RV": _("Elastic Metal Labs, RISC-V"),
    },
    feeds=(
        FeedKind(
            kind="on_demand",
            meaning=_("Instances"),
            is_regional=True,
            documents={"servers": re.compile(r'"servers"\s*:\s*\{')},
            # The answer names no zone.
            region=re.compile(r'"zone"\s*:\s*"([a-z0-9-]+)"'),
        ),
    ),
)
