"""Spare Cores' benchmark ids and configurations as our metrics and variants.

A row of BENCHMARKS for each id; one that is not there is counted by the caller, never guessed.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from backend.foundation.errors import InvalidValue
from backend.foundation.reading.texts import why_not_kept
from backend.measure.metrics import METRICS
from backend.measure.metrics.suites import GEEKBENCH_PARTS, PASSMARK_CPU, PASSMARK_MEMORY_PARTS

KILO, MEGA, GIGA = 1e3, 1e6, 1e9
# In nanoseconds.
MILLISECOND, SECOND = 1e6, 1e9
MIB = 2.0**20
PER_MINUTE = 1 / 60
# In older files one more part of the configuration; no two series differ in it alone.
VERSION = "framework_version"
NO_CONFIGURATION = "standard"
MOST_VARIANT, MOST_START = 40, 31
CORES = {"Single-Core Performance": "single", "Multi-Core Performance": "multi"}


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Our metric of one of their ids, and what one of their units is in ours.

    `shape` are the parts of the usual configuration, in the order in which they make the variant;
    `variant` comes first where the id itself says it.
    """

    metric: str
    factor: float = 1.0
    shape: tuple[str, ...] = ()
    variant: str = ""


# Where PassMark counts in thousands or millions.
PASSMARK_FACTORS: Mapping[str, float] = MappingProxyType(
    {
        "passmark_integer_ops_per_s": MEGA,
        "passmark_floating_point_ops_per_s": MEGA,
        "passmark_primes_per_s": MEGA,
        "passmark_strings_per_s": KILO,
        "passmark_single_ops_per_s": MEGA,
        "passmark_matrices_per_s": MEGA,
        "passmark_database_ops_per_s": KILO,
    }
)
WEB, REDIS = ("size", "connections_per_vcpus"), ("operation", "pipeline")
COMPRESSION = ("algo", "compression_level", "cores")
MEMBENCH = ("size_kb",)
LLM = ("model", "tokens")

BENCHMARKS: Mapping[str, Benchmark] = MappingProxyType(
    {
        "stress_ng:bestn": Benchmark("stress_ng_div16", variant="best_of_workers"),
        "stress_ng:best1": Benchmark("stress_ng_div16_single_ops_per_s"),
        "stress_ng:div16": Benchmark("stress_ng_div16_curve_ops_per_s", shape=("cores",)),
        "stress_ng:cpu_all": Benchmark("stress_ng_cpu_all_ops_per_s", shape=("cores",)),
        "geekbench:score": Benchmark("geekbench_score", shape=("cores",)),
        **{
            f"geekbench:{part}": Benchmark(f"geekbench_{part}_score", shape=("cores",))
            for part in GEEKBENCH_PARTS
        },
        **{
            f"passmark:{part}": Benchmark(key, PASSMARK_FACTORS.get(key, 1.0))
            for part, key, *_ in (*PASSMARK_CPU, *PASSMARK_MEMORY_PARTS)
        },
        # The sizes that it prints show that its megabytes are 10^6 bytes.
        "bw_mem": Benchmark("bw_mem_bytes_per_s", MEGA, ("operation", "size")),
        # Its source divides by 1024 × 1024.
        "membench:bandwidth_read": Benchmark("membench_read_bytes_per_s", MIB, MEMBENCH),
        "membench:bandwidth_write": Benchmark("membench_write_bytes_per_s", MIB, MEMBENCH),
        "membench:bandwidth_copy": Benchmark("membench_copy_bytes_per_s", MIB, MEMBENCH),
        "membench:latency": Benchmark("membench_latency_ns", shape=MEMBENCH),
        "compression_text:compress": Benchmark("compression_bytes_per_s", shape=COMPRESSION),
        "compression_text:decompress": Benchmark("decompression_bytes_per_s", shape=COMPRESSION),
        "compression_text:ratio": Benchmark("compression_size_ratio", shape=COMPRESSION),
        "openssl": Benchmark("openssl_bytes_per_s", shape=("algo", "block_size")),
        "static_web:rps": Benchmark("static_web_requests_per_s", shape=WEB),
        "static_web:rps-extrapolated": Benchmark("static_web_server_requests_per_s", shape=WEB),
        "static_web:throughput": Benchmark("static_web_bytes_per_s", shape=WEB),
        "static_web:throughput-extrapolated": Benchmark("static_web_server_bytes_per_s", shape=WEB),
        "static_web:latency": Benchmark("static_web_latency_ns", SECOND, WEB),
        "redis:rps": Benchmark("redis_ops_per_s", shape=REDIS),
        "redis:rps-extrapolated": Benchmark("redis_server_ops_per_s", shape=REDIS),
        "redis:latency": Benchmark("redis_latency_ns", MILLISECOND, REDIS),
        "llm_speed:text_generation": Benchmark("llm_generation_tokens_per_s", shape=LLM),
        "llm_speed:prompt_processing": Benchmark("llm_prompt_tokens_per_s", shape=LLM),
        "pgbench:heavy_read_only": Benchmark(
            "pgbench_read_per_s", PER_MINUTE, shape=("concurrency",)
        ),
        "pgbench:heavy_read_only:peak": Benchmark("pgbench_read_per_s", PER_MINUTE, variant="peak"),
        "pgbench:heavy_read_only:single": Benchmark(
            "pgbench_read_per_s", PER_MINUTE, variant="single"
        ),
        **{
            f"nvbandwidth:{location}:{direction}": Benchmark(
                "nvbandwidth_bytes_per_s", GIGA, variant=f"{location},{direction}"
            )
            for location, directions in (
                ("all", ("duplex", "gpu_to_host", "host_to_gpu")),
                ("slot", ("gpu_to_host", "host_to_gpu")),
                ("p2p", ("duplex", "gather", "single")),
            )
            for direction in directions
        },
        "nvbandwidth:slot:latency": Benchmark("nvbandwidth_latency_ns", variant="slot"),
        "nvbandwidth:p2p:latency": Benchmark("nvbandwidth_latency_ns", variant="p2p"),
        "nvbandwidth:efficiency:sm_ce_ratio": Benchmark("nvbandwidth_efficiency_ratio"),
        "bogomips": Benchmark("bogomips"),
        **{
            f"workload_profile:{name}": Benchmark("workload_profile_ratio", variant=name)
            for name in ("web", "compute", "cache", "data_analysis", "database", "llm", "cicd")
        },
    }
)


