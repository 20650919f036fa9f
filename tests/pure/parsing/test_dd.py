"""Copies and their conditions in what dd and the runner print."""

from dataclasses import replace
from typing import Any

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import dd, frames
from backend.measure.readers.dd import Copied, DdConditions

GIB = 1024**3
GNU = "1024+0 records in\n1024+0 records out\n1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.5 s, 2.1 GB/s\n"


def test_dd_sums_the_chunks_when_the_write_is_recorded(recorded):
    (sample,) = dd.parse(recorded("dd-gnu-9.1-write-direct"))
    assert (sample.metric, sample.variant) == ("disk_write_bytes_per_s", "dd_direct")
    assert (sample.unit, sample.flags) == ("bytes/s", ())
    assert sample.parameters["bytes"] == 384 * 1024**2
    assert sample.parameters["copies"] == 2
    parameters: dict[str, Any] = dict(sample.parameters)
    assert sample.value == pytest.approx(384 * 1024**2 / parameters["seconds"])
    assert sample.parameters["filesystem"] == "ext4"


def test_dd_gives_the_read_rate_when_the_read_is_recorded(recorded):
    (sample,) = dd.parse(recorded("dd-gnu-9.1-read-direct"))
    assert (sample.metric, sample.variant) == ("disk_read_bytes_per_s", "dd_direct")


@pytest.mark.parametrize("direction", ["write", "read"])
def test_dd_uses_the_runner_clock_when_busybox_prints_no_time(recorded, direction):
    (sample,) = dd.parse(recorded(f"dd-busybox-1.35-{direction}"))
    assert sample.metric == f"disk_{direction}_bytes_per_s"
    assert sample.parameters["bytes"] == 384 * 1024**2
    assert str(sample.parameters["dd"]).startswith("BusyBox v1.35.0")


@pytest.mark.parametrize("direction", ["write", "read"])
def test_dd_is_flagged_cached_when_the_file_system_is_in_memory(recorded, direction):
    (sample,) = dd.parse(recorded(f"dd-gnu-9.1-{direction}-tmpfs"))
    assert (sample.variant, sample.flags) == ("dd_cached", ("cached",))


@pytest.mark.parametrize(
    ("text", "copied"),
    [
        (GNU, Copied(GIB, 0.5)),
        (
            "1+0 records in\n1+0 records out\n512 bytes copied, 4.2e-05 s, 12.2 MB/s\n",
            Copied(512, 4.2e-05),
        ),
        ("1+0 records in\r\n1+0 records out\r\n1 byte copied, 1 s, 0.0 kB/s\r\n", Copied(1, 1)),
        (
            "4+0 records in\n4+0 records out\n4194304 bytes (4.0MB) copied, 0.001247 seconds, 3.1GB/s\n",
            Copied(4194304, 0.001247),
        ),
        (
            "8+0 records in\n8+0 records out\n8388608 bytes transferred in 0.25 secs (33554432 bytes/sec)\n",
            Copied(8388608, 0.25),
        ),
        (
            "524288000 bytes (524 MB, 500 MiB) copied, 1 s, 524 MB/s\r"
            "1048576000 bytes (1.0 GB, 1000 MiB) copied, 2 s, 524 MB/s\n"
            "1024+0 records in\n1024+0 records out\n"
            "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2.05 s, 524 MB/s\n",
            Copied(GIB, 2.05),
        ),
        (
            "dd: warning: partial read (131072 bytes); suggest iflag=fullblock\n" + GNU,
            Copied(GIB, 0.5),
        ),
    ],
)
def test_dd_reads_bytes_and_seconds_when_the_version_differs(text, copied):
    assert dd.copies(text) == [copied]


def test_dd_reads_the_progress_form_when_it_is_recorded(recorded):
    (copied,) = dd.copies(recorded("dd-gnu-9.1-progress"))
    assert copied.bytes == 64 * 1024**2


def test_dd_does_not_read_the_printed_rate_when_it_is_rounded():
    # 1,073,741,824 B / 0.5 s = 2,147,483,648 B/s; dd prints 2.1 GB/s.
    (sample,) = dd.parse(GNU, DdConditions("write", "direct"))
    assert sample.value == 2_147_483_648


