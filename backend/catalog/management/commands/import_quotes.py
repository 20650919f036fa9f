"""`manage.py import_quotes FILE.csv`: quotes for dedicated servers."""

from backend.catalog.management.tables import OwnTableCommand


class Command(OwnTableCommand):
    help = "Import quotes for dedicated servers from a CSV table: good lines are stored, bad ones reported."
    kind = "quotes"
