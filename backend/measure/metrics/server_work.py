"""The metrics of real work: published for most clouds, and measured by our probes where tools are there."""

from backend.foundation.texts import text as _
from backend.measure.metrics.kinds import (
    ANY_VARIANT,
    CPU_CV,
    CPU_TARGET,
    IO_TARGET,
    Metric,
)

# Repeated public runs of a small language model lie 8.8 % apart at the median (highest − lowest over
# the median), 20 % at the third quarter.
LLM_CV = 0.10

METRICS = (
    Metric(
        key="general_performance",
        label=_("CPU speed"),
        unit="× m5.large",
        better="higher",
        definition=_(
            "How many times the work of an AWS m5.large the whole machine does: the geometric mean of "
            "crypto and Redis."
        ),
        method=_(
            "Crypto: openssl speed with 11 algorithms, blocks of 16 kB and one process on each vCPU. "
            "Redis: a server and a client on each vCPU, SET in pipelines of 1 and 16. Each part is "
            "divided by what an m5.large reaches; geometric means within the family, then of both. "
            "Variant with_web adds a web server, up to 32 vCPUs."
        ),
        limits=_(
            "Says little of memory bandwidth, language models or one thread, and nothing of disks and "
            "networks. Client and server share the machine's CPUs."
        ),
        canonical_variant=ANY_VARIANT,
        fallback_variants=(),
        between_instance_cv=CPU_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="web_requests_per_s",
        label=_("Web requests"),
        unit=_("requests/s"),
        better="higher",
        definition=_(
            "Requests for a static file of 64 kB answered per second; variant 1k is 1 kB."
        ),
        method=_(
            "A web server (binserve) and its client (wrk) on the same machine for 10 s: the best of "
            "15 settings of threads and connections."
        ),
        limits=_(
            "Client and server share the CPUs and no network is between them. The server stops "
            "growing on large machines: figures above 32 vCPUs on ARM and 128 on x86 take no rank."
        ),
        canonical_variant="64k",
        fallback_variants=(),
        between_instance_cv=CPU_CV,
        target_half_width_ratio=IO_TARGET,
    ),
    Metric(
        key="redis_set_per_s",
        label=_("Redis writes"),
        unit=_("operations/s"),
        better="higher",
        definition=_(
            "SET operations answered per second, 16 requests in a pipeline; variant p1 is one at a time."
        ),
        method=_(
            "One redis-server and one client on each vCPU of the same machine, SET only, 10 s; the sum "
            "over all pairs."
        ),
        limits=_(
            "Measures CPU and kernel, not the network: one server asked from outside reaches another "
            "figure."
        ),
        canonical_variant="p16",
        fallback_variants=(),
        between_instance_cv=CPU_CV,
        target_half_width_ratio=IO_TARGET,
    ),
    Metric(
        key="single_thread_performance",
        label=_("Speed of one thread"),
        unit="× m5.large",
        better="higher",
        definition=_(
            "How many times an AWS m5.large in compression by one process: the geometric mean of gzip "
            "5, zstd 7, bzip2 9 and LZMA 5."
        ),
        method=_(
            "Ten megabytes of English text, one process, the other CPUs idle; best of 2 or 3."
        ),
        limits=_(
            "One thread on a quiet machine has the highest clock, which a busy machine may not hold. "
            "Says nothing of the number of vCPUs."
        ),
        canonical_variant=ANY_VARIANT,
        fallback_variants=(),
        between_instance_cv=CPU_CV,
        target_half_width_ratio=CPU_TARGET,
    ),
    Metric(
        key="llm_tokens_per_s",
        label=_("Small language model"),
        unit=_("tokens/s"),
        better="higher",
        definition=_(
            "Tokens of a prompt of 128 that SmolLM-135M reads per second on the CPU; variant gen128 is "
            "writing 128."
        ),
        method=_("llama-bench of llama.cpp, SmolLM-135M Q4_K_M, one thread on each physical core."),
        limits=_(
            "A tiny model: larger ones depend on memory bandwidth. Hardly grows with more "
            "vCPUs, and repeated runs differ by 10% and more."
        ),
        canonical_variant="prompt128",
        fallback_variants=(),
        between_instance_cv=LLM_CV,
        target_half_width_ratio=IO_TARGET,
    ),
)
CPU_METRICS = tuple(measured.key for measured in METRICS)
