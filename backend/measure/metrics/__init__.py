"""The metrics: what each measures, in which unit, which way is better, and what it cannot say.

Keys never change. The canonical variant of a key is the one that ranks; the fallbacks follow in
order where it is missing; every other variant is kept and charted only.
"""

from collections.abc import Mapping
from types import MappingProxyType

from backend.foundation.errors import InvalidValue
from backend.measure.metrics import own, spare_cores
from backend.measure.metrics.kinds import (
    BURSTABLE_CPU_CV,
    CPU_CV,
    CPU_TARGET,
    SHARED_VCPU_KINDS,
    SHARING_OFFER_KINDS,
    Metric,
)

__all__ = [
    "BESIDE",
    "BURSTABLE_CPU_CV",
    "CPU_CV",
    "CPU_METRICS",
    "CPU_TARGET",
    "METRICS",
    "OWN_METRICS",
    "SHARED_VCPU_KINDS",
    "Metric",
    "between_instance_cv",
    "metric",
    "resource",
    "shares_cpus",
]

CPU_METRICS = frozenset({*own.CPU_METRICS, *spare_cores.CPU_METRICS})
METRICS: Mapping[str, Metric] = MappingProxyType(
    {metric.key: metric for metric in (*own.OWN, *spare_cores.SPARE_CORES)}
)
# First words of the keys of metrics of disks.
DISK_SUBJECTS = ("disk", "dd", "small", "fsync")
# Variants that are shown beside the one that ranks, and take no rank.
# One stream at depth one understates what takes many requests at a time, a small file what comes after the caches, and
# a volume over the network what the machine's own disks do.
BESIDE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "disk_read_bytes_per_s": ("fio_1m_qd8", "local_1m_qd8"),
        "disk_write_bytes_per_s": ("fio_1m_qd8", "steady_1m_qd8", "local_1m_qd8"),
        "disk_rand_read_iops": ("steady_4k_qd32", "local_4k_qd32"),
        "disk_rand_write_iops": ("steady_4k_qd32", "local_4k_qd32"),
    }
)
# Those that our own probes and imports know; the others come with the data of others.
OWN_METRICS = frozenset(metric.key for metric in own.OWN)


def metric(key: str) -> Metric:
    """The metric of this key. Raises InvalidValue for another."""
    try:
        return METRICS[key]
    except KeyError:
        raise InvalidValue("metric", f"{key!r} is not a metric key") from None


def shares_cpus(vcpu_kind: str, offer_kind: str) -> bool:
    """True if other customers may use the same CPUs.

    `vcpu_kind` is "" where nobody states it: a cloud or VPS that does not say that its CPUs are
    dedicated is taken to share them. On other kinds of machines there is nobody to share with.
    """
    return vcpu_kind in SHARED_VCPU_KINDS or (not vcpu_kind and offer_kind in SHARING_OFFER_KINDS)


def between_instance_cv(measured: Metric, vcpu_kind: str, offer_kind: str) -> float:
    """The stated spread between machines of an offer (ratio); larger for CPUs that are shared."""
    if shares_cpus(vcpu_kind, offer_kind) and measured.key in CPU_METRICS:
        return max(BURSTABLE_CPU_CV, measured.between_instance_cv)
    return measured.between_instance_cv


def resource(measured: Metric) -> str:
    """Part of a machine that the metric depends on most: errors of one resource move together."""
    if measured.key in CPU_METRICS:
        return "cpu"
    if "mem" in measured.key:
        return "memory"
    subject = measured.key.split("_")[0]
    return "disk" if subject in DISK_SUBJECTS else subject
