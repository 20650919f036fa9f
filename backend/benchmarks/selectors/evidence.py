"""Raw output of runs, checked against its hash."""

import gzip
import hashlib

from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet

from backend.benchmarks.models import Evidence
from backend.benchmarks.selectors.redaction import NOTHING_HIDDEN, Redaction


class EvidenceDamaged(Exception):
    """The stored text is not the one that was measured: its checksum differs."""


def evidence_listed(evidence: QuerySet[Evidence]) -> QuerySet[Evidence]:
    """Evidence without its texts and series, which are large; with `has_series`."""
    has_series = ExpressionWrapper(Q(series__isnull=False), output_field=BooleanField())
    return evidence.defer("raw_gzip", "series").annotate(has_series=has_series)


def evidence_shown(item: Evidence, redaction: Redaction) -> Evidence:
    """The same evidence, not to be saved, without addresses in its command, error and conditions."""
    item.command = redaction.message(item.command)
    item.error = redaction.message(item.error)
    item.conditions = redaction.value(item.conditions)
    return item


def evidence_series(evidence: Evidence) -> dict[str, list[float | None]] | None:
    """What was seen once a second beside the command: column → values; None where nothing was."""
    return evidence.series if isinstance(evidence.series, dict) else None


def evidence_text(evidence: Evidence, redaction: Redaction = NOTHING_HIDDEN) -> str:
    """The complete raw output, for strangers without addresses; raises EvidenceDamaged when its
    checksum differs."""
    content = gzip.decompress(bytes(evidence.raw_gzip))
    if hashlib.sha256(content).hexdigest() != evidence.sha256:
        raise EvidenceDamaged(f"evidence {evidence.n} of run {evidence.run_id}")
    return redaction.evidence(evidence, content.decode(errors="replace"))
