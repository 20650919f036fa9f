"""Which installation this is: the mark on all that it rents.

A copy of the database has the same rows at another site, and so differs without anybody's doing.
PostgreSQL gives every cluster an identifier of its own and every database in it a number.
"""

from django.conf import settings
from django.db import connection

from backend.accounts.models import Installation


def installation_id() -> str:
    """Id of this site; a new one where the database is at another site."""
    site = _site()
    # After an adoption several rows have this site; the oldest, so that all workers mark alike.
    row = Installation.objects.filter(site=site).order_by("created_at", "id").first()
    return str((row or Installation.objects.create(site=site)).pk)


def own_installations() -> frozenset[str]:
    """Every installation whose machines are ours to end."""
    rows = Installation.objects.filter(site=_site())
    return frozenset(map(str, rows.values_list("pk", flat=True))) or frozenset({installation_id()})


def installation_adopt() -> int:
    """This database was moved here and its former site is no more: how many are ours now, too."""
    installation_id()
    return Installation.objects.exclude(site=_site()).update(site=_site())


def _site() -> str:
    # pg_dump takes along neither identifier nor number. A copy of PostgreSQL's own files has both;
    # there the setting makes the difference.
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT system_identifier, (SELECT oid FROM pg_database WHERE datname ="
            " current_database()) FROM pg_control_system()"
        )
        cluster, database = cursor.fetchone()
    return f"{cluster}/{database}/{settings.INSTALLATION}"
