"""Texts of evidence in the object store: they go there with age, and end with their rows.

Their keys begin with the installation that wrote them: a copy of the database reads them all and
deletes none of another one.
"""

import datetime as dt
import logging
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from backend.accounts.services.installation import installation_id, own_installations
from backend.benchmarks.models import Evidence
from backend.core import object_store

log = logging.getLogger(__name__)
# Each waits for the network nearly all the time.
AT_ONCE = 8
# So many texts are held in memory.
MOST = 200


def text_is_deleted() -> Q:
    """Rows whose text was too old: even an empty text has a gzip header."""
    return Q(raw_gzip=b"", object_key="")


def evidence_in_database(before: dt.datetime) -> QuerySet[Evidence]:
    """Evidence to move to the object store; none where there is no store."""
    if not settings.EVIDENCE_STORE:
        return Evidence.objects.none()
    return Evidence.objects.filter(object_key="", created_at__lt=before).exclude(text_is_deleted())


def evidence_move(before: dt.datetime, size: int) -> int:
    """Move so many texts, oldest first; how many went. One that is not read back as it was written
    stays. Raises StoreAway with nothing lost: an object of the same name is written again."""
    oldest = evidence_in_database(before).order_by("created_at", "pk")
    keys = list(oldest.values_list("pk", flat=True)[:size])
    installation = installation_id()
    parts = (keys[start : start + MOST] for start in range(0, len(keys), MOST))
    return sum(_part_moved(part, installation) for part in parts)


def _part_moved(keys: list[int], installation: str) -> int:
    rows = Evidence.objects.filter(pk__in=keys)
    part = list(rows.only("pk", "run_id", "offer_id", "n", "sha256", "raw_gzip"))
    for row in part:
        row.object_key = f"{installation}/{_name(row)}"
    with ThreadPoolExecutor(AT_ONCE) as pool:
        is_there = list(pool.map(_store, part))
    moved = [row for row, there in zip(part, is_there, strict=True) if there]
    for row in moved:
        row.raw_gzip = b""
    return Evidence.objects.bulk_update(moved, ["object_key", "raw_gzip"])


def _store(row: Evidence) -> bool:
    content = bytes(row.raw_gzip)
    object_store.put(row.object_key, content)
    if object_store.get(row.object_key) == content:
        return True
    log.error("evidence %s stays in the database: the object store gave back another text", row.pk)
    return False


def _name(row: Evidence) -> str:
    # With its checksum: numbers of imported texts are not unique.
    return f"{row.run_id or f'offer-{row.offer_id}'}/{row.n:03d}-{row.sha256}.gz"


def objects_forget(evidence: QuerySet[Evidence]) -> None:
    """Delete the objects of rows that are about to be deleted, once that is certain."""
    stored = evidence.exclude(object_key="").values_list("object_key", flat=True)
    ours = own_installations()
    keys = [key for key in stored if key.partition("/")[0] in ours]
    if keys:
        transaction.on_commit(lambda: _delete(keys))


def _delete(keys: list[str]) -> None:
    try:
        object_store.delete(keys)
    except object_store.StoreAway as error:
        # They cost a little and hurt nobody; their rows are gone, so only the log names them.
        log.warning("%s objects stay behind: %s: %s", len(keys), error, " ".join(keys))
