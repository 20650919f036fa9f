"""`manage.py import_quotes FILE.csv`: quotes for dedicated servers."""

from backend.catalog.management.tables import TableCommand
from backend.catalog.services.quotes import quotes_import


class Command(TableCommand):
    help = "Import quotes for dedicated servers from a CSV table: good lines are stored, bad ones reported."
    service = staticmethod(quotes_import)
