"""Takes in the archive of a run that was measured by another Rackrate."""

import gzip
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from uuid import UUID, uuid5

from django.db import IntegrityError, transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.accounts.services.workspaces import demand_owner
from backend.benchmarks.calc.archived_run import ArchivedRun, ArchiveRefused, RunFacts, SampleEntry
from backend.benchmarks.models import Event, Evidence, Host, Run, Sample, Source
from backend.benchmarks.services.archive_reading import (
    ArchivedOutput,
    CheckedRun,
    Key,
    read_archive,
)
from backend.benchmarks.services.evidence_objects import objects_forget
from backend.benchmarks.services.hosts import ARCHIVE_DRIVER
from backend.benchmarks.services.imports import OUTLIER, AlreadyImported
from backend.benchmarks.services.queue_lock import schedule_lock
from backend.benchmarks.services.results import memory_figures_flag, sample_row, with_web_store
from backend.benchmarks.services.summaries import summaries_refresh
from backend.catalog.models import Offer
from backend.catalog.services.data_version import data_version_bump
from backend.foundation.errors import InvalidValue, ProbeError
from backend.measure.readers import ParsedSample, inventory
from backend.measure.repeats import flags_by_sample, output_of

INVENTORY = "inventory"


def run_import(*, workspace: Workspace, offer: Offer, content: bytes, actor: str) -> Run:
    """Store an archived run under its own id, for an offer, its samples marked imported.

    Every checksum is verified and every raw output is read again: samples that differ from what the
    text says are refused. The host that it contains is one that nothing can be run on. Raises
    ArchiveRefused naming what is wrong, AlreadyImported for a run that is there, NotOwned for an
    offer that this workspace only sees.
    """
    demand_owner(workspace, offer)
    # Checked before anything is locked: nobody waits while megabytes are unpacked and read again.
    checked = read_archive(content)
    try:
        with transaction.atomic():
            return _store(workspace, offer, checked, actor)
    # The lock is of one workspace: an import into another may have stored the run meanwhile.
    except IntegrityError as error:
        run_id = checked.document.run.id
        if Run.objects.filter(pk=run_id).exists():
            raise _already(run_id) from error
        raise


@transaction.atomic
def archived_run_delete(*, workspace: Workspace, run: Run, actor: str) -> None:
    """Delete a run that came as an archive, with its evidence and samples, and its host with the
    last one. Raises InvalidValue for a run that was made here."""
    schedule_lock(workspace_id=workspace.pk)
    host = run.host
    if host.driver != ARCHIVE_DRIVER:
        raise InvalidValue("/run", "a run that was made here stays: leave its samples out")
    detail = {"offer": run.offer.slug, "host": host.name, "samples": run.samples.count()}
    audit_record(actor=actor, action="run_delete", target=run, detail=detail)
    objects_forget(run.evidence.all())
    run.delete()
    if not host.runs.exists():
        host.delete()
    summaries_refresh()
    data_version_bump()


def _already(run_id: UUID) -> AlreadyImported:
    return AlreadyImported(f"the run {run_id} is already here")


def _store(workspace: Workspace, offer: Offer, checked: CheckedRun, actor: str) -> Run:
    schedule_lock(workspace_id=workspace.pk)
    document = checked.document
    if Run.objects.filter(pk=document.run.id).exists():
        raise _already(document.run.id)
    try:
        host = _host(workspace, offer, checked)
        run = _run(workspace, offer, host, document.run, actor)
        for output in checked.outputs:
            _store_output(run, output, checked.samples)
        memory_figures_flag(run=run)
        with_web_store(run=run)
    except ProbeError as error:
        raise ArchiveRefused(str(error)) from error
    _store_events(run, document, actor)
    audit_record(
        actor=actor,
        action="run_import",
        target=run,
        detail={"offer": offer.slug, "host": host.name, "samples": len(document.samples)},
    )
    summaries_refresh()
    data_version_bump()
    return run


