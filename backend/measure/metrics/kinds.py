"""Metrics, and the stated spreads that their intervals need."""

from dataclasses import dataclass
from typing import Literal

# Stated spread (coefficient of variation, a ratio) between machines of one offer. It makes the
# interval of a single figure, and widens that of a metric seen on one or two machines only.
#
# CPU: of the 233 machine types in fixtures/published/coremark_gcp.csv the stated standard
# deviation is 0.8 % at the median, 3.6 % at the 95th percentile and 6.6 % at most. Of the 424
# Azure sizes outside the B series in coremark_azure.csv, with all results on all their models of
# CPU, it is 1.5 % at the median, within 5 % for 79 % of them and 14.3 % at most. 5 % stands for
# an offer of which we know nothing else, and is too narrow where a size runs on several models.
CPU_CV = 0.05
# Shared or burstable CPUs: machines of one burstable type have been seen 28 % apart while each
# repeated within 0.4 %. The 10 Azure sizes of the B series deviate by 6.8 % to 10.5 %, so all are
# within it.
BURSTABLE_CPU_CV = 0.28
# Our own assumptions, for lack of a published spread: memory follows the socket and its
# neighbours, a disk or a network path is shared with more of them, a start waits in queues.
MEMORY_CV = 0.05
DISK_CV = 0.15
NETWORK_CV = 0.15
LATENCY_CV = 0.25

# Half-width of the 95 % t interval of the repeats, over their mean, at which repeats may end.
CPU_TARGET = 0.03
IO_TARGET = 0.05

SHARED_VCPU_KINDS = ("shared", "burstable")
SHARING_OFFER_KINDS = ("cloud", "vps")
ANY_VARIANT = "standard"


@dataclass(frozen=True)
class Metric:
    """A thing that is measured; ratios are 0 to 1. No canonical variant: it never ranks."""

    key: str
    label: str
    unit: str
    better: Literal["higher", "lower"]
    definition: str
    method: str
    limits: str
    canonical_variant: str | None
    fallback_variants: tuple[str, ...]
    between_instance_cv: float
    target_half_width_ratio: float

    @property
    def is_higher_better(self) -> bool:
        """True if a larger value is the better one."""
        return self.better == "higher"

    @property
    def ranking_variants(self) -> tuple[str, ...]:
        """The variants that may stand for this metric in a ranking, best first."""
        if self.canonical_variant is None:
            return ()
        return (self.canonical_variant, *self.fallback_variants)
