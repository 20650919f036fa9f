"""Drivers by slug, as dotted paths: a provider's library loads only when it is used."""

from importlib import import_module
from typing import Any

from workers.driver import Access, ProviderDriver

MACHINES = {
    "local": "workers.drivers.local:LocalDriver",
    "static": "workers.drivers.static:StaticDriver",
}
"""Machines that are simply there: how to log in (Host.driver)."""
CLOUDS = {
    "aws": "workers.drivers.aws:AwsDriver",
    "gcp": "workers.drivers.gcp:GcpDriver",
    "hetzner": "workers.drivers.hetzner:HetznerDriver",
    "fake": "workers.drivers.fake:FakeDriver",
}
"""Providers that rent machines (CloudAccount.provider); each is made with an Access."""
DRIVERS = {**MACHINES, **CLOUDS}


def driver(slug: str) -> ProviderDriver:
    """The driver of a machine that is simply there; KeyError for one that does not exist."""
    made: ProviderDriver = _loaded(MACHINES[slug])()
    return made


def cloud(slug: str, access: Access) -> ProviderDriver:
    """The driver of a provider that rents machines; KeyError for one that does not exist."""
    made: ProviderDriver = _loaded(CLOUDS[slug])(access)
    return made


def _loaded(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