def _host(workspace: Workspace, offer: Offer, checked: CheckedRun) -> Host:
    """The machine, once for all archives of it: it has its own spread between repeats."""
    archived = checked.document.host
    # Of workspace and offer, too: their results must never mix on one host.
    pk = uuid5(archived.id, f"{workspace.pk} {offer.pk}")
    facts = next(
        (_facts(output) for output in checked.outputs if output.entry.probe == INVENTORY), {}
    )
    host = Host.objects.filter(pk=pk).first()
    if host is None:
        host = Host(pk=pk, workspace=workspace, offer=offer, driver=ARCHIVE_DRIVER)
        host.name = _free_name(workspace, archived.name)
    # An archive without an inventory leaves what an earlier one of the machine showed.
    host.facts = facts or host.facts
    host.save()
    return host


def _facts(output: ArchivedOutput) -> dict[str, Any]:
    if output.entry.exit_code != 0 or output.entry.error:
        return {}
    return asdict(inventory.parse(output_of(output.raw.decode())))


def _free_name(workspace: Workspace, original: str) -> str:
    taken = set(Host.objects.filter(workspace=workspace).values_list("name", flat=True))
    number, name = 1, f"{original[:80]} (archive)"
    while name in taken:
        number += 1
        name = f"{original[:80]} (archive {number})"
    return name


def _run(workspace: Workspace, offer: Offer, host: Host, archived: RunFacts, actor: str) -> Run:
    run = Run.objects.create(
        pk=archived.id,
        workspace=workspace,
        host=host,
        offer=offer,
        outcome=archived.state,
        progress_ratio=1 if archived.state == "done" else 0,
        requested_by=f"{actor} (archive)"[:150],
        **archived.model_dump(exclude={"id", "created_at"}),
    )
    # Set by the model itself when it is made.
    run.created_at = archived.created_at
    run.save(update_fields=["created_at"])
    return run


def _store_output(run: Run, output: ArchivedOutput, stated: Mapping[Key, SampleEntry]) -> None:
    entry = output.entry
    evidence = Evidence.objects.create(
        run=run,
        raw_gzip=gzip.compress(output.raw, mtime=0),
        size_bytes=len(output.raw),
        **entry.model_dump(exclude={"text", "base64"}),
    )
    Sample.objects.bulk_create(
        [
            _sample(run, evidence, output, sample, stated[key])
            for sample in output.samples
            if (key := (sample.metric, sample.variant, entry.repeat)) in stated
        ],
        ignore_conflicts=True,
    )


def _sample(
    run: Run, evidence: Evidence, output: ArchivedOutput, sample: ParsedSample, stated: SampleEntry
) -> Sample:
    """Its flags are what the evidence gives today: the archive may be of an older version."""
    flags = flags_by_sample(evidence.probe, output.samples, evidence.conditions, stated.flags)
    return sample_row(
        evidence,
        sample,
        offer=run.offer,
        host=run.host,
        run=run,
        flags=[
            *flags[sample.metric, sample.variant],
            *(flag for flag in stated.flags if flag == OUTLIER),
        ],
        source=Source.IMPORTED,
        method_version=stated.method_version,
        measured_at=stated.measured_at,
        excluded_reason=stated.excluded_reason,
    )


def _store_events(run: Run, document: ArchivedRun, actor: str) -> None:
    entries = document.events
    events = Event.objects.bulk_create(
        [Event(run=run, kind=entry.kind, detail=entry.detail) for entry in entries]
    )
    for event, entry in zip(events, entries, strict=True):
        event.at = entry.at
    # The column takes the time of its making by itself, whatever it is given.
    Event.objects.bulk_update(events, ["at"])
    if price := document.price:
        # Their price is no observation of ours: it is noted for people and counts nowhere.
        detail = f"in force there: {price.amount} {price.currency} {price.unit}"
        run.events.create(kind="price", detail=detail)
    run.events.create(kind="imported", detail=f"from an archive by {actor}")
