"""Drivers by slug, as dotted paths: a provider's library loads only when it is used."""

from importlib import import_module

from workers.driver import ProviderDriver

DRIVERS = {
    "local": "workers.drivers.local:LocalDriver",
    "static": "workers.drivers.static:StaticDriver",
}


def driver(slug: str) -> ProviderDriver:
    """The driver of this slug; KeyError for one that does not exist."""
    module, _, name = DRIVERS[slug].partition(":")
    made: ProviderDriver = getattr(import_module(module), name)()
    return made
