"""`manage.py import_extras FILE.csv`: prices of disks, addresses and traffic."""

from backend.catalog.extra_tables import extras_import
from backend.catalog.management.tables import TableCommand


class Command(TableCommand):
    help = "Import prices of extras from a CSV table: good lines are stored, bad told."
    service = staticmethod(extras_import)
