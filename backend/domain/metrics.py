"""The metrics: what each measures, in which unit, which way is better, and what it cannot say.

Keys never change. The canonical variant of a key is the one that ranks; the fallbacks follow in
order where it is missing; every other variant is kept and charted only.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from backend.domain.errors import InvalidValue

# Stated spread (coefficient of variation, a ratio) between machines of one offer. It widens the
# interval of a metric seen on one or two machines only.
#
# CPU: of the 233 machine types in fixtures/published/coremark_gcp.csv the stated standard
# deviation is 0.8 % at the median, 3.6 % at the 95th percentile and 6.6 % at most; 5 % stands
# for an offer of which we know nothing else.
CPU_CV = 0.05
# Shared or burstable CPUs: machines of one burstable type have been seen 28 % apart while each
# repeated within 0.4 %.
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
CPU_METRICS = ("cmips_score", "cmips_single_score", "cmips_sustained_ratio", "coremark_score")
ANY_VARIANT = "standard"


@dataclass(frozen=True)
class Metric:
    """One thing that is measured; ratios are 0 to 1. No canonical variant: it never ranks."""

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
        """Whether a larger value is the better one."""
        return self.better == "higher"

    @property
    def ranking_variants(self) -> tuple[str, ...]:
        """The variants that may stand for this metric in a ranking, best first."""
        if self.canonical_variant is None:
            return ()
        return (self.canonical_variant, *self.fallback_variants)


_TABLE = (
    Metric(
        key="cmips_score",
        label="CPU, all threads (CMIPS-compatible)",
        unit="CMIPS",
        better="higher",
        definition="Kernel iterations per second of all threads together, over 1,024,000.",
        method="One thread on each usable CPU runs the pinned integer kernel for a fixed time.",
        limits="Integer latency within the first-level cache at the clock the host really runs; "
        "says nothing of memory, vectors or floating point.",
        canonical_variant="all",
        fallback_variants=(),
        between_instance_cv=CPU_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="cmips_single_score",
        label="CPU, one thread (CMIPS-compatible)",
        unit="CMIPS",
        better="higher",
        definition="Kernel iterations per second of one thread, over 1,024,000.",
        method="The pinned integer kernel on one thread, the other CPUs idle.",
        limits="Shows the highest clock, which a fully loaded machine may not hold.",
        canonical_variant="single",
        fallback_variants=(),
        between_instance_cv=CPU_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="cmips_sustained_ratio",
        label="CPU sustained under load",
        unit="ratio",
        better="higher",
        definition="Score of the last minutes of a long run over the score of its first minute.",
        method="All threads run for the long profile, counted minute by minute.",
        limits="A burst allowance larger than the run is not exhausted and stays unseen.",
        canonical_variant="all",
        fallback_variants=(),
        between_instance_cv=CPU_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="coremark_score",
        label="CoreMark",
        unit="iterations/s",
        better="higher",
        definition="CoreMark iterations per second over all CPUs, as published or imported.",
        method="Read from the source named on the row; not run here.",
        limits="Compiler and options are the publisher's. Never compared with CMIPS.",
        canonical_variant=ANY_VARIANT,
        fallback_variants=(),
        between_instance_cv=CPU_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="passmark_score",
        label="PassMark CPU Mark",
        unit="points",
        better="higher",
        definition="The composite CPU figure that PassMark lists for a processor model.",
        method="Read from the source named on the row; not run here.",
        limits="An average over machines of many owners, for the processor and not the server.",
        canonical_variant=ANY_VARIANT,
        fallback_variants=(),
        between_instance_cv=CPU_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="memory_bandwidth_bytes_per_s",
        label="Memory bandwidth",
        unit="bytes/s",
        better="higher",
        definition="Bytes per second that a triad over three large arrays reads and writes.",
        method="One thread on each usable CPU, arrays well past the last-level cache.",
        limits="Counts the bytes of the formula; a write that first loads its line moves more.",
        canonical_variant="all",
        fallback_variants=(),
        between_instance_cv=MEMORY_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="memory_latency_ns",
        label="Memory latency",
        unit="ns",
        better="lower",
        definition="Time of one dependent load from a buffer that no cache holds.",
        method="One thread follows a random cycle of pointers through the buffer.",
        limits="Includes address translation with the page size that the system gives.",
        canonical_variant="single",
        fallback_variants=(),
        between_instance_cv=MEMORY_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="disk_write_bytes_per_s",
        label="Disk, sequential write",
        unit="bytes/s",
        better="higher",
        definition="Bytes per second of one sequential write in 1 MiB blocks.",
        method="dd past the page cache (direct); where that is refused, flushed before the end.",
        limits="One stream at depth one; a burst allowance of the volume may be in the result.",
        canonical_variant="dd_direct",
        fallback_variants=("dd_fdatasync", "dd_cached"),
        between_instance_cv=DISK_CV,
        target_half_width_ratio=IO_TARGET,
    ),
    Metric(
        key="disk_read_bytes_per_s",
        label="Disk, sequential read",
        unit="bytes/s",
        better="higher",
        definition="Bytes per second of one sequential read in 1 MiB blocks.",
        method="dd past the page cache (direct); a cached read is marked as such.",
        limits="Caches of the host or array below the machine cannot be passed by.",
        canonical_variant="dd_direct",
        fallback_variants=("dd_fdatasync", "dd_cached"),
        between_instance_cv=DISK_CV,
        target_half_width_ratio=IO_TARGET,
    ),
    Metric(
        key="disk_rand_read_iops",
        label="Disk, random reads",
        unit="operations/s",
        better="higher",
        definition="Random reads of 4 KiB per second with 32 in flight.",
        method="fio, one job, direct, asynchronous engine, depth 32.",
        limits="Cloud volumes cap this by their size and type, not by the medium.",
        canonical_variant="fio_4k_qd32",
        fallback_variants=(),
        between_instance_cv=DISK_CV,
        target_half_width_ratio=IO_TARGET,
    ),
    Metric(
        key="disk_rand_write_iops",
        label="Disk, random writes",
        unit="operations/s",
        better="higher",
        definition="Random writes of 4 KiB per second with 32 in flight.",
        method="fio, one job, direct, asynchronous engine, depth 32.",
        limits="A fresh drive is faster than a worn-in one; the run does not wear it in.",
        canonical_variant="fio_4k_qd32",
        fallback_variants=(),
        between_instance_cv=DISK_CV,
        target_half_width_ratio=IO_TARGET,
    ),
    Metric(
        key="disk_rand_read_p99_ns",
        label="Disk, random read latency (p99)",
        unit="ns",
        better="lower",
        definition="Time within which 99 of 100 random reads of 4 KiB end, one in flight.",
        method="fio, one job, direct, depth 1.",
        limits="A tail: it needs many reads, and moves with the neighbours.",
        canonical_variant="fio_4k_qd1",
        fallback_variants=(),
        between_instance_cv=LATENCY_CV,
        target_half_width_ratio=IO_TARGET,
    ),
    Metric(
        key="disk_rand_write_p99_ns",
        label="Disk, random write latency (p99)",
        unit="ns",
        better="lower",
        definition="Time within which 99 of 100 random writes of 4 KiB end, one in flight.",
        method="fio, one job, direct, depth 1.",
        limits="A write cache that survives power loss and one that does not look alike.",
        canonical_variant="fio_4k_qd1",
        fallback_variants=(),
        between_instance_cv=LATENCY_CV,
        target_half_width_ratio=IO_TARGET,
    ),
    Metric(
        key="small_files_per_s",
        label="Small files",
        unit="files/s",
        better="higher",
        definition="Small files created, written and flushed to the disk per second.",
        method="Files of 1 to 64 KiB in many directories, as an archive is unpacked, each flushed.",
        limits="Depends on the file system as much as on the disk.",
        canonical_variant=ANY_VARIANT,
        fallback_variants=(),
        between_instance_cv=DISK_CV,
        target_half_width_ratio=IO_TARGET,
    ),
    Metric(
        key="fsync_p99_ns",
        label="Flush latency (p99)",
        unit="ns",
        better="lower",
        definition="Time within which 99 of 100 flushes of a small file end.",
        method="The flush of each small file that is written, timed by itself.",
        limits="Storage that acknowledges before it keeps the data looks fast here.",
        canonical_variant=ANY_VARIANT,
        fallback_variants=(),
        between_instance_cv=LATENCY_CV,
        target_half_width_ratio=IO_TARGET,
    ),
    Metric(
        key="disk_seeks_per_s",
        label="Disk seeks",
        unit="operations/s",
        better="higher",
        definition="Random seeks per second as bonnie++ counts them.",
        method="Read from an imported bonnie++ result.",
        limits="A file smaller than twice the memory is answered by the page cache.",
        canonical_variant=ANY_VARIANT,
        fallback_variants=(),
        between_instance_cv=DISK_CV,
        target_half_width_ratio=IO_TARGET,
    ),
    Metric(
        key="dd_bytes_per_s",
        label="dd, conditions unknown",
        unit="bytes/s",
        better="higher",
        definition="The rate of a dd result whose direction or caching is not known.",
        method="Read from an imported dd line without its conditions.",
        limits="May be memory speed; kept and shown, never ranked.",
        canonical_variant=None,
        fallback_variants=(),
        between_instance_cv=DISK_CV,
        target_half_width_ratio=IO_TARGET,
    ),
    Metric(
        key="net_tcp_bits_per_s",
        label="Network throughput (TCP)",
        unit="bits/s",
        better="higher",
        definition="Bits per second that arrive at the receiver over parallel streams.",
        method="iperf3 between two machines, counted by the receiver.",
        limits="The slower of two machines and the path between them.",
        canonical_variant="tcp_parallel",
        fallback_variants=(),
        between_instance_cv=NETWORK_CV,
        target_half_width_ratio=IO_TARGET,
    ),
    Metric(
        key="net_udp_jitter_ns",
        label="Network jitter (UDP)",
        unit="ns",
        better="lower",
        definition="Smoothed change of transit time from packet to packet (RFC 3550).",
        method="iperf3 at a fixed rate well below the link.",
        limits="Depends on the rate and packet size asked for.",
        canonical_variant=ANY_VARIANT,
        fallback_variants=(),
        between_instance_cv=LATENCY_CV,
        target_half_width_ratio=IO_TARGET,
    ),
    Metric(
        key="net_rtt_ns",
        label="Network round trip",
        unit="ns",
        better="lower",
        definition="Median time of a small request and its answer between two machines.",
        method="Echo requests of ping, in turn, before the throughput tests.",
        limits="Belongs to the pair of places, not to one machine.",
        canonical_variant=ANY_VARIANT,
        fallback_variants=(),
        between_instance_cv=LATENCY_CV,
        target_half_width_ratio=IO_TARGET,
    ),
    Metric(
        key="net_udp_loss_ratio",
        label="Network loss (UDP)",
        unit="ratio",
        better="lower",
        definition="Packets that did not arrive, over packets sent.",
        method="iperf3 at a fixed rate well below the link, counted by the receiver.",
        limits="A busy receiver loses packets that the network delivered.",
        canonical_variant=None,
        fallback_variants=(),
        between_instance_cv=LATENCY_CV,
        target_half_width_ratio=IO_TARGET,
    ),
    Metric(
        key="sysbench_cpu_events_per_s",
        label="sysbench CPU",
        unit="events/s",
        better="higher",
        definition="Prime searches per second as sysbench counts them.",
        method="Read from an imported sysbench result.",
        limits="Differs between versions and architectures; kept and shown, never ranked.",
        canonical_variant=None,
        fallback_variants=(),
        between_instance_cv=CPU_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="sysbench_memory_bytes_per_s",
        label="sysbench memory",
        unit="bytes/s",
        better="higher",
        definition="Bytes per second that sysbench moves in blocks of the size asked for.",
        method="Read from an imported sysbench result.",
        limits="With small blocks it tells the first-level cache; kept and shown, never ranked.",
        canonical_variant=None,
        fallback_variants=(),
        between_instance_cv=MEMORY_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="boot_time_s",
        label="Start time",
        unit="s",
        better="lower",
        definition="From the request for a machine to the first command it answers.",
        method="The controller's own clock around launch and first log-in.",
        limits="Includes the provider's queue at that hour and the image chosen.",
        canonical_variant=ANY_VARIANT,
        fallback_variants=(),
        between_instance_cv=LATENCY_CV,
        target_half_width_ratio=IO_TARGET,
    ),
)

METRICS: Mapping[str, Metric] = MappingProxyType({metric.key: metric for metric in _TABLE})


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
