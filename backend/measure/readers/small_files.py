"""Output of the native small_files probe: one JSON line per repeat."""

from backend.measure.readers import ParsedSample
from backend.measure.readers.disk_files import IN_MEMORY, LEAST_FLUSH_NS, storage_parameters
from backend.measure.readers.record import ProbeRecord, read_record
from backend.measure.stats import CACHED

TOOL = "small_files"
VARIANT = "standard"
# Numbers of the kernel's linux/magic.h, by the names that mount tables use.
FILESYSTEMS = {
    0xEF53: "ext",
    0x58465342: "xfs",
    0x9123683E: "btrfs",
    0x2FC12FC1: "zfs",
    0xCA451A4E: "bcachefs",
    0xF2F52010: "f2fs",
    0x794C7630: "overlay",
    0x6969: "nfs",
    0xFF534D42: "cifs",
    0xFE534D42: "smb2",
    0x00C36400: "ceph",
    0x01021997: "9p",
    0x65735546: "fuse",
    0x01021994: "tmpfs",
    0x858458F6: "ramfs",
}
MIN_FILE_BYTES, MAX_FILE_BYTES = 1024, 65536
ROUNDING_S = 1e-6


def parse(text: str) -> list[ParsedSample]:
    """Files created and flushed per second, and the time (ns) in which 99 of 100 flushes end.

    The flag "cached" says that the files never left memory: the host says so, or a flush takes less
    time than any disk needs. Raises ProbeError.
    """
    record = read_record(TOOL, text, probe=TOOL)
    if not record.flag("checksum_ok"):
        record.fail("checksum_ok is false: files came back with other content")
    rate, p99 = _rate(record), _flushes(record)
    filesystem = _filesystem(record)
    is_reported = "is_in_memory" in record.fields and record.flag("is_in_memory")
    is_in_memory = is_reported or filesystem in IN_MEMORY or p99 < LEAST_FLUSH_NS
    flags = (CACHED,) if is_in_memory else ()
    parameters = {**_parameters(record, filesystem), **storage_parameters(record.fields)}
    return [
        ParsedSample("small_files_per_s", VARIANT, rate, "files/s", parameters, flags),
        ParsedSample("fsync_p99_ns", VARIANT, p99, "ns", parameters, flags),
    ]


def _rate(record: ProbeRecord) -> float:
    files, create_s = record.count("files", minimum=1), record.positive("create_s")
    rate = record.positive("files_per_s")
    if abs(rate * create_s - files) > rate * ROUNDING_S + files / 1000:
        record.fail(f"{files} files in {create_s} s are not {rate} files/s")
    return rate


def _flushes(record: ProbeRecord) -> float:
    p50, p99 = record.number("fsync_p50_ns"), record.positive("fsync_p99_ns")
    if not p50 <= p99 <= record.number("fsync_max_ns"):
        record.fail("the flush times are not in order")
    return p99


def _filesystem(record: ProbeRecord) -> str | None:
    """The name, or the number of one that has none here; None where it was not stated."""
    number = record.count("filesystem_type")
    return FILESYSTEMS.get(number, f"{number:#x}") if number else None


def _parameters(record: ProbeRecord, filesystem: str | None) -> dict[str, object]:
    files, size = record.count("files"), record.count("bytes")
    if not files * MIN_FILE_BYTES <= size <= files * MAX_FILE_BYTES:
        record.fail(f"{files} files cannot have {size} bytes")
    resident, is_cold = record.count("resident_files"), record.flag("is_cold")
    if resident > files or (is_cold and resident):
        record.fail(f"{resident} of {files} files in memory, and is_cold {is_cold}")
    seconds = ("settle_s", "create_s", "forget_s", "read_s", "remove_s")
    rates = ("write_bytes_per_s", "read_files_per_s", "read_bytes_per_s")
    return {
        "files": files,
        "directories": record.count("directories", minimum=1),
        "bytes": size,
        "directory": record.text("directory"),
        "filesystem": filesystem,
        **{key: record.number(key) for key in (*seconds, *rates)},
        **{key: record.number(key) for key in ("fsync_p50_ns", "fsync_p99_ns", "fsync_max_ns")},
        "is_cold": is_cold,
        "arch": record.text("arch"),
        "build_sha256": record.text("build_sha256"),
    }
