"""Performance of disks, links and memory: arrays, ZFS's use of space, chains, presets."""

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
from backend.domain.storage.memory import Memory, Population, population, slowdowns
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
    CURRENT,
    GENERATIONS,
    Allocation,
    Generation,
    PoolRules,
    draid_allocation,
    ext4_available_bytes,
    raidz_allocation,
)

__all__ = [
    "AGGREGATIONS",
    "CURRENT",
    "EFFICIENCIES",
    "GENERATIONS",
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
    "Generation",
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
    "ext4_available_bytes",
    "population",
    "raidz_allocation",
    "slowdowns",
]
