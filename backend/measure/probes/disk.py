"""Probes of disks and file systems."""

from functools import partial

from backend.foundation.texts import text as _
from backend.measure.probes.series import (
    EVERY_PROFILE,
    FROM_STANDARD,
    FULL_ONLY,
    RENTED,
    Probe,
    ProbeSeries,
)
from backend.measure.readers import dd, fio, fio_local, fio_steady, small_files

MATRIX = "fio_matrix"
SIZE = ("{file_bytes}", "{disk_s}")
PATHS = "{directories}"


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


def _local(variant: str, work: str, block: str, depth: int, metric: str) -> ProbeSeries:
    words = ("{fio_file_bytes}", work, block, str(depth), "{fio_s:g}", "{fio_ramp_s:g}")
    return ProbeSeries(
        variant,
        ("disk.sh", "fio_local", *words),
        "fio_cell_s+0.5",
        "fio_cell_s+300",  # the first one formats the disk and writes the whole file
        metric,
        needed_parameter=RENTED,
        profiles=FROM_STANDARD,
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


def _steady(variant: str, work: str, block: str, depth: int, metric: str) -> ProbeSeries:
    words = ("{directory}", "{fio_file_bytes}", work, block, str(depth))
    bounds = ("{steady_s}", "{steady_window_s}", "{steady_bytes}")
    return ProbeSeries(
        variant,
        ("disk.sh", "fio_steady", *words, "{fio_s:g}", "{fio_ramp_s:g}", *bounds),
        "steady_test_s+0.5",
        "steady_limit_s+60",
        metric,
        is_once=True,
        profiles=(),  # it writes for long and much: only who names it has it
    )


DISK_PROBES: tuple[Probe, ...] = (
    Probe(
        name="dd",
        version="2",
        series=(
            _dd("write", "dd_write", "{directory}", *SIZE, chart_label=_("dd write")),
            _dd("read", "dd_read", "{directory}", *SIZE, chart_label=_("dd read")),
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
                chart_label=_("fio read, 1 MiB"),
            ),
            _fio(
                "seq_write_qd8",
                "write",
                "1m",
                8,
                metric="disk_write_bytes_per_s",
                chart_label=_("fio write, 1 MiB"),
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
        is_tool=True,
        io="disk",
    ),
    Probe(
        name=MATRIX,
        version="1",
        series=(_matrix("read"), _matrix("write")),
        parser=partial(fio.parse, prefix="matrix"),
        metrics=("disk_rand_read_iops", "disk_rand_write_iops"),
        needs=(),
        is_tool=True,
        io="disk",
    ),
    Probe(
        name="fio_steady",
        version="1",
        series=(
            _steady("rand_write_qd32", "randwrite", "4k", 32, "disk_rand_write_iops"),
            _steady("rand_read_qd32", "randread", "4k", 32, "disk_rand_read_iops"),
            _steady("seq_write_qd8", "write", "1m", 8, "disk_write_bytes_per_s"),
        ),
        parser=fio_steady.parse,
        metrics=(
            "disk_rand_write_iops",
            "disk_rand_read_iops",
            "disk_rand_write_p99_ns",
            "disk_rand_read_p99_ns",
            "disk_write_bytes_per_s",
        ),
        needs=(),
        is_tool=True,
        io="disk",
    ),
    Probe(
        name="local_disk",
        version="1",
        series=(
            _local("rand_read_qd32", "randread", "4k", 32, "disk_rand_read_iops"),
            _local("rand_write_qd32", "randwrite", "4k", 32, "disk_rand_write_iops"),
            _local("seq_read_qd8", "read", "1m", 8, "disk_read_bytes_per_s"),
            _local("seq_write_qd8", "write", "1m", 8, "disk_write_bytes_per_s"),
        ),
        parser=fio_local.parse,
        metrics=(
            "disk_rand_read_iops",
            "disk_rand_write_iops",
            "disk_rand_read_p99_ns",
            "disk_rand_write_p99_ns",
            "disk_read_bytes_per_s",
            "disk_write_bytes_per_s",
        ),
        needs=(),
        is_tool=True,
        io="disk",
    ),
)
