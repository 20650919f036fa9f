"""The metrics that only come with an import of Spare Cores' results; we run none of them.

Each of their benchmark ids is one row of catalog.calc.sparecores, which names its metric here.
"""

from backend.foundation.texts import text as _
from backend.measure.metrics.imported import LOWER, ONE_RUN, Family, made
from backend.measure.metrics.kinds import IO_TARGET, MEMORY_CV
from backend.measure.metrics.suites import SUITES

SAME_HOST = _("Client and server share the machine's CPUs. {one_run}", one_run=ONE_RUN)

STRESS_NG = Family(
    _(
        "Run by Spare Cores: stress-ng with the CPU method div16, ten seconds for each number of "
        "workers."
    ),
    _(
        "Operations that stress-ng calls bogus itself: no CMIPS, and never compared with it. "
        "Ten seconds spend no burst allowance. {one_run}",
        one_run=ONE_RUN,
    ),
)
BW_MEM = Family(
    _("Run by Spare Cores: bw_mem of lmbench; variant = operation and megabytes of each buffer."),
    _("A buffer that fits a cache measures the cache. {one_run}", one_run=ONE_RUN),
    MEMORY_CV,
    is_cpu=False,
)
MEMBENCH = Family(
    _(
        "Run by Spare Cores: sc-membench on all CPUs; variant = RAM, or KiB of each thread's buffer."
    ),
    _(
        "The best of several tries. A buffer that fits a cache measures the cache. {one_run}",
        one_run=ONE_RUN,
    ),
    MEMORY_CV,
    is_cpu=False,
)
COMPRESSION = Family(
    _("Run by Spare Cores: ten megabytes of English text; variant = algorithm, level and threads."),
    _("The text fits the caches of large machines. {one_run}", one_run=ONE_RUN),
)
OPENSSL = Family(
    _("Run by Spare Cores: openssl speed on all CPUs; variant = algorithm and bytes of a block."),
    _(
        "Rests on the CPU's instructions for the algorithm, where it has any. {one_run}",
        one_run=ONE_RUN,
    ),
)
STATIC_WEB = Family(
    _(
        "Run by Spare Cores: binserve asked by wrk; variant = file size and connections for each vCPU."
    ),
    SAME_HOST,
)
REDIS = Family(
    _(
        "Run by Spare Cores: a pair of Redis and memtier_benchmark on each vCPU; variant = operation "
        "and requests in a pipeline."
    ),
    SAME_HOST,
)
LLM = Family(
    _("Run by Spare Cores: llama-bench of llama.cpp; variant = model file and tokens."),
    _("On the CPU or, where there is one, the accelerator. {one_run}", one_run=ONE_RUN),
)
PGBENCH = Family(
    _(
        "Run by Spare Cores: pgbench from a second machine, reading what fits the memory; variant = "
        "connections, or the best of them."
    ),
    _("Nothing is written, so the disk is not seen. {one_run}", one_run=ONE_RUN),
)
NVBANDWIDTH = Family(
    _("Run by Spare Cores: nvbandwidth between memory and accelerators, or among these."),
    _("Machines with Nvidia accelerators only. {one_run}", one_run=ONE_RUN),
    MEMORY_CV,
    IO_TARGET,
    is_cpu=False,
)
KERNEL = Family(
    _("Read by Spare Cores from what the kernel reports of the CPU."),
    _("A figure of the kernel's start-up, no measure of speed; kept and shown, never ranked."),
)
DERIVED = Family(
    _("Calculated by Spare Cores from the other benchmarks; variant = the workload."),
    _(
        "A mean of ratios to the median of their machines, which moves with them; kept and shown, "
        "never ranked. A mix of weights says the same openly."
    ),
)

