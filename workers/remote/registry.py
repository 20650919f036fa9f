"""Drivers and fetchers by slug, as dotted paths: a provider's library loads only when it is used."""

from importlib import import_module
from typing import Any

from backend.providers.machines import Access, ProviderDriver
from backend.providers.source import Source
from workers.remote.driver import MachineDriver

MACHINES = {
    "local": "workers.remote.local:LocalDriver",
    "static": "workers.remote.static:StaticDriver",
}
"""Machines that are simply there: how to log in (Host.driver)."""
CLOUDS = {
    "aws": "backend.providers.aws.driver:AwsDriver",
    "gcp": "backend.providers.gcp.driver:GcpDriver",
    "hetzner": "backend.providers.hetzner.driver:HetznerDriver",
    "fake": "tests.fakes.fake.driver:FakeDriver",
}
"""Providers that rent machines (CloudAccount.provider); each is made with an Access."""
SOURCES = {
    ("aws", "on_demand"): "backend.providers.aws.fetch_files:OfferFile",
    ("aws", "savings"): "backend.providers.aws.fetch_files:SavingsFile",
    ("aws", "products"): "backend.providers.aws.fetch:Products",
    ("aws", "spot"): "backend.providers.aws.fetch:Spot",
    ("gcp", "on_demand"): "backend.providers.gcp.fetch:Catalog",
    ("azure", "on_demand"): "backend.providers.azure.fetch:RetailPrices",
    ("hetzner", "on_demand"): "backend.providers.hetzner.fetch:ServerTypes",
    ("digitalocean", "on_demand"): "backend.providers.digitalocean.fetch:Sizes",
    ("linode", "on_demand"): "backend.providers.linode.fetch:Types",
}
"""As in domain.price_feeds, but for the exchange rates, which are no prices."""


def driver(slug: str) -> MachineDriver:
    """How to log in to a machine that is simply there; KeyError for an unknown slug."""
    made: MachineDriver = _loaded(MACHINES[slug])()
    return made


def cloud(slug: str, access: Access) -> ProviderDriver:
    """The driver of a provider that rents machines; KeyError for one that does not exist."""
    made: ProviderDriver = _loaded(CLOUDS[slug])(access)
    return made


def source(provider: str, kind: str) -> Source:
    """The fetcher; KeyError for one that does not exist."""
    made: Source = _loaded(SOURCES[provider, kind])()
    return made


def _loaded(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
