"""Framed output of fio_local: a local disk of a rented machine, which is measured beside its volume."""

from dataclasses import replace

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text
from backend.foundation.units import BYTES_PER_GIB
from backend.measure.readers import ParsedSample, fio
from backend.measure.readers.document import shown
from backend.measure.readers.frames import counts, key_values, sections

PREFIX = "local"
KEYS = ("volume", "volume_bytes", "volume_count")


def parse(text: str) -> list[ParsedSample]:
    """Samples as those of fio, of variants `local_<block>_qd<depth>`, with the disk as their volume.

    `local_disks` is how many equal ones the machine has; one of them is measured. ProbeError.
    """
    parts = sections(fio.TOOL, check_text(fio.TOOL, text))
    if [section.name for section in parts] != ["conditions", fio.TOOL]:
        raise ProbeError(fio.TOOL, "not the sections conditions and fio", 1)
    conditions, output = parts
    values = key_values(fio.TOOL, conditions, (*fio.KEYS, *KEYS), fio.OPTIONAL_KEYS)
    known = counts(fio.TOOL, conditions, values, ("volume_bytes", "volume_count"))
    size_gib = known["volume_bytes"] // BYTES_PER_GIB
    described = {
        "volume": {"type": shown(values["volume"]), "size_gib": size_gib},
        "local_disks": known["volume_count"],
    }
    return [
        replace(sample, parameters={**sample.parameters, **described})
        for sample in fio.build_samples(conditions, output, prefix=PREFIX, more_keys=KEYS)
    ]
