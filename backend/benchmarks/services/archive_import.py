"""Takes in the archive of a run that was measured by another Rackrate."""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from uuid import UUID, uuid5

from django.db import IntegrityError, transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.accounts.services.workspaces import demand_owner
from backend.benchmarks.models import Event, Evidence, Host, Run, RunState, Sample, Source
from backend.benchmarks.services.archive_members import ArchiveRefused
from backend.benchmarks.services.archive_reading import (
    ArchivedEvidence,
    Key,
    Taken,
    identifier,
    moment_of,
    read_archive,
    short,
    small_object,
    within_limit,
    words,
)
from backend.benchmarks.services.evidence_objects import objects_forget
from backend.benchmarks.services.hosts import ARCHIVE_DRIVER
from backend.benchmarks.services.imports import OUTLIER, AlreadyImported
from backend.benchmarks.services.queue_lock import schedule_lock
from backend.benchmarks.services.results import memory_figures_flag, sample_row
from backend.benchmarks.services.summaries import summaries_refresh
from backend.catalog.models import Offer
from backend.catalog.services.data_version import data_version_bump
from backend.domain.errors import InvalidValue, ProbeError
from backend.domain.parsing import ParsedSample, inventory
from backend.domain.parsing.document import Node
from backend.domain.repeats import flags_by_sample, output_of

INVENTORY = "inventory"
MAX_EVENTS = 10_000


def run_import(*, workspace: Workspace, offer: Offer, content: bytes, actor: str) -> Run:
    """Store an archived run under its own id, for an offer, its samples marked imported.

    Every checksum is verified and every raw output is read again: samples that differ from what the
    text says are refused. The host that it contains is one that nothing can be run on. Raises
    ArchiveRefused naming what is wrong, AlreadyImported for a run that is there, NotOwned for an
    offer that this workspace only sees.
    """
    demand_owner(workspace, offer)
    # Checked before anything is locked: nobody waits while megabytes are unpacked and read again.
    taken = read_archive(content)
    try:
        with transaction.atomic():
            return _store(workspace, offer, taken, actor)
    # The lock is of one workspace: an import into another may have stored the run meanwhile.
    except IntegrityError as error:
        if Run.objects.filter(pk=taken.run_id).exists():
            raise _already(taken.run_id) from error
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


def _store(workspace: Workspace, offer: Offer, taken: Taken, actor: str) -> Run:
    schedule_lock(workspace_id=workspace.pk)
    if Run.objects.filter(pk=taken.run_id).exists():
        raise _already(taken.run_id)
    try:
        host = _host(workspace, offer, taken)
        run = _run(workspace, offer, host, taken, actor)
        for item in taken.items:
            _store_item(run, item, taken.samples)
        memory_figures_flag(run=run)
        _store_events(run, taken.root, actor)
    except ProbeError as error:
        raise ArchiveRefused(str(error)) from error
    audit_record(
        actor=actor,
        action="run_import",
        target=run,
        detail={"offer": offer.slug, "host": host.name, "samples": len(taken.samples)},
    )
    summaries_refresh()
    data_version_bump()
    return run


def _host(workspace: Workspace, offer: Offer, taken: Taken) -> Host:
    """The machine, once for all archives of it: it has its own spread between repeats."""
    node = taken.root.node("host")
    # Of workspace and offer, too: their results must never mix on one host.
    pk = uuid5(identifier(node, "id"), f"{workspace.pk} {offer.pk}")
    facts = next(
        (_facts(item) for item in taken.items if item.document.text("probe") == INVENTORY), {}
    )
    host = Host.objects.filter(pk=pk).first()
    if host is None:
        host = Host(pk=pk, workspace=workspace, offer=offer, driver=ARCHIVE_DRIVER)
        host.name = _free_name(workspace, short(node, "name", 100))
    # An archive without an inventory leaves what an earlier one of the machine showed.
    host.facts = facts or host.facts
    host.save()
    return host


def _facts(item: ArchivedEvidence) -> dict[str, Any]:
    if item.document.fields.get("exit_code") != 0 or item.document.fields.get("error"):
        return {}
    return asdict(inventory.parse(output_of(item.raw.decode())))


