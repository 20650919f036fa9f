"""disk.sh with real dd and fio, and what it says when they are not to be had."""

import contextlib
import json
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from backend.measure.readers import cmips, dd, fio, fio_steady, runner_status
from backend.measure.readers.disk_files import STORED_KEYS
from backend.measure.readers.frames import key_values, sections
from tests.probes.conftest import needs
from tests.probes.quotas import WRITES, refusing_writes

MIB = 1024**2
CONDITIONS = (
    *("work", "block_bytes", "depth", "jobs", "runtime_s", "ramp_s", "file_bytes", "ram_bytes"),
    *("engine", "direct", "directory", "filesystem", "mount_options", "fio"),
)


def _fio_step(target, work="randread", block="4k", depth=1, *, number=0, jobs=1):
    return (
        f"step fio {work}{depth} {number} 60 disk.sh fio_run '{target}' {16 * MIB} "
        f"{work} {block} {depth} {jobs} 0.2 0"
    )


def _fio(text):
    """Conditions and the only job of one output."""
    conditions, record = sections("fio", text)
    assert (conditions.name, record.name, record.exit_code) == ("conditions", "fio", 0)
    (job,) = json.loads(record.text)["jobs"]
    return key_values("fio", conditions, CONDITIONS, STORED_KEYS), job


def test_fio_measures_each_work_when_it_is_installed(run_directory, shell, target):
    needs("fio")
    run_directory.plan(
        _fio_step(target),
        _fio_step(target, depth=32, jobs=2),
        _fio_step(target, "randrw70", depth=4),
        _fio_step(target, "write", "1m", depth=8),
    )
    run_directory.run(shell)
    results = [_fio(run_directory.result(f"{name}.out")) for name in run_directory.finished()]
    assert [conditions["work"] for conditions, _ in results] == [
        *("randread", "randread", "randrw70", "write"),
    ]
    for conditions, job in results:
        options = job["job options"]
        assert options["iodepth"] == conditions["depth"]
        assert options["ioengine"] == conditions["engine"]
        assert (options["randrepeat"], options["direct"]) == (
            "0",
            str(int(conditions["direct"] == "yes")),
        )
        assert conditions["directory"] == str(target)
        assert conditions["file_bytes"] == str(16 * MIB)
        assert job["error"] == 0
    read, parallel, mixed, write = (job for _, job in results)
    assert read["read"]["clat_ns"]["percentile"].keys() == {
        f"{float(share):f}" for share in ("50", "90", "95", "99", "99.9", "99.99")
    }
    assert parallel["job options"]["numjobs"] == "2"
    assert mixed["read"]["total_ios"] > mixed["write"]["total_ios"] > 0
    assert (write["write"]["bw_bytes"] > 0, write["job options"]["bs"]) == (True, "1m")
    # The file is written before the first step only.
    said = [run_directory.result(f"{name}.err") for name in run_directory.finished()]
    assert ["wrote 16 MiB" in text for text in said] == [True, False, False, False]


def test_fio_says_buffered_when_the_file_system_is_in_memory(run_directory, tmp_path):
    needs("fio")
    run_directory.plan(_fio_step("/dev/shm"))
    run_directory.run(["sh"])
    conditions, job = _fio(run_directory.result("001-fio-randread1-0.out"))
    assert (conditions["filesystem"], conditions["direct"]) == ("tmpfs", "no")
    assert job["job options"]["direct"] == "0"
    assert not list(Path("/dev/shm").glob(f"{run_directory.path.name}*"))


def test_fio_is_unavailable_when_another_program_has_its_name(
    run_directory, shell, target, programs
):
    other = programs.put("fio", "#!/bin/sh\necho 1.9.6\n")
    run_directory.plan(_fio_step(target), _fio_step(target, number=1))
    run_directory.run(shell, path=programs.path)
    assert run_directory.finished() == ["001-fio-randread1-0"]
    said = run_directory.result("001-fio-randread1-0.out")
    assert said == (
        f"=== failure unavailable: fio 3 is not to be had: {other} --version ended with status 0 "
        "and said: 1.9.6\n"
    )
    assert '"exit_code":7,' in run_directory.result("001-fio-randread1-0.json")
    assert runner_status.parse(run_directory.status()).state == "finished"


