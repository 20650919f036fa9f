"""Metrics that only come with results of others: what those of one tool have in common."""

from dataclasses import dataclass
from typing import Literal

from backend.foundation.texts import text as _
from backend.measure.metrics.kinds import ANY_VARIANT, CPU_CV, CPU_TARGET, LATENCY_CV, Metric

Better = Literal["higher", "lower"]
HIGHER: Better = "higher"
LOWER: Better = "lower"
ONE_RUN = _(
    "One run on one machine, at a day of their own: nobody knows how far the next one lies."
)


@dataclass(frozen=True)
class Family:
    """Common properties of one tool's metrics."""

    method: str
    limits: str
    between_instance_cv: float = CPU_CV
    target_half_width_ratio: float = CPU_TARGET
    is_cpu: bool = True


def made(
    family: Family,
    key: str,
    label: str,
    unit: str,
    definition: str,
    *variants: str,
    better: Better = HIGHER,
    is_ranked: bool = True,
) -> tuple[Family, Metric]:
    """A metric of the family, and the family; `variants` rank, best first (default: the only one)."""
    canonical = next(iter(variants), ANY_VARIANT) if is_ranked else None
    return family, Metric(
        key=key,
        label=label,
        unit=unit,
        better=better,
        definition=definition,
        method=family.method,
        limits=family.limits,
        canonical_variant=canonical,
        fallback_variants=variants[1:],
        # Latencies spread wider than rates, whatever the tool.
        between_instance_cv=LATENCY_CV if unit == "ns" else family.between_instance_cv,
        target_half_width_ratio=family.target_half_width_ratio,
    )
