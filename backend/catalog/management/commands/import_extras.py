"""`manage.py import_extras FILE.csv`: prices of disks, addresses and traffic."""

from backend.catalog.management.tables import TableCommand
from backend.catalog.services.extra_tables import extras_import


class Command(TableCommand):
    help = "Import prices of extras from a CSV table: good lines are stored, bad ones reported."
    service = staticmethod(extras_import)
