"""The small_files program: what it prints parses, and it leaves nothing behind."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from backend.measure.readers import small_files


def _mount_tmpfs(path: Path, options: str) -> None:
    """A file system with bounds of its own; the test is skipped where it cannot be had."""
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a tmpfs cannot be mounted here")


@pytest.fixture
def few_inodes(tmp_path):
    """A file system of 8 GiB on which 150 files fit: its end comes in the middle of the work."""
    path = tmp_path / "small"
    _mount_tmpfs(path, "size=8g,nr_inodes=150")
    yield path
    subprocess.run(["umount", str(path)], check=True)


def test_small_files_prints_what_it_measured_when_it_works(probe, bundle, tmp_path):
    done = probe("small_files", "--directory", tmp_path / "files", "--files", 250)
    assert (done.returncode, done.stderr) == (0, "")
    rate, p99 = small_files.parse(done.stdout)
    fields = json.loads(done.stdout)
    assert (fields["files"], fields["directories"]) == (250, 100)
    assert rate.parameters["build_sha256"] == bundle.binaries["small_files"].sha256
    assert p99.value <= fields["fsync_max_ns"]
    assert not (tmp_path / "files").exists()


def test_small_files_have_the_same_sizes_when_they_are_made_again(probe, tmp_path):
    sizes = [
        json.loads(probe("small_files", "--directory", tmp_path / "d", "--files", 200).stdout)
        for _ in range(2)
    ]
    assert sizes[0]["bytes"] == sizes[1]["bytes"]
    # Log-uniform from 1 to 64 KiB: (64 - 1) / ln 64 = 15.1 KiB on average.
    assert 12 < sizes[0]["bytes"] / 200 / 1024 < 19


@pytest.mark.parametrize("files", [1, 2, 99, 101])
def test_small_files_works_when_the_files_do_not_fill_the_directories(probe, tmp_path, files):
    done = probe("small_files", "--directory", tmp_path / "files", "--files", files)
    assert json.loads(done.stdout)["files"] == files
    assert list(tmp_path.iterdir()) == []


def test_small_files_is_not_cold_when_the_file_system_is_memory(probe):
    shm = Path("/dev/shm")
    if not os.access(shm, os.W_OK):
        pytest.skip("/dev/shm is missing or read-only")
    directory = shm / f"rackrate-test-{os.getpid()}"
    done = probe("small_files", "--directory", directory, "--files", 20)
    rate, _ = small_files.parse(done.stdout)
    assert rate.flags == ("cached",)
    assert json.loads(done.stdout)["resident_files"] == 20
    assert not directory.exists()


def test_small_files_exits_5_and_removes_all_when_the_disk_is_full(probe, few_inodes):
    done = probe("small_files", "--directory", few_inodes / "files", "--files", 500)
    assert done.returncode == 5
    fields = json.loads(done.stdout)
    assert (fields["error"], fields["errno"]) == ("cannot make a file", 28)
    assert list(few_inodes.iterdir()) == []


def test_small_files_exits_5_before_it_begins_when_the_files_do_not_fit(probe, tmp_path):
    _mount_tmpfs(tmp_path / "small", "size=64m")
    try:
        done = probe("small_files", "--directory", tmp_path / "small" / "files", "--files", 10)
        # 2 GiB are to stay free.
        assert done.returncode == 5
        assert "space to be kept free" in json.loads(done.stdout)["error"]
        assert list((tmp_path / "small").iterdir()) == []
    finally:
        subprocess.run(["umount", str(tmp_path / "small")], check=True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_small_files_removes_all_when_stopped(bundle, tmp_path, number):
    directory = tmp_path / "files"
    program = bundle.binaries["small_files"].path
    command = [str(program), "--directory", str(directory), "--files", "50000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        deadline = time.monotonic() + 20
        while not (directory / "d0" / "f5").exists() and time.monotonic() < deadline:
            os.sched_yield()
        running.send_signal(number)
        printed, _ = running.communicate(timeout=20)
    assert running.returncode == 3
    assert json.loads(printed)["error"] == "told to stop"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (lambda file: file.write_bytes(bytes(file.stat().st_size)), "other content"),
        (lambda file: file.write_bytes(b""), "another size"),
    ],
)
def test_small_files_exits_4_when_a_file_comes_back_changed(bundle, tmp_path, damage, error):
    directory = tmp_path / "files"
    command = [bundle.binaries["small_files"].path, "--directory", directory, "--files", "1000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        deadline = time.monotonic() + 20
        while not (directory / "d0" / "f1").exists() and time.monotonic() < deadline:
            os.sched_yield()
        damage(directory / "d0" / "f0")
        printed, _ = running.communicate(timeout=20)
    assert running.returncode == 4
    assert error in json.loads(printed)["error"]
    assert not directory.exists()


def test_small_files_exits_3_and_touches_nothing_existing(probe, tmp_path):
    kept = tmp_path / "files" / "kept"
    kept.parent.mkdir()
    kept.write_text("mine")
    done = probe("small_files", "--directory", kept.parent, "--files", 10)
    assert done.returncode == 3
    assert json.loads(done.stdout)["errno"] == 17
    assert kept.read_text() == "mine"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--directory", "x"],
        ["--files", "10"],
        ["--directory", "", "--files", "10"],
        ["--directory", "x", "--files", "0"],
        ["--directory", "x", "--files", "1000001"],
        ["--directory", "x", "--files", "1e3"],
        ["--directory", "x", "--files", "10", "--other", "1"],
    ],
)
def test_small_files_exits_2_with_an_error_line_for_wrong_arguments(probe, arguments):
    done = probe("small_files", *arguments)
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]
