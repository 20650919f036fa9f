"""The metrics that only come with an import of Spare Cores' results; we run none of them.

Each of their benchmark ids is one row of domain.parsing.sparecores, which names its metric here.
"""

from backend.domain.metrics.imported import LOWER, ONE_RUN, Family, made
from backend.domain.metrics.kinds import IO_TARGET, MEMORY_CV
from backend.domain.metrics.suites import SUITES

SAME_HOST = "Client and server share the machine's CPUs. "

STRESS_NG = Family(
    "Run by Spare Cores: stress-ng with the CPU method div16, ten seconds for each number of "
    "workers.",
    "Operations that stress-ng calls bogus itself: no CMIPS, and never compared with it. Ten "
    f"seconds spend no burst allowance. {ONE_RUN}",
)
BW_MEM = Family(
    "Run by Spare Cores: bw_mem of lmbench; variant = operation and megabytes of each buffer.",
    f"A buffer that fits a cache measures the cache. {ONE_RUN}",
    MEMORY_CV,
    is_cpu=False,
)
MEMBENCH = Family(
    "Run by Spare Cores: sc-membench on all CPUs; variant = RAM, or KiB of each thread's buffer.",
    f"The best of several tries. A buffer that fits a cache measures the cache. {ONE_RUN}",
    MEMORY_CV,
    is_cpu=False,
)
COMPRESSION = Family(
    "Run by Spare Cores: ten megabytes of English text; variant = algorithm, level and threads.",
    f"The text fits the caches of large machines. {ONE_RUN}",
)
OPENSSL = Family(
    "Run by Spare Cores: openssl speed on all CPUs; variant = algorithm and bytes of a block.",
    f"Rests on the CPU's instructions for the algorithm, where it has any. {ONE_RUN}",
)
STATIC_WEB = Family(
    "Run by Spare Cores: binserve asked by wrk; variant = file size and connections for each vCPU.",
    SAME_HOST + ONE_RUN,
)
REDIS = Family(
    "Run by Spare Cores: a pair of Redis and memtier_benchmark on each vCPU; variant = operation "
    "and requests in a pipeline.",
    SAME_HOST + ONE_RUN,
)
LLM = Family(
    "Run by Spare Cores: llama-bench of llama.cpp; variant = model file and tokens.",
    f"On the CPU or, where there is one, the accelerator. {ONE_RUN}",
)
PGBENCH = Family(
    "Run by Spare Cores: pgbench from a second machine, reading what fits the memory; variant = "
    "connections, or the best of them.",
    f"Nothing is written, so the disk is not seen. {ONE_RUN}",
)
NVBANDWIDTH = Family(
    "Run by Spare Cores: nvbandwidth between memory and accelerators, or among these.",
    f"Machines with Nvidia accelerators only. {ONE_RUN}",
    MEMORY_CV,
    IO_TARGET,
    is_cpu=False,
)
KERNEL = Family(
    "Read by Spare Cores from what the kernel reports of the CPU.",
    "A figure of the kernel's start-up, no measure of speed; kept and shown, never ranked.",
)
DERIVED = Family(
    "Calculated by Spare Cores from the other benchmarks; variant = the workload.",
    "A mean of ratios to the median of their machines, which moves with them; kept and shown, "
    "never ranked. A mix of weights says the same openly.",
)