_TABLE = (
    made(
        STRESS_NG,
        "stress_ng_div16_single_ops_per_s",
        _("stress-ng div16, one CPU"),
        _("operations/s"),
        _("div16 operations per second of one worker."),
    ),
    made(
        STRESS_NG,
        "stress_ng_div16_curve_ops_per_s",
        _("stress-ng div16 by workers"),
        _("operations/s"),
        _("div16 operations per second; variant = number of workers."),
        is_ranked=False,
    ),
    made(
        STRESS_NG,
        "stress_ng_cpu_all_ops_per_s",
        _("stress-ng, all CPU methods"),
        _("operations/s"),
        _("Operations per second over all CPU methods of stress-ng; variant = number of workers."),
        is_ranked=False,
    ),
    *SUITES,
    made(
        BW_MEM,
        "bw_mem_bytes_per_s",
        _("Memory bandwidth (bw_mem)"),
        "bytes/s",
        _("Bytes per second that are read or written."),
        "rd,256",
        "rd,64",
    ),
    *(
        made(
            MEMBENCH,
            f"membench_{name}_bytes_per_s",
            label,
            "bytes/s",
            definition,
            "RAM",
            "65536",
        )
        for name, label, definition in (
            (
                "read",
                _("Memory read (sc-membench)"),
                _("Bytes per second of a read over buffers of the size."),
            ),
            (
                "write",
                _("Memory write (sc-membench)"),
                _("Bytes per second of a write over buffers of the size."),
            ),
            (
                "copy",
                _("Memory copy (sc-membench)"),
                _("Bytes per second of a copy over buffers of the size."),
            ),
        )
    ),
    made(
        MEMBENCH,
        "membench_latency_ns",
        _("Memory latency (sc-membench)"),
        "ns",
        _("Time of one dependent load from a buffer of the size."),
        "RAM",
        "65536",
        better=LOWER,
    ),
    made(
        COMPRESSION,
        "compression_bytes_per_s",
        _("Text compression"),
        "bytes/s",
        _("Bytes of text compressed per second."),
        "gzip,5,multi",
    ),
    made(
        COMPRESSION,
        "decompression_bytes_per_s",
        _("Text decompression"),
        "bytes/s",
        _("Bytes of text decompressed per second."),
        "gzip,5,multi",
    ),
    made(
        COMPRESSION,
        "compression_size_ratio",
        _("Text compression, size left"),
        _("ratio"),
        _("Size after compression over size before: of the algorithm, not of the machine."),
        is_ranked=False,
        better=LOWER,
    ),
    made(
        OPENSSL,
        "openssl_bytes_per_s",
        "OpenSSL",
        "bytes/s",
        _("Bytes encrypted or hashed per second."),
        "AES-256-CBC,16384",
    ),
    made(
        STATIC_WEB,
        "static_web_requests_per_s",
        _("Static web, server and client"),
        _("requests/s"),
        _("Requests answered per second."),
        "64k,8",
    ),
    made(
        STATIC_WEB,
        "static_web_server_requests_per_s",
        _("Static web, server alone (calculated)"),
        _("requests/s"),
        _("Requests per second as if the client's CPU time were the server's, too."),
        "64k,8",
    ),
    made(
        STATIC_WEB,
        "static_web_bytes_per_s",
        _("Static web throughput, server and client"),
        "bytes/s",
        _("Bytes of files sent per second."),
        "256k,8",
    ),
    made(
        STATIC_WEB,
        "static_web_server_bytes_per_s",
        _("Static web throughput, server alone (calculated)"),
        "bytes/s",
        _("Bytes per second as if the client's CPU time were the server's, too."),
        "256k,8",
    ),
    made(
        STATIC_WEB,
        "static_web_latency_ns",
        _("Static web latency"),
        "ns",
        _("Mean time between a request and its answer."),
        "64k,8",
        better=LOWER,
    ),
    made(
        REDIS,
        "redis_ops_per_s",
        _("Redis, server and client"),
        _("operations/s"),
        _("Operations answered per second."),
        "SET,1",
    ),
    made(
        REDIS,
        "redis_server_ops_per_s",
        _("Redis, server alone (calculated)"),
        _("operations/s"),
        _("Operations per second as if the client's CPU time were the server's, too."),
        "SET,1",
    ),
    made(
        REDIS,
        "redis_latency_ns",
        _("Redis latency"),
        "ns",
        _("Mean time between a request and its answer."),
        "SET,1",
        better=LOWER,
    ),
    made(
        LLM,
        "llm_generation_tokens_per_s",
        _("Language model, writing"),
        _("tokens/s"),
        _("Tokens written per second."),
        "SmolLM-135M.Q4_K_M.gguf,128",
    ),
    made(
        LLM,
        "llm_prompt_tokens_per_s",
        _("Language model, reading"),
        _("tokens/s"),
        _("Tokens of a prompt read per second."),
        "SmolLM-135M.Q4_K_M.gguf,512",
    ),
    made(
        PGBENCH,
        "pgbench_read_per_s",
        _("PostgreSQL, reading"),
        _("transactions/s"),
        _("Transactions per second that only read."),
        "peak",
    ),
    made(
        NVBANDWIDTH,
        "nvbandwidth_bytes_per_s",
        _("Accelerator bandwidth"),
        "bytes/s",
        _("Bytes moved per second; variant = between whom."),
        "all,host_to_gpu",
    ),
    made(
        NVBANDWIDTH,
        "nvbandwidth_latency_ns",
        _("Accelerator latency"),
        "ns",
        _("Time of one dependent load; variant = between whom."),
        "slot",
        better=LOWER,
    ),
    made(
        NVBANDWIDTH,
        "nvbandwidth_efficiency_ratio",
        _("Accelerator copies by its cores"),
        _("ratio"),
        _("Bandwidth of copies by an accelerator's cores over that of its copy engines."),
        is_ranked=False,
    ),
    made(
        KERNEL,
        "bogomips",
        "BogoMIPS",
        "BogoMIPS",
        _("The kernel's calibration of its delay loop."),
        is_ranked=False,
    ),
    made(
        DERIVED,
        "workload_profile_ratio",
        _("Workload profile"),
        _("ratio"),
        _("Weighted geometric mean of ratios to the median of their machines."),
        is_ranked=False,
    ),
)
SPARE_CORES = tuple(metric for _family, metric in _TABLE)
CPU_METRICS = frozenset(metric.key for family, metric in _TABLE if family.is_cpu)
