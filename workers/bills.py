"""Reads the files of bills that people sent, one after the other, in one process at a time."""

import logging

from backend.bills.models import BillUpload
from backend.bills.selectors.bills import uploads_waiting
from backend.core.alone import alone

log = logging.getLogger(__name__)

# Five million lines take about two minutes.
TASK_S = 1_800
# Of PostgreSQL, for this database: reading takes memory, and its queue is that of price lists.
LOCK = 0x52_52_42_4C


def read_waiting() -> int:
    """Read all that wait; returns how many were tried. Does nothing while another process does."""
    # Here, as it loads a library of 100 MB that no other task needs.
    from backend.bills.services.importing import upload_read

    tried = 0
    with alone(LOCK) as is_alone:
        while is_alone and (upload := uploads_waiting().first()) is not None:
            tried += 1
            upload_read(upload=upload)
            _log(upload)
    return tried


def _log(upload: BillUpload) -> None:
    upload.refresh_from_db()
    log.info("bill %s: %s %s", upload.pk, upload.state, upload.failure)
