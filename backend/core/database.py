"""Errors of the database that are no defect of ours."""

from django.db import Error, InterfaceError, OperationalError

# Classes of PostgreSQL: connections, insufficient resources, operator intervention, system errors
# (its manual, appendix "PostgreSQL Error Codes").
AWAY_CLASSES = frozenset({"08", "53", "57", "58"})
# A statement that takes too long is one of ours.
QUERY_CANCELED = "57014"


def is_database_away(error: BaseException) -> bool:
    """True where the database is gone, shuts down or writes nothing, as on a full disk."""
    if not isinstance(error, Error):
        return False
    state = getattr(error.__cause__, "sqlstate", None)
    if state is None:  # the connection was lost, so nobody said why
        return isinstance(error, OperationalError | InterfaceError)
    return state[:2] in AWAY_CLASSES and state != QUERY_CANCELED
