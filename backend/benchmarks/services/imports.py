"""Results that somebody imports; samples that a person leaves out; outliers that get marked."""

import datetime as dt
import gzip
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.db import transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.accounts.services.workspaces import demand_owner
from backend.benchmarks.models import Evidence, Run, Sample, Source, StoredSummary
from backend.benchmarks.selectors.samples import samples_visible
from backend.benchmarks.services.evidence_objects import objects_forget
from backend.benchmarks.services.results import sample_row
from backend.benchmarks.services.summaries import summaries_refresh
from backend.catalog.models import Offer, VcpuKind
from backend.catalog.selectors.offers import offers_visible
from backend.catalog.services.data_version import data_version_bump
from backend.core import clock
from backend.core.applying import Faults
from backend.foundation.errors import DomainError, InvalidDocument, InvalidValue, ProbeError
from backend.measure.outliers import outliers
from backend.measure.readers import ParsedSample
from backend.measure.readers.importing import Imported, read_text, takes

MAX_TEXT_BYTES = 8 * 2**20
MAX_REASON = 300
OUTLIER = "outlier"
MEMORY_BANDWIDTH = "memory_bandwidth_bytes_per_s"


class AlreadyImported(DomainError):
    """The same text, or the same run, is there already."""


@dataclass(frozen=True)
class Import:
    """An imported text: what is kept, and what its reader should know."""

    evidence: Evidence
    samples: Sequence[Sample]
    warnings: Sequence[str]


def result_import(
    *,
    workspace: Workspace,
    offer: Offer,
    tool: str,
    text: str,
    parameters: Mapping[str, object] | None,
    actor: str,
) -> Import:
    """Keep the text of a tool as evidence for the offer, with its samples, marked imported.

    Raises InvalidValue with a JSON pointer, ProbeError with the line, AlreadyImported for a text
    that the offer has, NotOwned for an offer that this workspace only sees.
    """
    demand_owner(workspace, offer)
    raw = check_text(text)
    known = import_parameters(offer, tool, parameters)
    # Read before the offer is locked: nobody waits while megabytes of text are gone through.
    parsed = read_text(tool, text, known)
    with transaction.atomic():
        # Two imports of one text wait for each other here.
        Offer.objects.select_for_update().get(pk=offer.pk)
        if already := _already(offer, hashlib.sha256(raw).hexdigest()):
            raise already
        return _store_import(
            workspace=workspace,
            offer=offer,
            tool=tool,
            raw=raw,
            known=known,
            parsed=parsed,
            actor=actor,
        )


@transaction.atomic
def results_import(
    *, workspace: Workspace, results: Sequence[Mapping[str, Any]], actor: str
) -> list[Import]:
    """Many of them, all or none; each has `offer` (a slug), `tool`, `text` and `parameters`.

    Raises InvalidDocument with everything that is wrong, NotOwned as result_import does.
    """
    slugs = {result["offer"] for result in results}
    offers = {offer.slug: offer for offer in offers_visible(workspace.slug).filter(slug__in=slugs)}
    faults, made = Faults(), []
    for index, item in enumerate(results):
        with faults.faults_at(f"/results/{index}"):
            slug = item["offer"]
            if slug not in offers:
                raise InvalidValue("/offer", f"no offer is called {slug!r}")
            try:
                given = {**item, "offer": offers[slug]}
                made.append(result_import(workspace=workspace, actor=actor, **given))
            except ProbeError as error:
                raise InvalidValue("/text", str(error)) from error
    if faults.errors:
        raise InvalidDocument(faults.errors)
    return made


def import_parameters(
    offer: Offer, tool: str, parameters: Mapping[str, object] | None
) -> dict[str, object]:
    """Stated parameters; else the offer's memory and what that was measured to carry, where known.

    Raises InvalidValue for what the offer contradicts.
    """
    known = dict(parameters or {})
    if known.get("credit_mode") and offer.vcpu_kind != VcpuKind.BURSTABLE:
        raise InvalidValue(
            "/parameters/credit_mode", f"{offer.slug} is not burstable, so it has no CPU credits"
        )
    if known.get("ram_bytes") is None and takes(tool, "ram_bytes"):
        # Without it nobody can say whether a disk test ran in the cache of its files.
        known["ram_bytes"] = offer.memory_bytes
    if known.get("memory_bytes_per_s") is None and takes(tool, "memory_bytes_per_s"):
        measured = StoredSummary.objects.filter(offer=offer, metric=MEMORY_BANDWIDTH)
        known["memory_bytes_per_s"] = measured.values_list("value", flat=True).first()
    return known


def check_text(text: str) -> bytes:
    """The text as it is kept; raises InvalidValue("/text") for one too long or no Unicode."""
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raise InvalidValue("/text", "not valid Unicode text") from None
    if len(raw) > MAX_TEXT_BYTES:
        most = MAX_TEXT_BYTES // 2**20
        raise InvalidValue("/text", f"{len(raw)} bytes are too many; {most} MiB are the most")
    return raw


def _already(offer: Offer, sha256: str) -> AlreadyImported | None:
    """The refusal of a text of which some figure counts."""
    existing = Evidence.objects.filter(offer=offer, run=None, sha256=sha256).first()
    if existing is None or not existing.samples.filter(excluded_reason="").exists():
        return None
    at = existing.created_at.astimezone(dt.UTC)
    return AlreadyImported(
        f"this text was already imported for {offer.slug} on {at:%Y-%m-%d %H:%M} UTC "
        f"as evidence {existing.pk}; to read it with other parameters, leave its figures out first"
    )


