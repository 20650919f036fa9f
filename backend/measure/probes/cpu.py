"""Probes of processor and memory."""

from backend.measure.probes.series import (
    EVERY_PROFILE,
    FROM_STANDARD,
    FULL_ONLY,
    GENERAL_ONLY,
    Probe,
    ProbeSeries,
)
from backend.measure.readers import cmips, cpu_tools, general, memory, redis, sustained, web


def _cmips(variant: str, threads: str, metric: str) -> ProbeSeries:
    return ProbeSeries(
        variant,
        ("bin/cmips", "--threads", threads, "--seconds", "{seconds:g}"),
        "seconds+0.5",
        "seconds+20",
        metric,
    )


def _cpu_tool(
    name: str,
    function: str,
    seconds: str,
    metric: str,
    *,
    all_in: tuple[str, ...],
    single_in: tuple[str, ...],
) -> Probe:
    """A tool of others, on all usable CPUs and on one, in these profiles."""

    def series(variant: str, threads: str, profiles: tuple[str, ...]) -> ProbeSeries:
        words = ("cpu.sh", function, threads, f"{{{seconds}}}")
        return ProbeSeries(
            variant, words, f"{seconds}+0.5", f"{seconds}+20", metric, profiles=profiles
        )

    return Probe(
        name=name,
        version="1",
        series=(
            series("all", "all", all_in),
            series("single", "1", single_in),
        ),
        parser=cpu_tools.parse,
        metrics=(metric,),
        needs=(),
        is_tool=True,
        is_parsed_by_variant=True,  # on one CPU all threads are one thread
    )


CPU_PROBES: tuple[Probe, ...] = (
    Probe(
        name="cmips",
        version="1",
        series=(
            _cmips("all", "all", "cmips_score"),
            _cmips("single", "1", "cmips_single_score"),
        ),
        parser=cmips.parse,
        metrics=("cmips_score", "cmips_single_score"),
        needs=("cmips",),
        is_parsed_by_variant=True,  # on one CPU all threads are one thread
    ),
    _cpu_tool(
        "stress_ng",
        "stress_ng_div16",
        "stress_ng_s",
        "stress_ng_div16",
        all_in=EVERY_PROFILE,
        single_in=FROM_STANDARD,
    ),
    _cpu_tool(
        "openssl",
        "openssl_sha256",
        "cpu_tool_s",
        "openssl_sha256_bytes_per_s",
        all_in=FROM_STANDARD,
        single_in=FULL_ONLY,
    ),
    _cpu_tool(
        "sysbench",
        "sysbench_cpu",
        "cpu_tool_s",
        "sysbench_cpu_events_per_s",
        all_in=FROM_STANDARD,
        single_in=FULL_ONLY,
    ),
    Probe(
        name="memory",
        version="3",
        series=(
            ProbeSeries(
                "bandwidth",
                ("bin/memory", "--test", "bandwidth", "--threads", "all", "--seconds", "1"),
                "2",
                "60",
                "memory_bandwidth_bytes_per_s",
            ),
            ProbeSeries(
                "latency",
                ("bin/memory", "--test", "latency", "--threads", "1"),
                "3",
                "60",
                "memory_latency_ns",
            ),
        ),
        parser=memory.parse,
        metrics=("memory_bandwidth_bytes_per_s", "memory_latency_ns"),
        needs=("memory",),
    ),
)
# Client and server share the machine, and the kernel's work for the loopback belongs to nobody.
WORK_PROBES: tuple[Probe, ...] = (
    Probe(
        name="general",
        version="1",
        series=(
            ProbeSeries(
                "all",
                ("general.sh", "{redis_s}", "{algorithm_s}"),
                # Each test of Redis starts and warms its servers, and there are 11 algorithms.
                "redis_s+redis_s+algorithms_s+5",
                "redis_s+redis_s+algorithms_s+90",
                "general_performance",
                profiles=GENERAL_ONLY,
            ),
        ),
        parser=general.parse,
        metrics=("general_performance", "redis_set_per_s", "openssl_bytes_per_s"),
        needs=(),
        io="network",
        is_tool=True,
    ),
    Probe(
        name="redis",
        version="1",
        series=tuple(
            ProbeSeries(
                f"p{pipeline}",
                ("redis.sh", "set", pipeline, "{redis_s}"),
                "redis_s+2.5",
                "redis_s+60",
                "redis_set_per_s",
                profiles=(),
            )
            for pipeline in ("16", "1")
        ),
        parser=redis.parse,
        metrics=("redis_set_per_s",),
        needs=(),
        io="network",
        is_tool=True,
        part_of="general",
    ),
    Probe(
        name="web",
        version="1",
        series=tuple(
            ProbeSeries(
                f"{kib}k",
                ("web.sh", kib, "{web_s}"),
                # A test with each of three numbers of connections.
                "web_s+web_s+web_s+1",
                "web_s+web_s+web_s+60",
                "web_requests_per_s",
                profiles=(),
            )
            for kib in ("64", "1")
        ),
        parser=web.parse,
        metrics=("web_requests_per_s",),
        needs=(),
        io="network",
        is_tool=True,
    ),
)
LASTING_PROBES: tuple[Probe, ...] = (
    Probe(
        name="sustained",
        version="1",
        series=(
            ProbeSeries(
                "all",
                (
                    "bin/cmips",
                    "--threads",
                    "all",
                    "--seconds",
                    "{sustained_s}",
                    "--window",
                    "{sustained_window_s}",
                ),
                "sustained_s+1",
                "sustained_s+60",
                "cmips_sustained_ratio",
                is_once=True,
                profiles=FULL_ONLY,
            ),
        ),
        parser=sustained.parse,
        metrics=("cmips_sustained_ratio",),
        needs=("cmips",),
    ),
)