@dataclass(frozen=True, slots=True)
class Series:
    """A benchmark and configuration, common to all their scores."""

    metric: str
    variant: str
    unit: str
    factor: float
    """Our figure = theirs × factor."""
    is_ranked: bool
    parameters: Mapping[str, Any]
    version: str
    """Version of the tool, where the configuration says it."""


def series(benchmark_id: str, config: str) -> Series | None:
    """The series of an id and its configuration as JSON; None for an id that we do not know.

    Raises InvalidValue for a configuration that is no object or cannot be kept.
    """
    benchmark = BENCHMARKS.get(benchmark_id)
    if benchmark is None:
        return None
    settings = _config(config)
    version = settings.pop(VERSION, None)
    variant = _variant(benchmark, settings)
    metric = METRICS[benchmark.metric]
    return Series(
        metric=metric.key,
        variant=variant,
        unit=metric.unit,
        factor=benchmark.factor,
        is_ranked=variant in metric.ranking_variants,
        parameters={"benchmark": benchmark_id, "config": settings},
        version=version if isinstance(version, str) else "",
    )


def _config(text: str) -> dict[str, Any]:
    try:
        settings = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise InvalidValue("config", "not JSON") from error
    if settings is None:
        return {}
    if not isinstance(settings, dict) or why_not_kept(settings) is not None:
        raise InvalidValue("config", "no object that can be kept")
    return settings


def _variant(benchmark: Benchmark, config: Mapping[str, Any]) -> str:
    """The values of the usual configuration, else its parts by name: no two alike, 40 characters.

    8, 8.0 and "8" are one value; a part that is null is as one that is not there.
    """
    settings = {name: _value(value) for name, value in config.items() if value is not None}
    if settings.keys() == set(benchmark.shape):
        values = parts = [settings[name] for name in benchmark.shape]
    elif set(settings) == {"scope"} and benchmark.shape == MEMBENCH:
        values = parts = [settings["scope"]]
    else:
        values = list(settings.values())
        parts = [f"{name}={value}" for name, value in sorted(settings.items())]
    variant = ",".join(filter(None, (benchmark.variant, *parts))) or NO_CONFIGURATION
    # A value that could be taken for another one's part makes no variant by itself.
    is_plain = all(value not in {"", NO_CONFIGURATION} for value in values)
    is_plain &= not any(sign in value for value in values for sign in ",=")
    if is_plain and variant.isprintable() and len(variant) <= MOST_VARIANT:
        return variant
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
    start = "".join(c for c in variant if c.isprintable())[:MOST_START]
    return f"{start}~{digest}"


def _value(value: object) -> str:
    if isinstance(value, str):
        return CORES.get(value, value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True)
