"""Flags of stored samples made anew from their evidence: stolen time disturbs no more, and what
memory or zeros stood in for is flagged. Each run's history says what changed."""

import gzip
from collections import Counter

from django.db import migrations
from django.db.models import Q

from backend.domain.errors import DomainError
from backend.domain.parsing.importing import imported
from backend.domain.repeats import reparse, stored_flags

CHUNK = 200
MAX_LISTED = 20
KEPT = "outlier"
"""Decided from all repeats of a series; not in the evidence of one."""


def flags_make_anew(apps, schema_editor):
    evidence = apps.get_model("benchmarks", "Evidence").objects.filter(
        Q(samples__flags__contains=["disturbed"])
        | Q(probe__in=("dd", "network"))
        | Q(run=None, probe__in=("dd", "fio", "iperf3"))
    )
    changed, runs = Counter(), {}
    for item in evidence.order_by("pk").distinct().iterator(CHUNK):
        for sample, flags in _changes(item):
            change = f"{' '.join(sample.flags) or 'none'} → {' '.join(flags) or 'none'}"
            runs.setdefault(item.run_id, []).append(
                f"{sample.metric} {sample.variant}, repeat {sample.repeat}: {change}"
            )
            changed[change] += 1
            sample.flags = flags
            sample.save(update_fields=["flags"])
    event = apps.get_model("benchmarks", "Event")
    event.objects.bulk_create(
        event(run_id=run, kind="flags", detail=_detail(lines)) for run, lines in runs.items() if run
    )
    for change, count in changed.most_common():
        print(f"  flags made anew from the evidence: {count} samples, {change}")


def _detail(lines):
    more = len(lines) - MAX_LISTED
    return "\n".join([*lines[:MAX_LISTED], *([f"and {more} more"] if more > 0 else [])])


def _changes(item):
    """The samples whose flags are no longer right, with those that are."""
    try:
        derived = _derived(item)
    except (DomainError, UnicodeDecodeError):
        return  # of another version, which this one cannot read: it stays as it is
    for sample in item.samples.all():
        if (today := derived(sample)) is None:
            continue
        flags = [*today, *(flag for flag in sample.flags if flag == KEPT)]
        if set(flags) != set(sample.flags):
            yield sample, flags


def _derived(item):
    """Sample → its flags without those that are decided later; None where nothing is known."""
    text = gzip.decompress(item.raw_gzip).decode()
    if item.run_id is None:
        # What was stored before is refused today when its ends are one machine: it is flagged.
        known = {**item.conditions, **({"loopback": True} if item.probe == "iperf3" else {})}
        made = imported(item.probe, text, known).samples
        seen = {(sample.metric, sample.variant): sample.flags for sample in made}
        return lambda sample: seen.get((sample.metric, sample.variant))
    samples = reparse(item.probe, item.variant, text)
    return lambda sample: stored_flags(item.probe, samples, item.conditions, sample.flags).get(
        (sample.metric, sample.variant)
    )


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0008_notifications_moved")]

    operations = [migrations.RunPython(flags_make_anew, migrations.RunPython.noop)]
