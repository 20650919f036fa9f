"""Every provider's record by slug. A provider is a folder beside this module with a `RECORD`.

Fetchers and drivers are named here but loaded only by the workers (workers/remote/registry.py): their
libraries take seconds to load.
"""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from backend import providers
from backend.foundation.errors import InvalidValue
from backend.providers.base import ProviderRecord
from backend.providers.price_feeds import FeedKind

_records: dict[str, ProviderRecord] = {}
_packages: dict[str, str] = {}
PROVIDERS: Mapping[str, ProviderRecord] = MappingProxyType(_records)


def register(package: str) -> None:
    """Add the provider of a package; tests add one of their own."""
    record: ProviderRecord = import_module(package).RECORD
    _records[record.slug] = record
    _packages[record.slug] = package


def provider(slug: str) -> ProviderRecord:
    """The record of a provider; one of defaults where the provider has no folder.

    Such providers come with imported tables: anybody's offers can be ranked.
    """
    # Not an error: tables may name providers that nobody declared.
    name = slug.replace("-", " ").capitalize()
    return _records.get(slug) or ProviderRecord(slug=slug, name=name, short_name=name)


# Paths and not modules: the web process lists providers, and importing boto3 or Google's library takes
# seconds.
def module(slug: str, name: str) -> str:
    """The dotted path of a module of a provider. Raises KeyError for an unknown slug."""
    return f"{_packages[slug]}.{name}"


def feed_kinds(slug: str) -> tuple[FeedKind, ...]:
    """The price lists of a provider. Raises InvalidValue where there are none."""
    feeds = provider(slug).feeds
    if not feeds:
        known = ", ".join(record.slug for record in _records.values() if record.feeds)
        raise InvalidValue("/provider", f"{slug!r} is not one of {known}")
    return feeds


def feed_kind(slug: str, kind: str) -> FeedKind:
    """A price list. Raises InvalidValue with a JSON pointer, naming those that there are."""
    for feed in feed_kinds(slug):
        if feed.kind == kind:
            return feed
    known = ", ".join(feed.kind for feed in provider(slug).feeds)
    raise InvalidValue("/kind", f"{kind!r} is not one of {known}")


# By looking, so that a provider's folder is all that has to be added or removed.
for _module in iter_modules(providers.__path__, f"{providers.__name__}."):
    if _module.ispkg:
        register(_module.name)