def _put_fio(programs, pattern, instead):
    """The real fio, save for calls whose arguments look like the pattern."""
    programs.put(
        "fio",
        f'#!/bin/sh\ncase "$*" in {pattern}) {instead} ;; esac\nexec {shutil.which("fio")} "$@"\n',
    )


def test_fio_takes_io_uring_when_libaio_does_not_work(run_directory, target, programs):
    needs("fio")
    _put_fio(programs, "*--ioengine=libaio*", "exit 1")
    run_directory.plan(_fio_step(target, depth=4))
    run_directory.run(["sh"], path=programs.path)
    text = run_directory.result("001-fio-randread4-0.out")
    if "unavailable" in text:
        pytest.skip("this machine's kernel refuses io_uring")
    assert _fio(text)[0]["engine"] == "io_uring"


def test_fio_measures_depth_one_only_when_no_asynchronous_engine_works(
    run_directory, target, programs
):
    needs("fio")
    _put_fio(programs, "*--ioengine=libaio* | *--ioengine=io_uring*", "exit 1")
    run_directory.plan(_fio_step(target), _fio_step(target, depth=32))
    run_directory.run(["sh"], path=programs.path)
    assert _fio(run_directory.result("001-fio-randread1-0.out"))[0]["engine"] == "psync"
    said = run_directory.result("002-fio-randread32-0.out")
    assert said.startswith("=== failure unavailable: neither libaio nor io_uring works here")


def test_fio_repeats_the_message_of_fio_when_it_fails(run_directory, target, programs):
    needs("fio")
    _put_fio(programs, "*--time_based*", 'echo "fio: a bad day" >&2; exit 1')
    run_directory.plan(_fio_step(target))
    run_directory.run(["sh"], path=programs.path)
    assert '"exit_code":3,' in run_directory.result("001-fio-randread1-0.json")
    assert run_directory.result("001-fio-randread1-0.err").endswith(
        "fio: a bad day\nfio failed with status 1 at randread\n"
    )


@pytest.mark.parametrize("step", ["fio_run {} 16777216 randread 4k 1 1 0.1 0", "small_files {} 9"])
def test_series_is_not_available_when_the_directory_has_no_space(run_directory, small_disk, step):
    needs("fio")
    said = run_directory.run(["sh"], "disk.sh", *step.format(small_disk).split(), code=7)
    assert said.startswith(f"=== failure unavailable: {small_disk} has ")
    assert list(small_disk.iterdir()) == []


@pytest.mark.parametrize(
    ("size_mib", "free_mib", "room_mib"),
    [
        # A tenth is 1000 MiB, of 1541 free ones 541 are left.
        (10_000, 1541, 541),
        # At most 1 GiB is kept, and as much again as is written: half of 2 GiB.
        (100_000, 2048, 1024),
        (1_000_000, 5000, 2500),
        # At least 256 MiB are kept.
        (1000, 400, 144),
        (10_000, 900, -100),
    ],
)
def test_disk_share_stays_free(run_directory, tmp_path, size_mib, free_mib, room_mib):
    script = run_directory.path / "room.sh"
    text = (run_directory.path / "disk.sh").read_text().partition("case ${1:-} in\ndd_write")[0]
    space = f"look_up_space() {{ free_mib={free_mib} size_mib={size_mib}; }}"
    script.write_text(f'{text}\n{space}\ndirectory={tmp_path}\nlook_up_room\necho "$room_mib"\n')
    assert run_directory.run(["sh"], "room.sh") == f"{room_mib}\n"


