"""`manage.py import_quotes FILE.csv`: quotes for dedicated servers."""

from backend.catalog.management.tables import OwnTableCommand
from backend.catalog.services.quotes import quotes_import


class Command(OwnTableCommand):
    help = "Import quotes for dedicated servers from a CSV table: good lines are stored, bad ones reported."
    service = staticmethod(quotes_import)
