"""Probes as data, one entry each: its series with their commands, its parser, metrics and programs,
in which profiles it runs and what charts call it. Profiles, forms, plans, the reading of results
and of archives are made from this table.

How long and how often a run measures, and what a person may set, is in backend.domain.profiles.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Literal

from backend.domain.parsing import (
    ParsedSample,
    cmips,
    cpu_tools,
    dd,
    fio,
    inventory,
    memory,
    network,
    small_files,
    sustained,
)
from backend.domain.parsing.inventory import HostFacts

INVENTORY = "inventory"
PACKAGES = "packages"
MATRIX = "fio_matrix"
NETWORK = "network"
INSTALLED = ("fio", "iperf3", "stress-ng", "sysbench")
"""What a host's package manager installs where a run may do so."""
SIZE = ("{file_bytes}", "{disk_s}")
PATHS = "{directories}"
STREAMS = "{network_streams}"

EVERY_PROFILE = ("quick", "standard", "full")
FROM_STANDARD = ("standard", "full")
FULL_ONLY = ("full",)


@dataclass(frozen=True)
class ProbeSeries:
    """One variant of a probe, repeated. Placeholders in the command are the plan's values; one
    that stands for a list becomes as many words."""

    variant: str
    """Without a hyphen, which separates the parts of a result's file name."""
    command: tuple[str, ...]
    expected_s: str
    """Seconds of one repeat: a number, or the name of a plan value plus a number."""
    timeout_s: str
    metric: str
    """The metric whose repeats end the series when their interval is narrow enough."""
    is_once: bool = False
    """Whether one repeat is all, whatever the profile says."""
    is_grid: bool = False
    """Whether it stands for one test at each queue depth with each number of jobs."""
    needed_parameter: str = ""
    """Left out unless the run has this parameter."""
    profiles: tuple[str, ...] = EVERY_PROFILE
    chart_label: str = ""
    """Its line in the chart of throughput over time; without one it has none."""


@dataclass(frozen=True)
class Probe:
    """One tool with its series."""

    name: str
    version: str
    series: tuple[ProbeSeries, ...]
    parser: Callable[..., Sequence[ParsedSample] | HostFacts] | None
    """Text → samples; None where the output is evidence only."""
    metrics: tuple[str, ...]
    needs: tuple[str, ...]
    """Native programs that it runs, beside the runner's own scripts."""
    io: Literal["", "disk", "network"] = ""
    """What the kernel works on for it, in threads and interrupts that count as foreign."""
    is_parsed_by_variant: bool = False
    """Whether the output alone does not say which series it is of."""

    @property
    def variants(self) -> tuple[str, ...]:
        return tuple(series.variant for series in self.series)

    def parse(self, text: str, variant: str) -> Sequence[ParsedSample] | HostFacts:
        """Samples of one output, host facts of the inventory; raises ProbeError."""
        if self.parser is None:
            return ()
        return (
            self.parser(text, variant=variant) if self.is_parsed_by_variant else self.parser(text)
        )


def _dd(variant: str, *command: str, needs: str = "", chart_label: str = "") -> ProbeSeries:
    direction = "write" if variant.startswith("write") else "read"
    return ProbeSeries(
        variant,
        ("disk.sh", *command),
        "usual_disk_s+0",
        "disk_s+60",
        f"disk_{direction}_bytes_per_s",
        needed_parameter=needs,
        chart_label=chart_label,
    )


def _fio(
    variant: str,
    work: str,
    block: str,
    depth: int,
    *,
    metric: str,
    profiles: tuple[str, ...] = FROM_STANDARD,
    chart_label: str = "",
) -> ProbeSeries:
    words = ("{directory}", "{fio_file_bytes}", work, block, str(depth), "1")
    return ProbeSeries(
        variant,
        ("disk.sh", "fio_run", *words, "{fio_s:g}", "{fio_ramp_s:g}"),
        "fio_cell_s+0.5",
        "fio_cell_s+180",  # the first one writes the whole file before it begins
        metric,
        profiles=profiles,
        chart_label=chart_label,
    )


def _matrix(direction: str) -> ProbeSeries:
    words = ("{directory}", "{fio_file_bytes}", f"rand{direction}", "4k", "{depth}", "{jobs}")
    return ProbeSeries(
        direction,
        ("disk.sh", "fio_run", *words, "{matrix_s:g}", "{fio_ramp_s:g}"),
        "matrix_cell_s+0.5",
        "matrix_cell_s+180",
        f"disk_rand_{direction}_iops",
        is_once=True,
        is_grid=True,
        profiles=FULL_ONLY,
    )


def _network(
    variant: str, function: str, *words: str, metric: str, chart_label: str = ""
) -> ProbeSeries:
    return ProbeSeries(
        variant,
        ("network.sh", function, "{peer_address}", *words),
        "ping_s+1" if function == "ping" else "network_s+1",
        "ping_s+30" if function == "ping" else "network_s+30",
        metric,
        needed_parameter="peer",
        chart_label=chart_label,
    )


def _tcp(variant: str, streams: str, direction: str, chart_label: str) -> ProbeSeries:
    words = ("{peer_port}", "{network_s}", streams, direction)
    return _network(variant, "tcp", *words, metric="net_tcp_bits_per_s", chart_label=chart_label)


def _udp(variant: str, direction: str) -> ProbeSeries:
    words = ("{peer_port}", "{network_s}", "{udp_bits_per_s}", direction)
    return _network(variant, "udp", *words, metric="net_udp_jitter_ns")


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
        is_parsed_by_variant=True,  # on one CPU all threads are one thread
    )