def test_little_space_gives_a_smaller_file(run_directory, target):
    """Of 600 MiB free ones 256 are kept: files of 300 MiB in place of 1 GiB, and said so."""
    needs("fio")
    script = run_directory.path / "common.sh"
    script.write_text(script.read_text() + "look_up_space() { free_mib=600 size_mib=900; }\n")
    run_directory.plan(
        f"step dd write 0 60 disk.sh dd_write '{target}' {1024 * MIB} 3",
        f"step dd read 0 60 disk.sh dd_read '{target}' {1024 * MIB} 3",
        f"step fio rand_read_qd1 0 99 disk.sh fio_run '{target}' {1024 * MIB} randread 4k 1 1 0.5 0",
    )
    run_directory.run(["sh"])
    texts = [run_directory.result(f"{name}.out") for name in run_directory.finished()]
    for text in texts:
        assert "\nfile_bytes " in text
        assert "\nasked_bytes 1073741824\n" in text
    samples = [*dd.parse(texts[0]), *dd.parse(texts[1]), *fio.parse(texts[2])]
    assert all("small_file" in sample.flags for sample in samples)


def test_step_is_refused_when_the_directory_cannot_be_written_to(run_directory):
    said = run_directory.run(["sh"], "disk.sh", "small_files", "/proc/none", 9, code=3)
    assert said == "not a directory that we may write to: /proc/none\n"
    run_directory.run(["sh"], "disk.sh", "rm", code=2)


def test_small_files_are_removed_when_the_run_ends(run_directory, shell, target):
    run_directory.plan(f"step small_files create 0 60 disk.sh small_files '{target}' 20")
    run_directory.run(shell)
    record = json.loads(run_directory.result("001-small_files-create-0.out"))
    assert record["probe"] == "small_files"
    named = (run_directory.path / "files").read_text()
    assert named == f"{target}/{run_directory.path.name}.small\n"


def test_dd_copies_in_all_directories_at_once_when_parallel(run_directory, shell, target):
    for name in ("one", "two"):
        (target / name).mkdir()
    places = f"'{target}/one' '{target}/two'"
    run_directory.plan(
        f"step dd write_parallel 0 60 disk.sh dd_parallel write {16 * MIB} 5 {places}",
        f"step dd read_parallel 0 60 disk.sh dd_parallel read {16 * MIB} 5 {places}",
    )
    run_directory.run(shell)
    for number, way in ((1, "write"), (2, "read")):
        whole, *parts = sections("dd", run_directory.result(f"00{number}-dd-{way}_parallel-0.out"))
        facts = key_values("dd", whole, ("directories", "wall_us"))
        assert (whole.name, facts["directories"]) == ("parallel", "2")
        assert [part.name for part in parts] == ["conditions", "dd"] * 2
        directories = [part.lines[5] for part in parts if part.name == "conditions"]
        assert directories == [f"directory {target}/{name}" for name in ("one", "two")]
        copied_s = [float(part.lines[2].split(", ")[-2].split()[0]) for part in parts[1::2]]
        assert max(copied_s) <= int(facts["wall_us"]) / 1e6 < 60
    for name in ("one", "two"):
        (target / name).rmdir()


def test_dd_is_not_available_when_one_of_the_directories_is_too_small(
    run_directory, target, small_disk
):
    words = ("dd_parallel", "write", 512 * MIB, 5, target, small_disk)
    said = run_directory.run(["sh"], "disk.sh", *words, code=7)
    assert said.startswith(f"=== failure unavailable: {small_disk} has ")
    for line in (run_directory.path / "files").read_text().splitlines():
        Path(line).unlink(missing_ok=True)