_TABLE = (
    made(
        STRESS_NG,
        "stress_ng_div16_single_ops_per_s",
        "stress-ng div16, one CPU",
        "operations/s",
        "div16 operations per second of one worker.",
    ),
    made(
        STRESS_NG,
        "stress_ng_div16_curve_ops_per_s",
        "stress-ng div16 by workers",
        "operations/s",
        "div16 operations per second; variant = number of workers.",
        is_ranked=False,
    ),
    made(
        STRESS_NG,
        "stress_ng_cpu_all_ops_per_s",
        "stress-ng, all CPU methods",
        "operations/s",
        "Operations per second over all CPU methods of stress-ng; variant = number of workers.",
        is_ranked=False,
    ),
    *SUITES,
    made(
        BW_MEM,
        "bw_mem_bytes_per_s",
        "Memory bandwidth (bw_mem)",
        "bytes/s",
        "Bytes per second that are read or written.",
        "rd,256",
    ),
    *(
        made(
            MEMBENCH,
            f"membench_{name}_bytes_per_s",
            f"Memory {name} (sc-membench)",
            "bytes/s",
            f"Bytes per second of a {name} over buffers of the size.",
            "RAM",
            "65536",
        )
        for name in ("read", "write", "copy")
    ),
    made(
        MEMBENCH,
        "membench_latency_ns",
        "Memory latency (sc-membench)",
        "ns",
        "Time of one dependent load from a buffer of the size.",
        "RAM",
        "65536",
        better=LOWER,
    ),
    made(
        COMPRESSION,
        "compression_bytes_per_s",
        "Text compression",
        "bytes/s",
        "Bytes of text compressed per second.",
        "gzip,5,multi",
    ),
    made(
        COMPRESSION,
        "decompression_bytes_per_s",
        "Text decompression",
        "bytes/s",
        "Bytes of text decompressed per second.",
        "gzip,5,multi",
    ),
    made(
        COMPRESSION,
        "compression_size_ratio",
        "Text compression, size left",
        "ratio",
        "Size after compression over size before: of the algorithm, not of the machine.",
        is_ranked=False,
        better=LOWER,
    ),
    made(
        OPENSSL,
        "openssl_bytes_per_s",
        "OpenSSL",
        "bytes/s",
        "Bytes encrypted or hashed per second.",
        "AES-256-CBC,16384",
    ),
    made(
        STATIC_WEB,
        "static_web_requests_per_s",
        "Static web, server and client",
        "requests/s",
        "Requests answered per second.",
        "64k,8",
    ),
    made(
        STATIC_WEB,
        "static_web_server_requests_per_s",
        "Static web, server alone (calculated)",
        "requests/s",
        "Requests per second as if the client's CPU time were the server's, too.",
        "64k,8",
    ),
    made(
        STATIC_WEB,
        "static_web_bytes_per_s",
        "Static web throughput, server and client",
        "bytes/s",
        "Bytes of files sent per second.",
        "256k,8",
    ),
    made(
        STATIC_WEB,
        "static_web_server_bytes_per_s",
        "Static web throughput, server alone (calculated)",
        "bytes/s",
        "Bytes per second as if the client's CPU time were the server's, too.",
        "256k,8",
    ),
    made(
        STATIC_WEB,
        "static_web_latency_ns",
        "Static web latency",
        "ns",
        "Mean time between a request and its answer.",
        "64k,8",
        better=LOWER,
    ),
    made(
        REDIS,
        "redis_ops_per_s",
        "Redis, server and client",
        "operations/s",
        "Operations answered per second.",
        "SET,1",
    ),
    made(
        REDIS,
        "redis_server_ops_per_s",
        "Redis, server alone (calculated)",
        "operations/s",
        "Operations per second as if the client's CPU time were the server's, too.",
        "SET,1",
    ),
    made(
        REDIS,
        "redis_latency_ns",
        "Redis latency",
        "ns",
        "Mean time between a request and its answer.",
        "SET,1",
        better=LOWER,
    ),
    made(
        LLM,
        "llm_generation_tokens_per_s",
        "Language model, writing",
        "tokens/s",
        "Tokens written per second.",
        "SmolLM-135M.Q4_K_M.gguf,128",
    ),
    made(
        LLM,
        "llm_prompt_tokens_per_s",
        "Language model, reading",
        "tokens/s",
        "Tokens of a prompt read per second.",
        "SmolLM-135M.Q4_K_M.gguf,512",
    ),
    made(
        PGBENCH,
        "pgbench_read_per_s",
        "PostgreSQL, reading",
        "transactions/s",
        "Transactions per second that only read.",
        "peak",
    ),
    made(
        NVBANDWIDTH,
        "nvbandwidth_bytes_per_s",
        "Accelerator bandwidth",
        "bytes/s",
        "Bytes moved per second; variant = between whom.",
        "all,host_to_gpu",
    ),
    made(
        NVBANDWIDTH,
        "nvbandwidth_latency_ns",
        "Accelerator latency",
        "ns",
        "Time of one dependent load; variant = between whom.",
        "slot",
        better=LOWER,
    ),
    made(
        NVBANDWIDTH,
        "nvbandwidth_efficiency_ratio",
        "Accelerator copies by its cores",
        "ratio",
        "Bandwidth of copies by an accelerator's cores over that of its copy engines.",
        is_ranked=False,
    ),
    made(
        KERNEL,
        "bogomips",
        "BogoMIPS",
        "BogoMIPS",
        "The kernel's calibration of its delay loop.",
        is_ranked=False,
    ),
    made(
        DERIVED,
        "workload_profile_ratio",
        "Workload profile",
        "ratio",
        "Weighted geometric mean of ratios to the median of their machines.",
        is_ranked=False,
    ),
)
SPARE_CORES = tuple(metric for _, metric in _TABLE)
CPU_METRICS = frozenset(metric.key for family, metric in _TABLE if family.is_cpu)
