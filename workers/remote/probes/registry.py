"""Probes as data: how each series is measured, and by which parser its output becomes samples.

What a run may ask for (names, profiles, parameters) is in backend.domain.profiles.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from types import MappingProxyType
from typing import Any

INVENTORY = "inventory"
PACKAGES = "packages"
MATRIX = "fio_matrix"
SIZE = ("{file_bytes}", "{disk_s}")


@dataclass(frozen=True)
class Series:
    """One variant of a probe, repeated. Placeholders in the command are the plan's values; one
    that stands for a list becomes as many words."""

    variant: str
    command: tuple[str, ...]
    expected_s: str
    """Seconds of one repeat: a number, or the name of a plan value plus a number."""
    timeout_s: str
    metric: str
    """The metric whose repeats end the series when their interval is narrow enough."""
    parser_arguments: Mapping[str, Any] = field(default_factory=dict)
    is_once: bool = False
    """Whether one repeat is all, whatever the profile says."""


@dataclass(frozen=True)
class Probe:
    """One tool with its series."""

    name: str
    version: str
    series: tuple[Series, ...]
    parser: str
    """Dotted path `module:function` of text → samples; empty where the output is evidence only."""
    metrics: tuple[str, ...]
    needs: tuple[str, ...]
    """What of the bundle it runs, beside the runner's own scripts."""
    is_io: bool = False
    """Whether the kernel works for it in threads and interrupts that count as foreign."""

    def parse(self, text: str, variant: str) -> Any:
        """Samples of one output, host facts of the inventory; raises ProbeError."""
        if not self.parser:
            return ()
        module, _, function = self.parser.partition(":")
        parser = getattr(import_module(module), function)
        return parser(text, **series(self.name, variant).parser_arguments)


def _dd(variant: str, *command: str) -> Series:
    direction = "write" if variant.startswith("write") else "read"
    return Series(
        variant,
        ("disk.sh", *command),
        "usual_disk_s+0",
        "disk_s+60",
        f"disk_{direction}_bytes_per_s",
    )


def _fio(variant: str, work: str, block: str, depth: int, jobs: int, *, metric: str) -> Series:
    return Series(
        variant,
        (
            "disk.sh",
            "fio_run",
            "{directory}",
            "{fio_file_bytes}",
            work,
            block,
            str(depth),
            str(jobs),
            "{fio_s:g}",
            "{fio_ramp_s:g}",
        ),
        "fio_cell_s+0.5",
        "fio_cell_s+180",  # the first one writes the whole file before it begins
        metric,
    )


def _network(variant: str, function: str, *words: str, metric: str) -> Series:
    return Series(
        variant,
        ("network.sh", function, "{peer_address}", *words),
        "ping_s+1" if function == "ping" else "network_s+1",
        "ping_s+30" if function == "ping" else "network_s+30",
        metric,
    )


def _tcp(variant: str, streams: str, direction: str) -> Series:
    words = ("{peer_port}", "{network_s}", streams, direction)
    return _network(variant, "tcp", *words, metric="net_tcp_bits_per_s")


def _udp(variant: str, direction: str) -> Series:
    words = ("{peer_port}", "{network_s}", "{udp_bits_per_s}", direction)
    return _network(variant, "udp", *words, metric="net_udp_jitter_ns")