_TABLE = (
    Probe(
        name=PACKAGES,
        version="1",
        series=(ProbeSeries("install", ("packages.sh", "install", *INSTALLED), "20", "600", ""),),
        parser=None,
        metrics=(),
        needs=(),
    ),
    Probe(
        name=INVENTORY,
        version="2",
        series=(ProbeSeries("host", ("inventory.sh", "inventory", "{directory}"), "1", "20", ""),),
        parser=inventory.parse,
        metrics=(),
        needs=(),
    ),
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
        version="1",
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
    Probe(
        name="dd",
        version="2",
        series=(
            _dd("write", "dd_write", "{directory}", *SIZE, chart_label="dd write"),
            _dd("read", "dd_read", "{directory}", *SIZE, chart_label="dd read"),
            _dd("write_parallel", "dd_parallel", "write", *SIZE, PATHS, needs="directories"),
            _dd("read_parallel", "dd_parallel", "read", *SIZE, PATHS, needs="directories"),
            _dd("read_outer", "dd_device", "outer", "{device}", *SIZE, needs="device"),
            _dd("read_inner", "dd_device", "inner", "{device}", *SIZE, needs="device"),
        ),
        parser=dd.parse,
        metrics=("disk_write_bytes_per_s", "disk_read_bytes_per_s"),
        needs=("memory",),  # makes the incompressible source
        io="disk",
    ),
    Probe(
        name="small_files",
        version="1",
        series=(
            ProbeSeries(
                "create",
                ("disk.sh", "small_files", "{directory}", "{small_files}"),
                "small_files_s+0.5",
                "small_files_s+300",
                "small_files_per_s",
            ),
        ),
        parser=small_files.parse,
        metrics=("small_files_per_s", "fsync_p99_ns"),
        needs=("small_files",),
        io="disk",
    ),
    Probe(
        name="fio",
        version="1",
        series=(
            _fio("rand_read_qd1", "randread", "4k", 1, metric="disk_rand_read_p99_ns"),
            _fio(
                "rand_read_qd32",
                "randread",
                "4k",
                32,
                metric="disk_rand_read_iops",
                profiles=EVERY_PROFILE,
            ),
            _fio("rand_write_qd1", "randwrite", "4k", 1, metric="disk_rand_write_p99_ns"),
            _fio(
                "rand_write_qd32",
                "randwrite",
                "4k",
                32,
                metric="disk_rand_write_iops",
                profiles=EVERY_PROFILE,
            ),
            _fio("mixed_qd32", "randrw70", "4k", 32, metric="disk_rand_read_iops"),
            _fio(
                "seq_read_qd8",
                "read",
                "1m",
                8,
                metric="disk_read_bytes_per_s",
                chart_label="fio read, 1 MiB",
            ),
            _fio(
                "seq_write_qd8",
                "write",
                "1m",
                8,
                metric="disk_write_bytes_per_s",
                chart_label="fio write, 1 MiB",
            ),
        ),
        parser=fio.parse,
        metrics=(
            "disk_rand_read_iops",
            "disk_rand_write_iops",
            "disk_rand_read_p99_ns",
            "disk_rand_write_p99_ns",
            "disk_read_bytes_per_s",
            "disk_write_bytes_per_s",
        ),
        needs=(),
        io="disk",
    ),
    Probe(
        name=MATRIX,
        version="1",
        series=(_matrix("read"), _matrix("write")),
        parser=partial(fio.parse, prefix="matrix"),
        metrics=("disk_rand_read_iops", "disk_rand_write_iops"),
        needs=(),
        io="disk",
    ),
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
    Probe(
        name=NETWORK,
        version="1",
        series=(
            _tcp("tcp_parallel", STREAMS, "forward", "{n} streams, to peer"),
            _tcp("tcp_parallel_reverse", STREAMS, "reverse", "{n} streams, from peer"),
            _tcp("tcp_single", "1", "forward", "1 stream, to peer"),
            _tcp("tcp_single_reverse", "1", "reverse", "1 stream, from peer"),
            _udp("udp", "forward"),
            _udp("udp_reverse", "reverse"),
            _network("ping", "ping", "{ping_count}", metric="net_rtt_ns"),
        ),
        parser=network.parse,
        metrics=(
            "net_tcp_bits_per_s",
            "net_udp_jitter_ns",
            "net_udp_loss_ratio",
            "net_rtt_ns",
        ),
        needs=(),
        io="network",
    ),
)
PROBES: Mapping[str, Probe] = MappingProxyType({probe.name: probe for probe in _TABLE})
"""In the order of a round. The inventory always comes first, once."""
CHOICES = tuple(name for name in PROBES if name not in {INVENTORY, PACKAGES})
"""The probes that people choose from."""
_CELL = re.compile(r"(read|write)_qd([0-9]{1,4})_jobs([0-9]{1,4})")


def series_of(probe: str, variant: str) -> ProbeSeries:
    """The series, of a grid its one test; KeyError for a pair that does not exist."""
    cell = _CELL.fullmatch(variant)
    for series in PROBES[probe].series:
        if series.is_grid and cell is not None and cell[1] == series.variant:
            return _cell(series, variant, depth=cell[2], jobs=cell[3])
        if not series.is_grid and series.variant == variant:
            return series
    raise KeyError((probe, variant))


def _cell(series: ProbeSeries, variant: str, *, depth: str, jobs: str) -> ProbeSeries:
    words = {"{depth}": str(int(depth)), "{jobs}": str(int(jobs))}
    command = tuple(words.get(word, word) for word in series.command)
    return replace(series, variant=variant, command=command)
