"""Raw output of runs, checked against its hash."""

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Mapping

from django.conf import settings
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet

from backend.accounts.models import Workspace
from backend.benchmarks.models import Evidence, Run
from backend.benchmarks.selectors.redaction import NOTHING_HIDDEN, Redaction
from backend.core import object_store

# The error of a probe that cannot be measured on the host begins so; it fails no run.
NOT_AVAILABLE = "not available: "


class TextDeleted(Exception):
    """The text was older than it is kept; its samples, checksum and conditions stay."""


class EvidenceDamaged(Exception):
    """The stored text is not the one that was measured: its checksum differs."""


def evidence_listed(evidence: QuerySet[Evidence]) -> QuerySet[Evidence]:
    """Evidence without its texts and series, which are large; with `has_series`."""
    has_series = ExpressionWrapper(Q(series__isnull=False), output_field=BooleanField())
    return evidence.defer("raw_gzip", "series").annotate(has_series=has_series)


def evidence_visible(workspace: Workspace) -> QuerySet[Evidence]:
    """Evidence of its runs, and imported texts of public offers and of its own."""
    is_visible = Q(offer__workspace=None) | Q(offer__workspace=workspace)
    visible = Evidence.objects.filter(is_visible | Q(run__workspace=workspace))
    return visible.select_related("offer__provider", "run").exclude(offer=None, run=None)


def evidence_with_series(run: Run, probes: Iterable[str]) -> QuerySet[Evidence]:
    """Series of these probes in their order, without the texts."""
    seen = Evidence.objects.filter(run=run, probe__in=probes, series__isnull=False)
    return seen.order_by("n").only("n", "run_id", "probe", "variant", "series")


def evidence_shown(item: Evidence, redaction: Redaction) -> Evidence:
    """The same evidence, not to be saved, without addresses in its command, error and conditions."""
    item.command = redaction.message(item.command)
    item.error = redaction.message(item.error)
    item.conditions = redaction.value(item.conditions)
    return item


def result_file_hashes(run: Run) -> dict[int, Mapping[str, str]]:
    """Hashes of the files of each stored result of the run, by its number.

    Results with an error are left out: what failed is read and judged once more.
    """
    is_clean = Q(error="") | Q(error__startswith=NOT_AVAILABLE)
    return dict(run.evidence.filter(is_clean).values_list("n", "file_hashes"))


def evidence_series(evidence: Evidence) -> dict[str, list[float | None]] | None:
    """Observations beside the command, one a second: column → values; None where there are none."""
    return evidence.series if isinstance(evidence.series, dict) else None


def evidence_raw(evidence: Evidence) -> bytes:
    """The complete raw output.

    Raises EvidenceDamaged when its checksum differs, TextDeleted and StoreAway.
    """
    key = evidence.object_key
    if not key and not evidence.raw_gzip:
        raise TextDeleted(
            f"the text of evidence {evidence.n} was deleted: texts of runs of which no sample"
            f" counts are kept {settings.RETAIN_EVIDENCE_DAYS} days (RETAIN_EVIDENCE_DAYS)"
        )
    content = _gunzip(object_store.get(key) if key else bytes(evidence.raw_gzip))
    if content is None or hashlib.sha256(content).hexdigest() != evidence.sha256:
        raise EvidenceDamaged(f"evidence {evidence.n} of run {evidence.run_id}")
    return content


def _gunzip(content: bytes) -> bytes | None:
    """None where it is no compressed text, or a part of one."""
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error):
        return None


def evidence_text(evidence: Evidence, redaction: Redaction = NOTHING_HIDDEN) -> str:
    """The complete raw output, for strangers without addresses; raises as `evidence_raw`."""
    content = evidence_raw(evidence)
    # Tools print what they like. The stored bytes stay; only what is shown has a mark for no UTF-8.
    return redaction.evidence(evidence, content.decode(errors="replace"))
