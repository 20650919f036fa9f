"""A finished run as one JSON document: its facts, samples and events, and every raw output.

The same run gives the same bytes. Where the host is and who logs in there stays out of everything
but what tools printed.
"""

import json
from typing import Any

from django.db.models import Model
from pydantic import BaseModel

from backend.benchmarks.calc.archived_run import (
    SCHEMA,
    EventEntry,
    EvidenceEntry,
    PriceFacts,
    RunFacts,
    SampleEntry,
    write_output,
)
from backend.benchmarks.models import Run
from backend.benchmarks.selectors.evidence import evidence_raw
from backend.benchmarks.selectors.redaction import Redaction, run_redaction
from backend.catalog.models import Offer, PriceObservation
from backend.catalog.selectors.read_prices import as_quoted
from backend.foundation.errors import DomainError


class RunNotFinished(DomainError):
    """Only a run that has ended can be taken along."""


class AddressesInOutputs(DomainError):
    """Checksums bind what tools printed, so that no address can be taken out of it."""


def run_archive(run: Run, *, is_for_strangers: bool = False) -> bytes:
    """The document of a finished run, as JSON.

    Raises RunNotFinished, EvidenceDamaged when a stored text is not the one measured, and for
    strangers AddressesInOutputs where a tool printed addresses.
    """
    if not run.is_finished:
        raise RunNotFinished(f"the run is {run.state}: only a finished run has an archive")
    redaction = run_redaction(run)
    evidence = []
    for item in run.evidence.order_by("n"):
        raw = evidence_raw(item)
        # The text goes in as it was measured, for its checksum binds it; so strangers are refused.
        text = raw.decode(errors="replace")
        if is_for_strangers and redaction.evidence(item, text) != text:
            raise AddressesInOutputs("what its tools printed holds addresses: sign in to take it")
        said = {name: redaction.message(getattr(item, name)) for name in ("command", "error")}
        entry = _part(item, EvidenceEntry, **said)
        evidence.append(redaction.value(entry) | write_output(raw))
    document = redaction.value(_run_document(run, redaction)) | {"evidence": evidence}
    # Sorted, so that the same run gives the same bytes; NaN is no JSON, and other readers refuse it.
    text = json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def archive_name(run: Run) -> str:
    """File name of a download."""
    return f"rackrate-run-{run.pk}.json"


def _run_document(run: Run, redaction: Redaction) -> dict[str, Any]:
    # What no output states (the start time of a rented machine) could not be checked.
    samples = run.samples.filter(evidence__isnull=False).select_related("evidence")
    return {
        "schema": SCHEMA,
        "run": _part(
            run,
            RunFacts,
            parameters=redaction.parameters(run.parameters),
            failure_detail=redaction.message(run.failure_detail),
        ),
        "host": {"id": str(run.host_id), "name": run.host.name, "facts": run.host.facts},
        "offer": _offer_document(run.offer),
        "price": _price_document(run.price) if run.price else None,
        "samples": [
            _part(sample, SampleEntry, evidence=sample.evidence and sample.evidence.n)
            for sample in samples.defer("evidence__raw_gzip").order_by(
                "metric", "variant", "repeat"
            )
        ],
        "events": [
            _part(event, EventEntry, detail=redaction.message(event.detail))
            for event in run.events.order_by("id")
            if event.kind != "created"  # names who asked for it
        ],
    }


def _part(row: Model, part: type[BaseModel], **given: Any) -> dict[str, Any]:
    """A part of the document, as JSON: columns of a row that have its names, and what is given."""
    names = [name for name in part.model_fields if name not in given and hasattr(row, name)]
    values = {name: getattr(row, name) for name in names} | given
    return part.model_construct(**values).model_dump(mode="json", include=set(values))


def _offer_document(offer: Offer) -> dict[str, Any]:
    return {
        "slug": offer.slug,
        "name": offer.name,
        "provider": offer.provider.slug,
        "region": offer.region.code if offer.region else None,
        "kind": offer.kind,
        "arch": offer.arch or None,
        "cpu_model": offer.cpu_model or None,
        "vcpu_count": None if offer.vcpu_count is None else str(offer.vcpu_count),
        "memory_bytes": offer.memory_bytes,
    }


def _price_document(price: PriceObservation) -> dict[str, Any]:
    setup = price.setup_amount
    return _part(
        price,
        PriceFacts,
        amount=format(as_quoted(price.amount), "f"),
        setup=None if setup is None else format(as_quoted(setup), "f"),
    )