def test_dd_has_no_direction_without_conditions():
    (sample,) = dd.parse(GNU)
    assert (sample.metric, sample.variant) == ("dd_bytes_per_s", "dd")
    assert sample.flags == ("conditions_unknown",)


@pytest.mark.parametrize(
    ("conditions", "variant", "flags"),
    [
        (DdConditions("read", "direct"), "dd_direct", ()),
        (DdConditions("write", "fdatasync", ram_bytes=GIB // 2), "dd_fdatasync", ()),
        (DdConditions("write", "fdatasync", ram_bytes=GIB // 2 + 1), "dd_fdatasync", ("cached",)),
        (DdConditions("write", "fdatasync"), "dd_fdatasync", ("cached",)),
        (DdConditions("read", "fdatasync", ram_bytes=GIB, is_dropped=True), "dd_fdatasync", ()),
        (DdConditions("read", "cached", ram_bytes=1), "dd_cached", ("cached",)),
        (DdConditions("read", "unknown"), "dd_unknown", ("conditions_unknown",)),
    ],
)
def test_dd_is_flagged_when_memory_may_stand_in_for_the_disk(conditions, variant, flags):
    (sample,) = dd.parse(GNU, replace(conditions, source="random"))
    assert (sample.variant, sample.flags) == (variant, flags)


@pytest.mark.parametrize(
    ("conditions", "flags"),
    [
        (DdConditions("read", "fdatasync", ram_bytes=GIB, is_dropped=True), ("cached",)),
        (DdConditions("read", "fdatasync", ram_bytes=GIB, cache_bytes=GIB // 2), ()),
        (DdConditions("read", "fdatasync", ram_bytes=GIB, cache_bytes=GIB // 2 + 1), ("cached",)),
        (DdConditions("read", "fdatasync", ram_bytes=GIB // 2), ()),
    ],
)
def test_dd_on_zfs_is_cached_unless_its_file_is_twice_the_arc(conditions, flags):
    """3.1: dropping the page cache leaves the ARC, which holds what was just written."""
    (sample,) = dd.parse(GNU, replace(conditions, source="random", filesystem="zfs"))
    assert sample.flags == flags


@pytest.mark.parametrize(
    ("conditions", "detail"),
    [
        (DdConditions("up", "direct"), "direction"),
        (DdConditions("read", "fast"), "conditions"),
        (DdConditions("read", "direct", source="disk"), "source"),
    ],
)
def test_dd_is_refused_when_the_conditions_are_unknown(conditions, detail):
    with pytest.raises(ProbeError, match=detail):
        dd.parse(GNU, conditions)


@pytest.mark.parametrize(
    ("text", "line", "detail"),
    [
        ("", 1, "summary"),
        ("hello\n", 1, "hello"),
        ("1+0 records in\n", 2, "summary"),
        ("1+0 records in\n1+0 records out", 2, "summary"),
        ("1+0 records in\n1+0 records out\n", 3, "not a summary"),
        ("1+0 records in\n1+0 records out\n512 bytes copied, 0.1\n", 3, "not a summary"),
        (
            "1+0 records in\n1+0 records out\n512 bytes copied, nan s, nan kB/s\n",
            3,
            "not a summary",
        ),
        ("0+0 records in\n0+0 records out\n0 bytes copied, 0.1 s, 0.0 kB/s\n", 3, "0 bytes"),
        ("1+0 records in\n1+0 records out\n512 bytes copied, 0 s, Infinity B/s\n", 3, "0.0 s"),
        (
            "1+0 records in\n1+0 records out\n1073741824 bytes (1,1 GB, 1,0 GiB) copied, 0,7 s, 1,5 GB/s\n",
            3,
            "decimal comma",
        ),
        ("1+0 Datensätze ein\n", 1, "unexpected.*LC_ALL=C"),
        ("1+0 enregistrements lus\n", 1, "LC_ALL=C"),
        ("1+0 registros leídos\n", 1, "LC_ALL=C"),
        (
            "1+0 records in\n1+0 records out\n512 octets (512 B) copiés, 0.1 s, 5 kB/s\n",
            3,
            "not a summary.*LC_ALL=C",
        ),
        ("512 Bytes (1,1 GB, 1,0 GiB) kopiert, 0,96462 s, 1,1 GB/s\n", 1, "LC_ALL=C"),
        ("512 bytes (1,1 GB, 1,0 GiB) copiados, 0,96462 s, 1,1 GB/s\n", 1, "LC_ALL=C"),
        ("dd: failed to open 'x': Permission denied\n", 1, "Permission denied"),
    ],
)
def test_dd_is_refused_with_its_line_when_it_is_not_a_finished_copy(text, line, detail):
    with pytest.raises(ProbeError, match=detail) as refused:
        dd.copies(text)
    assert refused.value.line == line


@pytest.mark.parametrize("name", ["dd-gnu-9.1-no-space", "dd-busybox-1.35-no-space"])
def test_dd_is_refused_when_the_disk_was_full(recorded, name):
    with pytest.raises(ProbeError, match="No space left"):
        dd.parse(recorded(name))


@pytest.mark.parametrize(
    ("old", "new", "detail"),
    [
        ("rc=0\n=== dd", "rc=0\n=== failure disk_full: 1 MiB free\n=== dd", "disk_full: 1 MiB"),
        ("=== end dd rc=0", "=== end dd rc=1", "ended with 1"),
        ("=== dd\n", "=== other\n", "does not end|unexpected"),
        ("=== conditions\n", "=== other\n", "unexpected|does not end"),
        ("direction write\n", "", "direction missing"),
        ("direction write\n", "direction write\ndirection read\n", "unexpected"),
        ("ram_bytes 2", "ram_bytes -2", "ram_bytes"),
        ("direction write", "direction up", "direction"),
    ],
)
def test_dd_is_refused_when_the_frame_is_damaged(recorded, old, new, detail):
    text = recorded("dd-gnu-9.1-write-direct")
    assert old in text
    with pytest.raises(ProbeError, match=detail):
        dd.parse(text.replace(old, new))


def test_dd_is_refused_when_a_framed_section_is_another_one(recorded):
    text = recorded("dd-gnu-9.1-write-direct")
    with pytest.raises(ProbeError, match="unexpected section cp"):
        dd.parse(text.replace("=== dd\n", "=== cp\n").replace("=== end dd ", "=== end cp "))
    with pytest.raises(ProbeError, match="instead of conditions"):
        dd.parse(text[text.index("=== dd\n") :])
    with pytest.raises(ProbeError, match="no copy"):
        dd.parse(text[: text.index("=== dd\n")])


def test_dd_takes_ram_as_unknown_when_the_target_omits_it(recorded):
    text = recorded("dd-gnu-9.1-write-direct")
    start = text.index("ram_bytes ")
    changed = text[:start] + "ram_bytes 0" + text[text.index("\n", start) :]
    assert dd.parse(changed)[0].parameters["ram_bytes"] is None


# --- several directories, ends of a device, and repeats in one text ----------------------------


def framed(*, direction="write", conditions="direct", seconds="2", extra="", directory="/mnt/a"):
    return (
        "=== conditions\n"
        f"direction {direction}\nconditions {conditions}\nfile_bytes {GIB}\n"
        f"ram_bytes {GIB}\nsource_bytes {GIB}\ndirectory {directory}\nfilesystem ext4\n"
        f"mount_options rw\ndrop_caches no\ndd dd (coreutils) 9.1\n{extra}"
        "=== end conditions rc=0\n"
        "=== dd\n1024+0 records in\n1024+0 records out\n"
        f"{GIB} bytes (1.1 GB, 1.0 GiB) copied, {seconds} s, 1 GB/s\n=== end dd rc=0\n"
    )


def parallel(*parts, wall_us=2_500_000, count=None):
    head = f"directories {len(parts) if count is None else count}\nwall_us {wall_us}\n"
    return f"=== parallel\n{head}=== end parallel rc=0\n" + "".join(parts)


def test_dd_is_one_rate_over_all_when_directories_are_written_at_once():
    text = parallel(framed(), framed(seconds="2.4", directory="/mnt/b"))
    (sample,) = dd.parse(text)
    assert (sample.metric, sample.variant) == ("disk_write_bytes_per_s", "dd_direct_parallel")
    # 2 GiB in the 2.5 s around both, not the sum of two rates.
    assert sample.value == pytest.approx(2 * GIB / 2.5)
    assert sample.flags == ()
    assert [part["directory"] for part in sample.parameters["directories"]] == ["/mnt/a", "/mnt/b"]
    assert sample.parameters["directories"][1]["seconds"] == 2.4


def test_dd_in_parallel_is_as_bad_as_its_worst_directory():
    text = parallel(framed(), framed(conditions="fdatasync"))
    (sample,) = dd.parse(text)
    assert (sample.variant, sample.flags) == ("dd_fdatasync_parallel", ("cached",))


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        (parallel(framed(), count=2), "1 directories"),
        (parallel(count=0), "0 directories"),
        (parallel(framed(), count="x"), "directories 'x'"),
        (parallel(framed(seconds="3")), "wall_us 2500000 around a copy of 3.0 s"),
        (parallel(framed(), wall_us=0), "wall_us 0"),
        (parallel(framed(), wall_us=10**18), "wall_us 10"),
        (parallel(framed(), framed(direction="read")), "writes and reads"),
        (framed() + framed(), "a second section"),
        (parallel(framed()) + parallel(framed()), "unexpected section parallel"),
    ],
)
def test_dd_in_parallel_is_refused_when_its_parts_do_not_fit(text, detail):
    with pytest.raises(ProbeError, match=detail):
        dd.parse(text)


@pytest.mark.parametrize("position", ["outer", "inner"])
def test_dd_names_the_end_of_the_device_when_one_is_read(position):
    extra = f"position {position}\ndevice /dev/sdb\n"
    (sample,) = dd.parse(framed(direction="read", directory="-", extra=extra))
    assert (sample.metric, sample.variant) == ("disk_read_bytes_per_s", f"dd_direct_{position}")
    assert sample.parameters["device"] == "/dev/sdb"


def test_dd_is_refused_when_the_offset_on_the_device_is_unknown():
    with pytest.raises(ProbeError, match="position 'middle'"):
        dd.parse(framed(extra="position middle\ndevice /dev/sdb\n"))


def test_dd_takes_one_file_when_a_pasted_text_has_repeats():
    # Two copies of one GiB, 0.75 GiB of memory: together they are above twice that, one is not.
    conditions = DdConditions("write", "fdatasync", ram_bytes=3 * GIB // 4, source="random")
    assert dd.parse(GNU + GNU, conditions)[0].flags == ("cached",)
    stated = replace(conditions, file_bytes=2 * GIB)
    assert dd.parse(GNU, stated)[0].flags == ()


@pytest.mark.parametrize("locale", ["de_DE", "fr_FR", "es_ES"])
def test_dd_is_refused_with_the_remedy_when_it_spoke_another_language(recorded, locale):
    with pytest.raises(ProbeError, match="LC_ALL=C") as refused:
        dd.parse(recorded(f"dd-gnu-9.1-{locale}"))
    assert refused.value.line in {1, 3}


def test_dd_is_refused_when_its_frames_are_longer_than_any_output():
    with pytest.raises(ProbeError, match="too many"):
        frames.sections("dd", "=== dd\n" * 2**21)


def test_dd_says_what_to_paste_when_only_its_last_line_came():
    with pytest.raises(ProbeError, match="all that dd printed"):
        dd.copies(GNU.splitlines()[-1])


def test_dd_passes_over_what_the_shell_says_of_its_time():
    text = "1+0 records in\n1+0 records out\n1000000 bytes (1.0 MB) copied, 2 s, 0.5 MB/s\n"
    (sample,) = dd.parse(f"{text}\nreal\t0m2.004s\nuser\t0m0.001s\nsys\t0m0.312s\n")
    assert sample.value == 500_000
