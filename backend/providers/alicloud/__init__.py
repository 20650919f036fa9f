"""Alibaba Cloud: only what imported tables say of it."""

from backend.providers.base import MachineKind, ProviderRecord

RECORD = ProviderRecord(
    slug="alicloud",
    name="Alibaba Cloud",
    short_name="Alibaba Cloud",
    homepage="https://www.alibabacloud.com/",
    kind=MachineKind.CLOUD,
)
