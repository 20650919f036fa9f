"""Fetchers by provider and kind, as dotted paths: a provider's library loads only when used."""

from importlib import import_module

from workers.prices.source import Source

SOURCES = {
    ("aws", "on_demand"): "workers.prices.aws_bulk:OfferFile",
    ("aws", "savings"): "workers.prices.aws_bulk:SavingsFile",
    ("aws", "products"): "workers.prices.aws:Products",
    ("aws", "spot"): "workers.prices.aws:Spot",
    ("gcp", "on_demand"): "workers.prices.gcp:Catalog",
    ("azure", "on_demand"): "workers.prices.azure:RetailPrices",
    ("hetzner", "on_demand"): "workers.prices.hetzner:ServerTypes",
    ("digitalocean", "on_demand"): "workers.prices.digitalocean:Sizes",
    ("linode", "on_demand"): "workers.prices.linode:Types",
}
"""As in domain.price_feeds, but for the exchange rates, which are no prices."""


def source(provider: str, kind: str) -> Source:
    """The fetcher; KeyError for one that does not exist."""
    path, _, name = SOURCES[provider, kind].partition(":")
    made: Source = getattr(import_module(path), name)()
    return made
