"""`manage.py import_price_table FILE`: the list of prices, read back."""

from backend.catalog.management.tables import OwnTableCommand


class Command(OwnTableCommand):
    help = "Compare and store the prices of one's own offers from a table as /api/v1/prices has it."
    kind = "prices"
