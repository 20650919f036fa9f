"""`manage.py import_offers FILE.csv`: offers of one's own."""

from backend.catalog.management.tables import OwnTableCommand


class Command(OwnTableCommand):
    help = "Import offers of one's own from a CSV table: good lines are stored, bad ones reported."
    kind = "offers"
