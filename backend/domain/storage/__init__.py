"""What disks and links can deliver: arrays, ZFS's ways with space, and presets with sources."""

from backend.domain.storage.arrays import (
    LEVELS,
    Array,
    Capacity,
    Disk,
    Estimate,
    Throughput,
    estimate,
)
from backend.domain.storage.presets import (
    AGGREGATIONS,
    EFFICIENCIES,
    PRESETS,
    Aggregate,
    Aggregation,
    Efficiency,
    Preset,
    aggregate,
    efficiency_ratio,
)
from backend.domain.storage.zfs import (
    Allocation,
    PoolRules,
    draid_allocation,
    raidz_allocation,
)

__all__ = [
    "AGGREGATIONS",
    "EFFICIENCIES",
    "LEVELS",
    "PRESETS",
    "Aggregate",
    "Aggregation",
    "Allocation",
    "Array",
    "Capacity",
    "Disk",
    "Efficiency",
    "Estimate",
    "PoolRules",
    "Preset",
    "Throughput",
    "aggregate",
    "draid_allocation",
    "efficiency_ratio",
    "estimate",
    "raidz_allocation",
]