PROBES: Mapping[str, Probe] = MappingProxyType(
    {
        probe.name: probe
        for probe in (
            Probe(
                name=PACKAGES,
                version="1",
                series=(
                    Series("install", ("packages.sh", "install", "fio", "iperf3"), "20", "600", ""),
                ),
                parser="",
                metrics=(),
                needs=(),
            ),
            Probe(
                name=INVENTORY,
                version="2",
                series=(
                    Series("host", ("inventory.sh", "inventory", "{directory}"), "1", "20", ""),
                ),
                parser="backend.domain.parsing.inventory:parse",
                metrics=(),
                needs=(),
            ),
            Probe(
                name="cmips",
                version="1",
                series=(
                    Series(
                        "all",
                        ("bin/cmips", "--threads", "all", "--seconds", "{seconds:g}"),
                        "seconds+0.5",
                        "seconds+20",
                        "cmips_score",
                        {"variant": "all"},
                    ),
                    Series(
                        "single",
                        ("bin/cmips", "--threads", "1", "--seconds", "{seconds:g}"),
                        "seconds+0.5",
                        "seconds+20",
                        "cmips_single_score",
                        {"variant": "single"},
                    ),
                ),
                parser="backend.domain.parsing.cmips:parse",
                metrics=("cmips_score", "cmips_single_score"),
                needs=("cmips",),
            ),
            Probe(
                name="memory",
                version="1",
                series=(
                    Series(
                        "bandwidth",
                        ("bin/memory", "--test", "bandwidth", "--threads", "all", "--seconds", "1"),
                        "2",
                        "60",
                        "memory_bandwidth_bytes_per_s",
                    ),
                    Series(
                        "latency",
                        ("bin/memory", "--test", "latency", "--threads", "1"),
                        "3",
                        "60",
                        "memory_latency_ns",
                    ),
                ),
                parser="backend.domain.parsing.memory:parse",
                metrics=("memory_bandwidth_bytes_per_s", "memory_latency_ns"),
                needs=("memory",),
            ),
            Probe(
                name="dd",
                version="2",
                series=(
                    _dd("write", "dd_write", "{directory}", *SIZE),
                    _dd("read", "dd_read", "{directory}", *SIZE),
                    _dd("write_parallel", "dd_parallel", "write", *SIZE, "{directories}"),
                    _dd("read_parallel", "dd_parallel", "read", *SIZE, "{directories}"),
                    _dd("read_outer", "dd_device", "outer", "{device}", *SIZE),
                    _dd("read_inner", "dd_device", "inner", "{device}", *SIZE),
                ),
                parser="backend.domain.parsing.dd:parse",
                metrics=("disk_write_bytes_per_s", "disk_read_bytes_per_s"),
                needs=("memory",),  # makes the incompressible source
                is_io=True,
            ),
            Probe(
                name="small_files",
                version="1",
                series=(
                    Series(
                        "create",
                        ("disk.sh", "small_files", "{directory}", "{small_files}"),
                        "small_files_s+0.5",
                        "small_files_s+300",
                        "small_files_per_s",
                    ),
                ),
                parser="backend.domain.parsing.small_files:parse",
                metrics=("small_files_per_s", "fsync_p99_ns"),
                needs=("small_files",),
                is_io=True,
            ),
            Probe(
                name="fio",
                version="1",
                series=(
                    _fio("rand_read_qd1", "randread", "4k", 1, 1, metric="disk_rand_read_p99_ns"),
                    _fio("rand_read_qd32", "randread", "4k", 32, 1, metric="disk_rand_read_iops"),
                    _fio(
                        "rand_write_qd1", "randwrite", "4k", 1, 1, metric="disk_rand_write_p99_ns"
                    ),
                    _fio(
                        "rand_write_qd32", "randwrite", "4k", 32, 1, metric="disk_rand_write_iops"
                    ),
                    _fio("mixed_qd32", "randrw70", "4k", 32, 1, metric="disk_rand_read_iops"),
                    _fio("seq_read_qd8", "read", "1m", 8, 1, metric="disk_read_bytes_per_s"),
                    _fio("seq_write_qd8", "write", "1m", 8, 1, metric="disk_write_bytes_per_s"),
                ),
                parser="backend.domain.parsing.fio:parse",
                metrics=(
                    "disk_rand_read_iops",
                    "disk_rand_write_iops",
                    "disk_rand_read_p99_ns",
                    "disk_rand_write_p99_ns",
                    "disk_read_bytes_per_s",
                    "disk_write_bytes_per_s",
                ),
                needs=(),
                is_io=True,
            ),
            Probe(
                name=MATRIX,
                version="1",
                series=(),  # made by series() for every depth and number of jobs
                parser="backend.domain.parsing.fio:parse",
                metrics=("disk_rand_read_iops", "disk_rand_write_iops"),
                needs=(),
                is_io=True,
            ),
            Probe(
                name="sustained",
                version="1",
                series=(
                    Series(
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
                    ),
                ),
                parser="backend.domain.parsing.sustained:parse",
                metrics=("cmips_sustained_ratio",),
                needs=("cmips",),
            ),
            Probe(
                name="network",
                version="1",
                series=(
                    _tcp("tcp_parallel", "{network_streams}", "forward"),
                    _tcp("tcp_parallel_reverse", "{network_streams}", "reverse"),
                    _tcp("tcp_single", "1", "forward"),
                    _tcp("tcp_single_reverse", "1", "reverse"),
                    _udp("udp", "forward"),
                    _udp("udp_reverse", "reverse"),
                    _network("ping", "ping", "{ping_count}", metric="net_rtt_ns"),
                ),
                parser="backend.domain.parsing.network:parse",
                metrics=(
                    "net_tcp_bits_per_s",
                    "net_udp_jitter_ns",
                    "net_udp_loss_ratio",
                    "net_rtt_ns",
                ),
                needs=(),
                is_io=True,
            ),
        )
    }
)
_CELL = re.compile(r"(read|write)_qd([0-9]{1,4})_jobs([0-9]{1,4})")


def series(probe: str, variant: str) -> Series:
    """KeyError for a pair that does not exist."""
    cell = _CELL.fullmatch(variant) if probe == MATRIX else None
    if cell is not None:
        return _cell(variant, cell[1], int(cell[2]), int(cell[3]))
    for candidate in PROBES[probe].series:
        if candidate.variant == variant:
            return candidate
    raise KeyError((probe, variant))


def _cell(variant: str, direction: str, depth: int, jobs: int) -> Series:
    """One test of the fio matrix, taken once."""
    made = _fio(
        variant, f"rand{direction}", "4k", depth, jobs, metric=f"disk_rand_{direction}_iops"
    )
    command = tuple(word.replace("{fio_s:g}", "{matrix_s:g}") for word in made.command)
    return replace(
        made,
        command=command,
        expected_s="matrix_cell_s+0.5",
        timeout_s="matrix_cell_s+180",
        parser_arguments={"prefix": "matrix"},
        is_once=True,
    )