@pytest.fixture
def device(tmp_path):
    """A block device of 64 MiB, each MiB filled with its number."""
    needs("losetup")
    image = Path(f"/var/tmp/{tmp_path.name}.image")
    image.write_bytes(b"".join(bytes([number]) * MIB for number in range(64)))
    made = subprocess.run(
        ["losetup", "-f", "--show", "--direct-io=on", str(image)],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        if made.returncode:
            pytest.skip(f"this machine gives no loop device: {made.stderr.strip()}")
        yield made.stdout.strip()
        subprocess.run(["losetup", "-d", made.stdout.strip()], check=True)
    finally:
        image.unlink()


def test_dd_reads_the_first_and_the_last_part_when_given_a_device(
    run_directory, shell, device, programs
):
    asked = programs.directory / "asked"
    programs.put("dd", f'#!/bin/sh\necho "$*" >> {asked}\nexec {shutil.which("dd")} "$@"\n')
    for position, skip in (("outer", 0), ("inner", 48)):
        text = run_directory.run(
            shell, "disk.sh", "dd_device", position, device, 16 * MIB, 5, path=programs.path
        )
        conditions, copied = sections("dd", text)
        assert conditions.lines[1] == "conditions direct"
        assert conditions.lines[-2:] == (f"position {position}", f"device {device}")
        assert copied.text.startswith("16+0 records in")
        assert f" skip={skip} " in asked.read_text().splitlines()[-1]


@pytest.mark.parametrize("device", ["/dev/null", "/dev/no-such-device"])
def test_dd_is_unavailable_when_there_is_no_such_device(run_directory, device):
    said = run_directory.run(["sh"], "disk.sh", "dd_device", "outer", device, MIB, 5, code=7)
    assert said == f"=== failure unavailable: not a block device: {device}\n"


def test_fio_ends_and_its_file_goes_when_cancelled(run_directory, shell, target):
    needs("fio")
    run_directory.plan(
        f"step fio a 0 60 disk.sh fio_run '{target}' {16 * MIB} randread 4k 32 4 60 0"
    )
    running = run_directory.start(shell)
    children = run_directory.path / "prepared.fio"
    while running.poll() is None and not children.exists():
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(0.05)
    (run_directory.path / "cancel").touch()
    running.communicate(timeout=20)
    assert runner_status.parse(run_directory.status()).state == "cancelled"
    assert os.listdir(target) == []


def _mounted_as(run_directory, programs, mounts: str) -> None:
    """The mount table is a stand-in; df is asked for the mount point only."""
    table = programs.directory / "mounts"
    table.write_text(mounts)
    common = run_directory.path / "common.sh"
    common.write_text(common.read_text().replace("/proc/mounts", str(table)))
    programs.put(
        "df",
        '#!/bin/sh\ncase $3 in /var/tmp*) p=/var/tmp ;; *) p=/tmp ;; esac\nprintf "F\\nx 9 1 8 1%% $p\\n"\n',
    )


@pytest.mark.parametrize(("c_max_mib", "conditions"), [(8, "fdatasync"), (9, "cached")])
def test_read_on_zfs_is_cached_below_twice_the_arc(
    run_directory, programs, target, c_max_mib, conditions
):
    """3.1: the page cache may be dropped, the ARC stays, and it holds what was just written."""
    _mounted_as(run_directory, programs, "tank /var/tmp zfs rw 0 0\n")
    arcstats = programs.directory / "arcstats"
    arcstats.write_text(f"13 1 0x01 123 33456 1 2\nc 4 1048576\nc_max    4    {c_max_mib * MIB}\n")
    script = run_directory.path / "disk.sh"
    script.write_text(script.read_text().replace("/proc/spl/kstat/zfs/arcstats", str(arcstats)))
    run_directory.plan(f"step dd read 0 60 disk.sh dd_read '{target}' {16 * MIB} 5")
    run_directory.run(["sh"], path=programs.path)
    text = run_directory.result("001-dd-read-0.out")
    (sample,) = dd.parse(text)
    assert sample.variant == f"dd_{conditions}"
    assert sample.flags == (("cached",) if conditions == "cached" else ())
    assert f"cache_bytes {c_max_mib * MIB}" in text
    assert "drop_caches no: ZFS keeps a cache of its own" in text


@pytest.mark.parametrize("is_everywhere", [False, True])
def test_run_directory_in_memory_sends_the_files_to_a_disk(run_directory, programs, is_everywhere):
    """3.6: where /tmp is a tmpfs the disk is measured all the same, or said to be missing."""
    kind = "tmpfs" if is_everywhere else "ext4"
    mounts = f"tmpfs /tmp tmpfs rw 0 0\n/dev/vda /var/tmp {kind} rw 0 0\n"
    _mounted_as(run_directory, programs, mounts)
    run_directory.plan(f"step dd write 0 60 disk.sh dd_write {run_directory.path} {16 * MIB} 5")
    run_directory.run(["sh"], path=programs.path)
    text = run_directory.result("001-dd-write-0.out")
    if is_everywhere:
        assert text.startswith("=== failure unavailable: ")
        assert "/var/tmp and the home directory lie in memory" in text
    else:
        assert "\ndirectory /var/tmp\nfilesystem ext4\n" in text
    assert list(Path("/var/tmp").glob(f"{run_directory.path.name}*")) == []


def _cache_of(run_directory, available_mib, memory_mib=None):
    """Memory of a machine that can keep so much of a file."""
    common, fio_part = (run_directory.path / name for name in ("common.sh", "fio.sh"))
    known = f"look_up_memory() {{ memory_mib={memory_mib or available_mib}; }}\n"
    common.write_text(common.read_text() + known)
    fio_part.write_text(
        fio_part.read_text().replace("$(meminfo_mib MemAvailable)", str(available_mib))
    )


def _steady_step(target, work="randwrite", block="4k", *, window_s=2, most_mib=4096):
    return (
        f"step fio_steady {work} 0 60 disk.sh fio_steady '{target}' {16 * MIB} {work} {block} 4 "
        f"0.5 0 5 {window_s} {most_mib * MIB}"
    )


def test_steady_test_settles_on_a_file_of_twice_the_cache(run_directory, shell, target):
    needs("fio")
    _cache_of(run_directory, 40)
    run_directory.plan(_steady_step(target), _steady_step(target, "randread"))
    run_directory.run(shell)
    write, read = (run_directory.result(f"{name}.out") for name in run_directory.finished())
    for text, metric in ((write, "disk_rand_write_iops"), (read, "disk_rand_read_iops")):
        sample = fio_steady.parse(text)[0]
        assert (sample.metric, sample.variant) == (metric, "steady_4k_qd4")
        assert sample.parameters["file_bytes"] == 2 * sample.parameters["cache_bytes"] == 80 * MIB
        assert 1 < sample.parameters["settled_s"] <= 8
        assert sample.parameters["is_steady"] == ("not_steady" not in sample.flags)
    said = [run_directory.result(f"{name}.err") for name in run_directory.finished()]
    assert ["wrote 80 MiB" in text for text in said] == [True, False]


def test_steady_test_says_not_steady_when_its_time_is_over(run_directory, target):
    needs("fio")
    _cache_of(run_directory, 20)
    run_directory.plan(_steady_step(target, window_s=60))
    run_directory.run(["sh"])
    sample = fio_steady.parse(run_directory.result("001-fio_steady-randwrite-0.out"))[0]
    assert sample.flags == ("not_steady",)
    assert sample.parameters["drift_ratio"] is None


def test_steady_test_keeps_to_the_bytes_that_it_may_write(run_directory, target):
    needs("fio")
    _cache_of(run_directory, 16)
    run_directory.plan(_steady_step(target, "write", "1m", window_s=60, most_mib=64))
    run_directory.run(["sh"])
    sample = fio_steady.parse(run_directory.result("001-fio_steady-write-0.out"))[0]
    assert sample.parameters["settled_bytes"] == 32 * MIB
    assert sample.flags == ("not_steady",)


@pytest.mark.parametrize(
    ("cache_mib", "most_mib", "why"),
    [
        (40, 100, ", and as much again to settle: 100 MiB may be written"),
        (100_000_000, 2**30, " MiB stay free"),
    ],
)
def test_steady_test_is_unavailable_without_space(run_directory, target, cache_mib, most_mib, why):
    needs("fio")
    _cache_of(run_directory, cache_mib)
    run_directory.plan(_steady_step(target, most_mib=most_mib))
    run_directory.run(["sh"])
    text = run_directory.result("001-fio_steady-randwrite-0.out")
    (line,) = text.splitlines()
    assert line.startswith(f"=== failure unavailable: a file of {2 * cache_mib} MiB is needed")
    assert why in line


def test_memory_limit_above_the_run_bounds_the_cache(run_directory, target):
    """What a cgroup limits counts its page cache, too."""
    needs("fio")
    _cache_of(run_directory, 4000, memory_mib=24)
    run_directory.plan(_steady_step(target, most_mib=90))
    run_directory.run(["sh"])
    assert "for the 24 MiB that memory may keep" in run_directory.result(
        "001-fio_steady-randwrite-0.out"
    )


def test_broken_fio_is_reported(run_directory, target, programs):
    """As under a limit of the address space: fio is there, and ends before it says its version."""
    fio_path = programs.put("fio", "#!/bin/sh\necho 'error: no shared memory' >&2\nexit 1\n")
    words = ("disk.sh", "fio_run", target, 16 * MIB, "randread", "4k", 1, 1, 1, 0)
    said = run_directory.run(["sh"], *words, code=7, path=programs.path)
    assert said == (
        f"=== failure unavailable: fio 3 is not to be had: {fio_path} --version ended with status 1 "
        "and said: error: no shared memory\n"
    )


@pytest.mark.skipif(platform.machine() not in WRITES, reason="no table of system calls")
@pytest.mark.parametrize(
    ("step", "min_bytes"),
    [
        ("dd write 0 60 disk.sh dd_write '{}' 67108864 5", MIB),
        ("small_files create 0 60 disk.sh small_files '{}' 20", 8193),
        ("fio rand_read_qd1 0 60 disk.sh fio_run '{}' 16777216 randread 4k 1 1 0.2 0", 8193),
    ],
    ids=["dd", "small_files", "fio"],
)
def test_used_up_quota_ends_the_disk_tests_as_a_full_disk_does(
    run_directory, target, step, min_bytes
):
    needs(*(["fio"] if step.startswith("fio") else []))
    # What dd copies, else written in memory, which has no quota.
    source = run_directory.path / f"{run_directory.path.name}.source"
    source.write_bytes(os.urandom(16 * MIB))
    run_directory.plan(
        f"step {step.format(target)}", "step cmips single 0 20 bin/cmips --threads 1 --seconds 0.2"
    )
    running = run_directory.start(["sh"], preexec_fn=refusing_writes(min_bytes))
    output, _ = running.communicate(timeout=60)
    assert running.returncode == 1, output
    full, _ = run_directory.finished()
    assert '"exit_code":5,' in run_directory.result(f"{full}.json")
    assert runner_status.parse(run_directory.status()).failure == "disk_full"
    assert cmips.parse(run_directory.result("002-cmips-single-0.out"))[0].value > 0


def test_dd_that_prints_whole_tenths_is_timed_by_the_runner(run_directory, shell, target, programs):
    """At 3 GB/s a copy of 16 MiB takes 0.0 s by such a dd, and one of 256 MiB 0.1 s."""
    rounding = r"s/ copied, ([0-9]+)[.]?([0-9]?)[0-9.e-]* s/ copied, \1.\2 s/"
    programs.put("dd", f"#!/bin/sh\n{shutil.which('dd')} \"$@\" 2>&1 | sed -E '{rounding}' >&2\n")
    run_directory.plan(f"step dd write 0 60 disk.sh dd_write '{target}' {64 * MIB} 5")
    run_directory.run(shell, path=programs.path)
    text = run_directory.result("001-dd-write-0.out")
    assert "copied, 0. s" not in text
    summaries = [line for line in text.splitlines() if "copied, " in line]
    assert summaries
    assert all(
        re.fullmatch(r"runner: [0-9]+ bytes copied, [0-9]+[.][0-9]{6} s", it) for it in summaries
    )
    (sample,) = dd.parse(text)
    assert sample.value > 0
