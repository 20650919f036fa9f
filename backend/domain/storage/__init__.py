"""What disks, links and memory can deliver: arrays, ZFS's use of space, chains, presets."""

from backend.domain.storage.arrays import (
    LEVELS,
    Array,
    ArrayDisk,
    Capacity,
    Estimate,
    Throughput,
    estimate,
)
from backend.domain.storage.chains import Chain, Segment, chain_shares
from backend.domain.storage.memory import Memory, Population, population
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
    "ArrayDisk",
    "Capacity",
    "Chain",
    "Efficiency",
    "Estimate",
    "Memory",
    "PoolRules",
    "Population",
    "Preset",
    "Segment",
    "Throughput",
    "aggregate",
    "chain_shares",
    "draid_allocation",
    "efficiency_ratio",
    "estimate",
    "population",
    "raidz_allocation",
]