def _free_name(workspace: Workspace, original: str) -> str:
    taken = set(Host.objects.filter(workspace=workspace).values_list("name", flat=True))
    number, name = 1, f"{original[:80]} (archive)"
    while name in taken:
        number += 1
        name = f"{original[:80]} (archive {number})"
    return name


def _run(workspace: Workspace, offer: Offer, host: Host, taken: Taken, actor: str) -> Run:
    node = taken.root.node("run")
    probes = node.fields.get("probes")
    runner_s = None if node.is_null("runner_s") else node.number("runner_s")
    run = Run.objects.create(
        pk=taken.run_id,
        workspace=workspace,
        host=host,
        offer=offer,
        profile=short(node, "profile", 10),
        probes=None if probes is None else words(node, "probes"),
        parameters=small_object(node, "parameters"),
        state=node.text("state"),
        outcome=node.text("state"),
        progress_ratio=1 if node.text("state") == RunState.DONE else 0,
        runner_s=runner_s,
        failure_reason=short(node, "failure_reason", 20),
        failure_detail=short(node, "failure_detail", 10_000),
        requested_by=f"{actor} (archive)"[:150],
        started_at=None if node.is_null("started_at") else moment_of(node, "started_at"),
        finished_at=None if node.is_null("finished_at") else moment_of(node, "finished_at"),
    )
    # Set by the model itself when it is made.
    run.created_at = moment_of(node, "created_at")
    run.save(update_fields=["created_at"])
    return run


def _store_item(run: Run, item: ArchivedEvidence, sample_nodes: Mapping[Key, Node]) -> None:
    document = item.document
    exit_code = None if document.is_null("exit_code") else within_limit(document, "exit_code")
    evidence = Evidence.objects.create(
        run=run,
        n=item.n,
        probe=short(document, "probe", 20),
        variant=short(document, "variant", 40),
        repeat=item.repeat,
        command=short(document, "command", 10_000),
        tool_version=short(document, "tool_version", 100),
        conditions=small_object(document, "conditions"),
        series=item.series,
        exit_code=exit_code,
        error=short(document, "error", 10_000),
        raw_gzip=gzip.compress(item.raw, mtime=0),
        size_bytes=len(item.raw),
        sha256=hashlib.sha256(item.raw).hexdigest(),
    )
    Sample.objects.bulk_create(
        [
            _sample(run, evidence, item, sample, sample_nodes[key])
            for sample in item.samples
            if (key := (sample.metric, sample.variant, item.repeat)) in sample_nodes
        ],
        ignore_conflicts=True,
    )


def _sample(
    run: Run, evidence: Evidence, item: ArchivedEvidence, sample: ParsedSample, node: Node
) -> Sample:
    """Its flags are what the evidence gives today: the archive may be of an older version."""
    stated = words(node, "flags")
    flags = flags_by_sample(evidence.probe, item.samples, evidence.conditions, stated)
    return sample_row(
        evidence,
        sample,
        offer=run.offer,
        host=run.host,
        run=run,
        flags=[
            *flags[sample.metric, sample.variant],
            *(flag for flag in stated if flag == OUTLIER),
        ],
        source=Source.IMPORTED,
        method_version=short(node, "method_version", 80),
        measured_at=moment_of(node, "measured_at"),
        excluded_reason=short(node, "excluded_reason", 300),
    )


def _store_events(run: Run, root: Node, actor: str) -> None:
    nodes = root.nodes("events")
    if len(nodes) > MAX_EVENTS:
        root.fail(f"more than {MAX_EVENTS} events")
    events = Event.objects.bulk_create(
        [
            Event(run=run, kind=short(node, "kind", 30), detail=short(node, "detail", 10_000))
            for node in nodes
        ]
    )
    for event, entry in zip(events, nodes, strict=True):
        event.at = moment_of(entry, "at")
    # The column takes the time of its making by itself, whatever it is given.
    Event.objects.bulk_update(events, ["at"])
    if not root.is_null("price"):
        # Their price is no observation of ours: it is noted for people and counts nowhere.
        price = root.node("price")
        price_words = (price.text(key) for key in ("amount", "currency", "unit"))
        run.events.create(kind="price", detail=f"in force there: {' '.join(price_words)}"[:300])
    run.events.create(kind="imported", detail=f"from an archive by {actor}")
