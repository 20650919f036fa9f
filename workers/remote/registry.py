"""Loads fetchers and drivers by slug, when they are used: a provider's library takes seconds."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from backend.providers import registry
from backend.providers.fetcher import PriceFetcher
from backend.providers.machines import Access, ProviderBill, ProviderDriver
from workers.remote.driver import MachineDriver

# Machines that are simply there: how to log in (Host.driver).
MACHINES = {
    "local": "workers.remote.local:LocalDriver",
    "static": "workers.remote.static:StaticDriver",
}


def driver(slug: str) -> MachineDriver:
    """How to log in to a machine that is simply there; KeyError for an unknown slug."""
    module, _, name = MACHINES[slug].partition(":")
    made: MachineDriver = getattr(import_module(module), name)()
    return made


def cloud(slug: str, access: Access) -> ProviderDriver:
    """The driver of a provider that rents machines; KeyError for a slug without a folder."""
    made: ProviderDriver = import_module(registry.module(slug, "driver")).DRIVER(access)
    return made


def bill(slug: str, access: Access) -> ProviderBill | None:
    """Reader of the provider's bill; None where none can be read."""
    path = registry.module(slug, "bill")
    if find_spec(path) is None:
        return None
    made: ProviderBill = import_module(path).BILL(access)
    return made


def fetcher(slug: str, kind: str) -> PriceFetcher:
    """The fetcher of a list of prices; KeyError for one that does not exist."""
    made: PriceFetcher = _fetchers(slug)[kind]
    return made


def rates_fetcher(slug: str, kind: str) -> Any:
    """The fetcher of a list of exchange rates, which reads ParsedRate and SkippedRate."""
    return _fetchers(slug)[kind]


def _fetchers(slug: str) -> Any:
    return import_module(registry.module(slug, "fetch")).FETCHERS
