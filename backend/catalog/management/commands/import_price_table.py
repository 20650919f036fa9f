"""`manage.py import_price_table FILE`: the list of prices, read back."""

from backend.catalog.management.tables import OwnTableCommand
from backend.catalog.services.price_tables import prices_import


class Command(OwnTableCommand):
    help = "Compare and store the prices of one's own offers from a table as /api/v1/prices has it."
    service = staticmethod(prices_import)
