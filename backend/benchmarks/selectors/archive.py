"""A finished run as one file: its facts, samples and events, every raw output, and checksums.

`run.json` · `evidence/<nnn>-<probe>-<variant>-<repeat>.txt` (raw output) and `.json` (command,
version, conditions, checksum) · `series/….json` · `MANIFEST.sha256`. The same run gives the same
bytes. Where the host is and who logs in there stays out of everything but what tools printed.
"""

import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Mapping
from typing import Any

from backend.benchmarks.models import Evidence, Run, Sample
from backend.benchmarks.selectors.evidence import evidence_raw
from backend.benchmarks.selectors.redaction import Redaction, run_redaction
from backend.catalog.models import Offer, PriceObservation
from backend.catalog.selectors.read_prices import as_quoted
from backend.domain.errors import DomainError

SCHEMA = 1
RUN = "run.json"
MANIFEST = "MANIFEST.sha256"
TAR_GZ = "tar.gz"
ZIP = "zip"
CONTENT_TYPES = {TAR_GZ: "application/gzip", ZIP: "application/zip"}
# Dates before 1980 do not exist in a zip file.
ZIP_DATE = (1980, 1, 1, 0, 0, 0)


class RunNotFinished(DomainError):
    """Only a run that has ended can be taken along."""


class AddressesInOutputs(DomainError):
    """Checksums bind what tools printed, so that no address can be taken out of it."""


def run_archive(run: Run, kind: str = TAR_GZ, *, is_for_strangers: bool = False) -> bytes:
    """The archive of a finished run, tar.gz or zip.

    Raises RunNotFinished, EvidenceDamaged when a stored text is not the one measured, and for
    strangers AddressesInOutputs where a tool printed addresses.
    """
    if not run.is_finished:
        raise RunNotFinished(f"the run is {run.state}: only a finished run has an archive")
    members = _members(run, is_for_strangers=is_for_strangers)
    listed = "".join(
        f"{hashlib.sha256(content).hexdigest()}  {name}\n"
        for name, content in sorted(members.items())
    )
    members[MANIFEST] = listed.encode()
    return _zip(members) if kind == ZIP else _tar_gz(members)


def archive_name(run: Run, kind: str = TAR_GZ) -> str:
    """File name of a download."""
    return f"rackrate-run-{run.pk}.{kind}"


def _members(run: Run, *, is_for_strangers: bool) -> dict[str, bytes]:
    redaction = run_redaction(run)
    members = {RUN: _json(redaction.value(_run_document(run)))}
    for evidence in run.evidence.order_by("n"):
        name = f"{evidence.n:03d}-{evidence.probe}-{evidence.variant}-{evidence.repeat}"
        raw = evidence_raw(evidence)
        text = raw.decode(errors="replace")
        # The text goes in as it was measured, for its checksum binds it; so strangers are refused
        # instead.
        if is_for_strangers and redaction.evidence(evidence, text) != text:
            raise AddressesInOutputs("what its tools printed holds addresses: sign in to take it")
        members[f"evidence/{name}.txt"] = raw
        members[f"evidence/{name}.json"] = _json(redaction.value(_evidence_document(evidence)))
        if evidence.series is not None:
            members[f"series/{name}.json"] = _json(evidence.series)
    return members


def _json(document: object) -> bytes:
    # Sorted, so that the same run gives the same bytes; NaN is no JSON, and other readers refuse
    # it.
    text = json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def _run_document(run: Run) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "run": {
            "id": str(run.pk),
            "profile": run.profile,
            "probes": run.probes,
            "parameters": Redaction().parameters(run.parameters),
            "state": run.state,
            "created_at": run.created_at.isoformat(),
            "started_at": run.started_at.isoformat() if run.started_at else None,
            "finished_at": run.finished_at.isoformat() if run.finished_at else None,
            "runner_s": run.runner_s,
            "failure_reason": run.failure_reason,
            "failure_detail": run.failure_detail,
        },
        # The id keeps repeats of one machine together where the archive is imported; no address
        # goes out.
        "host": {"id": str(run.host_id), "name": run.host.name, "facts": run.host.facts},
        "offer": _offer_document(run.offer),
        "price": _price_document(run.price) if run.price else None,
        "samples": [
            _sample_document(sample)
            # What no output states (the start time of a rented machine) could not be checked.
            for sample in run.samples.filter(evidence__isnull=False)
            .select_related("evidence")
            .defer("evidence__raw_gzip")
            .order_by("metric", "variant", "repeat")
        ],
        "events": [
            {"at": event.at.isoformat(), "kind": event.kind, "detail": event.detail}
            for event in run.events.order_by("id")
            if event.kind != "created"  # names who asked for it
        ],
    }


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
    return {
        "amount": format(as_quoted(price.amount), "f"),
        "currency": price.currency,
        "unit": price.unit,
        "purchase_model": price.purchase_model,
        "setup": None if price.setup_amount is None else format(as_quoted(price.setup_amount), "f"),
        "tax_basis": price.tax_basis,
        "source": price.source,
        "observed_at": price.observed_at.isoformat(),
    }


def _sample_document(sample: Sample) -> dict[str, Any]:
    return {
        "metric": sample.metric,
        "variant": sample.variant,
        "repeat": sample.repeat,
        "value": sample.value,
        "unit": sample.unit,
        "parameters": sample.parameters,
        "flags": sample.flags,
        "evidence": sample.evidence.n if sample.evidence else None,
        "measured_at": sample.measured_at.isoformat(),
        "method_version": sample.method_version,
        "excluded_reason": sample.excluded_reason,
    }


def _evidence_document(evidence: Evidence) -> dict[str, Any]:
    return {
        "n": evidence.n,
        "probe": evidence.probe,
        "variant": evidence.variant,
        "repeat": evidence.repeat,
        "command": evidence.command,
        "tool_version": evidence.tool_version,
        "conditions": evidence.conditions,
        "exit_code": evidence.exit_code,
        "error": evidence.error,
        "bytes": evidence.size_bytes,
        "sha256": evidence.sha256,
    }


def _tar_gz(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with (
        # gzip would write the time and a name of its own, and no two archives of a run would be equal.
        gzip.GzipFile(fileobj=buffer, mode="wb", filename="", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name, content in sorted(members.items()):
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _zip(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression=zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(members.items()):
            member = zipfile.ZipInfo(name, date_time=ZIP_DATE)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 3  # Unix, on whatever system this runs
            member.external_attr = 0o644 << 16
            archive.writestr(member, content)
    return buffer.getvalue()
