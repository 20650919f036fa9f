"""The kinds of tables that people send."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from backend.catalog.services.price_tables import prices_import
from backend.catalog.services.quotes import TableReport, offers_import, quotes_import

TABLES: Mapping[str, Callable[..., TableReport]] = MappingProxyType(
    {"quotes": quotes_import, "offers": offers_import, "prices": prices_import}
)
