"""`manage.py import_offers FILE.csv`: offers of one's own."""

from backend.catalog.management.tables import OwnTableCommand
from backend.catalog.services.quotes import offers_import


class Command(OwnTableCommand):
    help = "Import offers of one's own from a CSV table: good lines are stored, bad ones reported."
    service = staticmethod(offers_import)
