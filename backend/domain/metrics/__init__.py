"""The metrics: what each measures, in which unit, which way is better, and what it cannot say.

Keys never change. The canonical variant of a key is the one that ranks; the fallbacks follow in
order where it is missing; every other variant is kept and charted only.
"""

from collections.abc import Mapping
from types import MappingProxyType

from backend.domain.errors import InvalidValue
from backend.domain.metrics import own, spare_cores
from backend.domain.metrics.kinds import (
    BURSTABLE_CPU_CV,
    CPU_CV,
    CPU_TARGET,
    SHARED_VCPU_KINDS,
    Metric,
)

__all__ = [
    "CPU_CV",
    "CPU_TARGET",
    "METRICS",
    "OWN_METRICS",
    "SHARED_VCPU_KINDS",
    "Metric",
    "between_instance_cv",
    "metric",
]

CPU_METRICS = frozenset({*own.CPU_METRICS, *spare_cores.CPU_METRICS})
METRICS: Mapping[str, Metric] = MappingProxyType(
    {metric.key: metric for metric in (*own.OWN, *spare_cores.SPARE_CORES)}
)
OWN_METRICS = frozenset(metric.key for metric in own.OWN)
"""Those that our own probes and imports know; the others come with the data of others."""


def metric(key: str) -> Metric:
    """The metric of this key. Raises InvalidValue for another."""
    try:
        return METRICS[key]
    except KeyError:
        raise InvalidValue("metric", f"{key!r} is not a metric key") from None


def between_instance_cv(measured: Metric, vcpu_kind: str | None) -> float:
    """The stated spread between machines of an offer (ratio); larger for CPUs that are shared."""
    if measured.key in CPU_METRICS and vcpu_kind in SHARED_VCPU_KINDS:
        return BURSTABLE_CPU_CV
    return measured.between_instance_cv
