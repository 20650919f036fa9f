"""Alibaba Cloud: only what imported tables say of it."""

import re

from backend.providers.base import MachineKind, ProviderRecord

RECORD = ProviderRecord(
    slug="alicloud",
    name="Alibaba Cloud",
    short_name="Alibaba Cloud",
    homepage="https://www.alibabacloud.com/",
    kind=MachineKind.CLOUD,
    burstable=re.compile(r"ecs\.t[0-9]"),
)
