"""The metrics that our probes measure, or that tools of everybody's are read for."""

from backend.foundation.texts import text as _
from backend.measure.metrics import disks_and_networks, server_work
from backend.measure.metrics.kinds import (
    ANY_VARIANT,
    CPU_CV,
    CPU_TARGET,
    DISK_CV,
    IO_TARGET,
    LATENCY_CV,
    MEMORY_CV,
    Metric,
)

CPU_METRICS = (
    *server_work.CPU_METRICS,
    "cmips_score",
    "cmips_single_score",
    "cmips_sustained_ratio",
    "coremark_score",
    "passmark_score",
    "stress_ng_div16",
    "specrate2017_int_base",
    "openssl_sha256_bytes_per_s",
    "sysbench_cpu_events_per_s",
)

OWN = (
    *server_work.METRICS,
    Metric(
        key="cmips_score",
        label=_("CPU, all threads (CMIPS-compatible)"),
        unit="CMIPS",
        better="higher",
        definition=_(
            "Kernel iterations per second of all threads together, divided by 1,024,000 as CMIPS does."
        ),
        method=_("One thread on each usable CPU runs the pinned integer kernel for a fixed time."),
        limits=_(
            "Integer latency within the first-level cache at the clock the host really runs; "
            "says nothing of memory, vectors or floating point."
        ),
        canonical_variant="all",
        fallback_variants=(),
        between_instance_cv=CPU_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="cmips_single_score",
        label=_("CPU, one thread (CMIPS-compatible)"),
        unit="CMIPS",
        better="higher",
        definition=_(
            "Kernel iterations per second of one thread, divided by 1,024,000 as CMIPS does."
        ),
        method=_("The pinned integer kernel on one thread, the other CPUs idle."),
        limits=_("Shows the highest clock, which a fully loaded machine may not hold."),
        canonical_variant="single",
        fallback_variants=(),
        between_instance_cv=CPU_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="cmips_sustained_ratio",
        label=_("CPU sustained under load"),
        unit=_("ratio"),
        better="higher",
        definition=_(
            "Median score of the last windows of a long run over that of its first window."
        ),
        method=_(
            "All threads run without a stop, counted in windows of 5 to 30 s; the last ones are "
            "a quarter of all, ten at most."
        ),
        limits=_("A burst allowance larger than the run is not exhausted and stays unseen."),
        canonical_variant="all",
        fallback_variants=(),
        between_instance_cv=CPU_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="coremark_score",
        label="CoreMark",
        unit=_("iterations/s"),
        better="higher",
        definition=_("CoreMark iterations per second over all CPUs, as published or imported."),
        method=_("Read from the source named on the row; not run here."),
        limits=_("Compiler and options are the publisher's. Never compared with CMIPS."),
        canonical_variant=ANY_VARIANT,
        fallback_variants=(),
        between_instance_cv=CPU_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="passmark_score",
        label="PassMark CPU Mark",
        unit=_("points"),
        better="higher",
        definition=_("The composite CPU figure that PassMark lists for a processor model."),
        method=_("Read from the source named on the row; not run here."),
        limits=_("An average over machines of many owners, for the processor and not the server."),
        canonical_variant=ANY_VARIANT,
        fallback_variants=(),
        between_instance_cv=CPU_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="stress_ng_div16",
        label=_("stress-ng div16, all CPUs"),
        unit="bogo ops/s",
        better="higher",
        definition=_(
            "Operations per second of the clock that stress-ng counts of its CPU method div16."
        ),
        method=_(
            "stress-ng --cpu N --cpu-method div16 --metrics-brief, one worker on each usable "
            "CPU; variant single is one worker. Published figures are of ten seconds."
        ),
        limits=_(
            "Integer divisions only, of which other work says little: see below. Versions of "
            "stress-ng need not agree, so the version stands beside each figure."
        ),
        canonical_variant="all",
        fallback_variants=("best_of_workers",),
        between_instance_cv=CPU_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="specrate2017_int_base",
        label=_("SPECrate 2017 Integer base, by processor"),
        unit="SPECrate",
        better="higher",
        definition=_(
            "SPECrate2017_int_base as published at spec.org for all cores of a processor."
        ),
        method=_(
            "Median of the published results of the processor; not run here. An offer has it "
            "by the model of its CPU, which makes its figure a derived one."
        ),
        limits=_(
            "Vendors choose machine, compiler and options: it is the most a processor reaches, "
            "and the interval reaches from the lowest published result to the highest."
        ),
        canonical_variant=ANY_VARIANT,
        fallback_variants=(),
        between_instance_cv=CPU_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="openssl_sha256_bytes_per_s",
        label=_("OpenSSL SHA-256, all CPUs"),
        unit="bytes/s",
        better="higher",
        definition=_("Bytes per second that SHA-256 hashes in blocks of 16,384 bytes."),
        method=_(
            "openssl speed -elapsed -multi N -evp sha256, one process on each usable CPU; "
            "variant single is one process."
        ),
        limits=_("Rests on the CPU's instructions for SHA, where it has any."),
        canonical_variant="all",
        fallback_variants=(),
        between_instance_cv=CPU_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="memory_bandwidth_bytes_per_s",
        label=_("Memory bandwidth"),
        unit="bytes/s",
        better="higher",
        definition=_("Bytes per second that a triad over three large arrays reads and writes."),
        method=_("One thread on each usable CPU, arrays well past the last-level cache."),
        limits=_("Counts the bytes of the formula; a write that first loads its line moves more."),
        canonical_variant="all",
        fallback_variants=(),
        between_instance_cv=MEMORY_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="memory_latency_ns",
        label=_("Memory latency"),
        unit="ns",
        better="lower",
        definition=_("Time of one dependent load from a buffer that no cache holds."),
        method=_("One thread follows a random cycle of pointers through the buffer."),
        limits=_("Includes address translation with the page size that the system gives."),
        canonical_variant="single",
        fallback_variants=(),
        between_instance_cv=MEMORY_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    *disks_and_networks.METRICS,
    Metric(
        key="sysbench_cpu_events_per_s",
        label=_("sysbench CPU"),
        unit=_("events/s"),
        better="higher",
        definition=_("Prime searches per second as sysbench counts them."),
        method=_("sysbench cpu, one thread on each usable CPU; or read from an imported result."),
        limits=_("Differs between versions and architectures; kept and shown, never ranked."),
        canonical_variant=None,
        fallback_variants=(),
        between_instance_cv=CPU_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="sysbench_memory_bytes_per_s",
        label=_("sysbench memory"),
        unit="bytes/s",
        better="higher",
        definition=_("Bytes per second that sysbench moves in blocks of the size asked for."),
        method=_("Read from an imported sysbench result."),
        limits=_("With small blocks it shows the first-level cache; kept and shown, never ranked."),
        canonical_variant=None,
        fallback_variants=(),
        between_instance_cv=MEMORY_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="job_time_s",
        label=_("Time of a job"),
        unit="s",
        better="lower",
        definition=_("From the start of a job that its variant names to its end."),
        method=_(
            "Stated by the person who ran it; tar_nfs, which ranks: a kernel’s archive "
            "unpacked over NFS."
        ),
        limits=_(
            "Only times of the same job with the same input compare; what was aborted never ranks."
        ),
        canonical_variant="tar_nfs",
        fallback_variants=(),
        between_instance_cv=DISK_CV,
        target_half_width_ratio=IO_TARGET,
    ),
    Metric(
        key="boot_time_s",
        label=_("Start time"),
        unit="s",
        better="lower",
        definition=_(
            "From the provider's time of the launch until the machine can be logged in to."
        ),
        method=_("The machine's own clock: SSH server started, users let in, our key there."),
        limits=_("Includes the image chosen; a launch stated in whole seconds adds up to one."),
        canonical_variant=ANY_VARIANT,
        fallback_variants=(),
        between_instance_cv=LATENCY_CV,
        target_half_width_ratio=IO_TARGET,
    ),
)
