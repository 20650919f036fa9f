"""CPUs and memory of Azure's sizes, which its price list does not state, by their names.

Memory is the size that Microsoft sells, and not the 2 % less that a guest sees. After the tables of sizes
on learn.microsoft.com/azure/virtual-machines/sizes: D, E and DC sizes agree with stored lists, those of
HB, FX and M were entered by hand on 2026-11-28.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from backend.foundation.units import BYTES_PER_GIB

# Standard_E8-4ds_v5: family E, 8 vCPUs of which 4 are left, features ds, version 5.
SIZE = re.compile(
    r"Standard_(?P<family>[A-Z]+)(?P<number>[0-9]+)(?:-(?P<active>[0-9]+))?"
    r"(?P<features>[a-z]*)(?:_v(?P<version>[0-9]+))?$"
)


class MemoryRatio(NamedTuple):
    """GiB for each vCPU, without and with the feature l (low memory)."""

    usual: int
    low: int | None = None


RATIOS: Mapping[tuple[str, int], MemoryRatio] = {
    **{("D", version): MemoryRatio(4, low=2) for version in (3, 4, 5, 6, 7)},
    **{("E", version): MemoryRatio(8) for version in (3, 4, 5, 6, 7)},
    ("DC", 2): MemoryRatio(4),
    ("DC", 3): MemoryRatio(8),
    ("F", 2): MemoryRatio(2),
    ("FX", 1): MemoryRatio(21),
    ("FX", 2): MemoryRatio(21),
    **{("L", version): MemoryRatio(8) for version in (2, 3)},
}
# Above it a family's largest sizes have less than their ratio, each in its own way.
LARGEST_WITH_RATIO: Mapping[str, int] = {"D": 96, "E": 48, "FX": 48}
# The ones that break it, and series that have none; without the count of constrained CPUs.
GIB: Mapping[str, float] = {
    **{f"D64{features}_v5": 208 for features in ("ps", "pds")},
    **{f"E32{features}_v5": 208 for features in ("ps", "pds")},
    "E64_v3": 432,
    "E64s_v3": 432,
    "E64_v4": 504,
    "E64s_v4": 504,
    "E64d_v4": 504,
    "E64ds_v4": 504,
    **{f"E64{features}_v4": 512 for features in ("a", "as")},
    **{f"E64{features}_v5": 512 for features in ("", "s", "d", "ds", "as", "ads", "bs", "bds")},
    **{f"E96{features}_v4": 672 for features in ("a", "as", "ias")},
    **{f"E96{features}_v5": 672 for features in ("", "s", "d", "ds", "as", "ads", "bs", "bds")},
    **{f"E96{features}_v5": 672 for features in ("ias", "iads")},
    **{f"E104{features}_v5": 672 for features in ("i", "is", "id", "ids")},
    **{f"E112{features}_v5": 672 for features in ("ias", "iads", "ibs", "ibds")},
    "HB60rs": 228,
    "HB120rs_v2": 456,
    "HB120rs_v3": 448,
    "HC44rs": 352,
    "M8ms": 218.75,
    **{f"M32{features}_v2": 875 for features in ("ms", "dms")},
    **{f"M64{features}_v2": 1024 for features in ("s", "ds")},
    **{f"M64{features}_v2": 1792 for features in ("ms", "dms")},
    **{f"M128{features}_v2": 2048 for features in ("s", "ds")},
    **{f"M128{features}_v2": 3892 for features in ("ms", "dms")},
    **{f"M192{features}_v2": 2048 for features in ("is", "ids")},
    **{f"M192{features}_v2": 4096 for features in ("ims", "idms")},
}


def size_figures(machine_type: str) -> Mapping[str, Any]:
    """vCPUs and memory of a size by its name; empty for sizes that no rule covers."""
    size = SIZE.match(machine_type)
    gib = _gib(size) if size else None
    if size is None or gib is None:
        return {}
    vcpus = Decimal(size["active"] or size["number"])
    return {"vcpu_count": vcpus, "memory_bytes": int(gib * BYTES_PER_GIB)}


def _gib(size: re.Match[str]) -> float | None:
    version = f"_v{size['version']}" if size["version"] else ""
    known = GIB.get(f"{size['family']}{size['number']}{size['features']}{version}")
    ratio = RATIOS.get((size["family"], int(size["version"] or 1)))
    vcpus = int(size["number"])
    if known is not None or ratio is None:
        return known
    if vcpus > LARGEST_WITH_RATIO.get(size["family"], vcpus):
        return None
    per_vcpu = ratio.low if "l" in size["features"] else ratio.usual
    return per_vcpu and vcpus * per_vcpu
