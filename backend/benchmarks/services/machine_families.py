"""Families of machine types, by their names."""

import re

from backend.catalog.selectors.cpu_credits import credit_figures
from backend.providers.registry import provider

AZURE_SIZE = re.compile(
    r"Standard_(?P<family>[A-Z]+)[0-9]+(?:-[0-9]+)?(?P<features>[a-z]*)(?P<version>(?:_v[0-9]+)?)$"
)


def machine_family(provider_slug: str, machine_type: str) -> str:
    """Types that a provider runs on the same hosts; "" for a type that earns CPU credits.

    The figure of such a type depends on credits more than on its hosts.
    """
    if credit_figures(provider_slug, machine_type):
        return ""
    if size := AZURE_SIZE.match(machine_type):
        makers = "".join(letter for letter in "ap" if letter in size["features"])
        return f"azure {size['family']}{makers}{size['version']}"
    return f"{provider_slug} {provider(provider_slug).family_of(machine_type)}"
