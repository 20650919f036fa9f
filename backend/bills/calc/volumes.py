"""Disks and traffic of a bill: how much of it a line charges for, where it counts bytes.

Only what every provider has a price for: disks of machines and traffic to the internet. Object
stores, snapshots, and traffic between zones and regions are other things at every provider.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction

UNIT = re.compile(
    r"^\s*(\d[\d,]*)?\s*(gb|gib|gibibyte|gigabyte|tb|tib)s?(?:\s*[-/ ]\s*(mo|month)s?)?\s*$",
    re.IGNORECASE,
)
GB_OF_UNIT: Mapping[str, Fraction] = {
    "gb": Fraction(1),
    "gigabyte": Fraction(1),
    "gib": Fraction(1024**3, 10**9),
    "gibibyte": Fraction(1024**3, 10**9),
    "tb": Fraction(1000),
    "tib": Fraction(1024**4, 10**9),
}
DISK_WORDS = re.compile(
    r"volumeusage|provisioned storage|\bpd capacity|persistent disk|block volume|managed disk|"
    r"block storage",
    re.IGNORECASE,
)
NO_DISK = re.compile(r"snapshot|performance unit|i/?ops|backup", re.IGNORECASE)
EGRESS_WORDS = re.compile(
    r"data transfer out|datatransfer-out|internet egress|outbound data transfer|"
    r"internet data transfer out|download worldwide",
    re.IGNORECASE,
)
NO_EGRESS = re.compile(
    r"cloudfront|inter-?region|inter zone|regional|\bbetween\b|data transfer in\b|\bxaz\b",
    re.IGNORECASE,
)


class BillVolume(StrEnum):
    """A volume that a bill counts in bytes and each target has a price for."""

    DISK = "disk"
    """GB of disks over a month."""
    EGRESS = "egress"
    """GB to the internet."""


def volume_of(words: Mapping[str, str]) -> tuple[BillVolume | None, Fraction]:
    """Volume of lines with these words, and the GB in one unit of their quantity; None for anything
    else."""
    match = UNIT.match(words.get("unit", ""))
    if match is None:
        return None, Fraction(0)
    each = int((match[1] or "1").replace(",", "")) * GB_OF_UNIT[match[2].lower()]
    names = ("service", "family", "description", "meter", "usage")
    said = " ".join(words.get(name, "") for name in names)
    if match[3] and DISK_WORDS.search(said) and not NO_DISK.search(said):
        return BillVolume.DISK, each
    # Some count traffic by the month as well.
    if EGRESS_WORDS.search(said) and not NO_EGRESS.search(said):
        return BillVolume.EGRESS, each
    return None, Fraction(0)