def _store_import(
    *,
    workspace: Workspace,
    offer: Offer,
    tool: str,
    raw: bytes,
    known: Mapping[str, object],
    parsed: Imported,
    actor: str,
) -> Import:
    sha256 = hashlib.sha256(raw).hexdigest()
    # A text whose figures a person left out may be read anew, with other parameters.
    evidence, _ = Evidence.objects.update_or_create(
        offer=offer,
        run=None,
        sha256=sha256,
        defaults={
            "n": 1,
            "probe": tool,
            "command": parsed.command,
            "tool_version": parsed.tool_version[:100],
            "conditions": {key: value for key, value in known.items() if value is not None},
            # Without the time of packing, so that the same text always gives the same bytes.
            "raw_gzip": gzip.compress(raw, mtime=0),
            "size_bytes": len(raw),
        },
    )
    samples = Sample.objects.bulk_create(_samples(offer, evidence, parsed.samples))
    audit_record(
        workspace=workspace,
        actor=actor,
        action="result_import",
        target=evidence,
        detail={"offer": offer.slug, "tool": tool, "sha256": sha256, "samples": len(samples)},
    )
    summaries_refresh()
    data_version_bump()
    return Import(evidence, samples, parsed.warnings)


def _samples(offer: Offer, evidence: Evidence, parsed: Sequence[ParsedSample]) -> list[Sample]:
    """Samples alike in metric and variant are repeats, in the order of the text."""
    seen: Counter[tuple[str, str]] = Counter()
    samples = []
    for sample in parsed:
        series = sample.metric, sample.variant
        samples.append(
            sample_row(
                evidence,
                sample,
                offer=offer,
                repeat=seen[series],
                flags=list(sample.flags),
                source=Source.IMPORTED,
                method_version=evidence.tool_version[:80],
                measured_at=clock.now(),
            )
        )
        seen[series] += 1
    return samples


@transaction.atomic
def import_delete(*, workspace: Workspace, evidence: Evidence, actor: str) -> None:
    """Delete a text that was imported with its figures; scores are calculated without them.

    Raises InvalidValue for evidence of a run, NotOwned for an offer that is only seen.
    """
    if evidence.offer is None:
        raise InvalidValue("/evidence", "evidence of a run stays: leave its samples out")
    demand_owner(workspace, evidence.offer)
    audit_record(
        workspace=workspace,
        actor=actor,
        action="import_delete",
        target=evidence,
        detail={
            "offer": evidence.offer.slug,
            "tool": evidence.probe,
            "sha256": evidence.sha256,
            "samples": evidence.samples.count(),
        },
    )
    objects_forget(Evidence.objects.filter(pk=evidence.pk))
    evidence.delete()
    summaries_refresh()
    data_version_bump()


@transaction.atomic
def sample_exclude(*, workspace: Workspace, sample: Sample, reason: str, actor: str) -> Sample:
    """Leave a sample out of every summary, for a person's reason; nothing is deleted.

    Raises InvalidValue("/reason") for a blank or too long one.
    """
    reason = reason.strip()
    if not reason or len(reason) > MAX_REASON or not reason.isprintable():
        raise InvalidValue("/reason", f"1 to {MAX_REASON} printable characters are needed")
    return _exclude(workspace, sample, reason, actor, "sample_exclude")


@transaction.atomic
def samples_mark(
    *, workspace: Workspace, reasons: Sequence[tuple[int, str | None]], actor: str
) -> None:
    """Leave samples out, each for its reason, or count those again that have none; all or none.

    Raises InvalidDocument with everything that is wrong, NotOwned as sample_exclude does.
    """
    known = samples_visible(workspace).in_bulk([pk for pk, _ in reasons])
    faults = Faults()
    for index, (pk, reason) in enumerate(reasons):
        with faults.faults_at(f"/samples/{index}"):
            if pk not in known:
                raise InvalidValue("/sample_id", f"there is no sample {pk}")
            sample = known[pk]
            if reason is None:
                sample_include(workspace=workspace, sample=sample, actor=actor)
                continue
            try:
                sample_exclude(workspace=workspace, sample=sample, reason=reason, actor=actor)
            except InvalidValue as error:
                raise InvalidValue("/excluded_reason", error.detail) from error
    if faults.errors:
        raise InvalidDocument(faults.errors)


@transaction.atomic
def sample_include(*, workspace: Workspace, sample: Sample, actor: str) -> Sample:
    """Count a sample again; one that counts stays as it is."""
    return _exclude(workspace, sample, "", actor, "sample_include")


def _exclude(workspace: Workspace, sample: Sample, reason: str, actor: str, action: str) -> Sample:
    demand_owner(workspace, sample)
    sample = Sample.objects.select_for_update().get(pk=sample.pk)
    if sample.excluded_reason == reason:
        return sample
    detail: dict[str, object] = {"reason": reason, "before": sample.excluded_reason}
    sample.excluded_reason = reason
    sample.save(update_fields=["excluded_reason"])
    audit_record(workspace=workspace, actor=actor, action=action, target=sample, detail=detail)
    summaries_refresh()
    data_version_bump()
    return sample


def outliers_mark(*, run: Run) -> int:
    """Flag the samples that stand far from the run's other repeats of their series; how many.

    They stay in every statistic: only a person leaves a sample out. Marking twice changes nothing.
    """
    samples = run.samples.order_by("metric", "variant", "repeat")
    marked = []
    for _, series in groupby(samples, lambda sample: (sample.metric, sample.variant)):
        repeats = list(series)
        for index in outliers([sample.value for sample in repeats]):
            if OUTLIER not in repeats[index].flags:
                repeats[index].flags.append(OUTLIER)
                marked.append(repeats[index])
    Sample.objects.bulk_update(marked, ["flags"])
    return len(marked)
