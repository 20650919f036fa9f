"""The same sources as ordinary programs under the sanitizers."""

import json
import shutil
import subprocess

import pytest

from backend.measure.readers import cmips, memory, observe, small_files
from workers.remote.probes import build

FLAGS = ["-std=c11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-DPROBE_HOSTED"]
CHECKED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
COMPILERS = ("gcc", "clang", "zig")


@pytest.fixture(scope="module", params=COMPILERS)
def programs(request, tmp_path_factory):
    """The probes built with every check that the compiler has; zig's traps instead of telling."""
    directory = tmp_path_factory.mktemp(request.param)
    if request.param == "zig":
        zig = str(request.getfixturevalue("compiler"))
        flags = [
            "-std=c11",
            "-O1",
            "-ffreestanding",
            "-nostdlib",
            "-static",
            "-fsanitize=undefined",
        ]
        command = [
            zig,
            "cc",
            "-target",
            f"{build.host_arch()}-linux-musl",
            *flags,
            "-fsanitize-trap=undefined",
        ]
    else:
        if shutil.which(request.param) is None:
            pytest.skip(f"{request.param} is not installed on this machine")
        command = [request.param, *FLAGS, *CHECKED]
    for name in build.PROGRAMS:
        done = subprocess.run(
            [*command, build.NATIVE / f"{name}.c", "-o", directory / name],
            capture_output=True,
            text=True,
            timeout=120,
        )
        if done.returncode and "asan" in done.stderr:
            pytest.skip(f"{request.param} has no sanitizer libraries on this machine")
        assert done.returncode == 0, done.stderr
    return directory


def _run(programs, name, *arguments):
    done = subprocess.run(
        [programs / name, *map(str, arguments)], capture_output=True, text=True, timeout=30
    )
    assert "Sanitizer" not in done.stderr
    assert "runtime error" not in done.stderr
    return done


def test_cmips_is_clean_when_sanitized(programs):
    # Long enough that a busy machine lets a chunk of sanitized code end within it: none would be 0 CMIPS.
    done = _run(programs, "cmips", "--threads", "all", "--seconds", 0.5)
    assert done.returncode == 0, done.stderr
    assert cmips.parse(done.stdout)[0].value > 0
    assert _run(programs, "cmips", "--threads").returncode == 2
    done = _run(programs, "cmips", "--threads", "all", "--seconds", 0.1, "--window", 0.03)
    assert len(json.loads(done.stdout)["windows"]) == 3


def test_memory_is_clean_when_sanitized(programs):
    for arguments in (["bandwidth", "--threads", "all"], ["latency", "--threads", 1]):
        done = _run(programs, "memory", "--test", *arguments, "--bytes", 1 << 20, "--rounds", 1)
        assert done.returncode == 0, done.stderr
        assert memory.parse(done.stdout)[0].value > 0


def test_memory_is_clean_when_sanitized_on_several_nodes(programs, tmp_path):
    (tmp_path / "has_memory").write_text("0-1,3,9000-9001\n")
    for node in range(4):
        (tmp_path / f"node{node}").mkdir()
        (tmp_path / f"node{node}" / "cpulist").write_text("0-8191,9000-20000\n")
    done = _run(
        programs,
        *("memory", "--test", "bandwidth", "--threads", "all", "--bytes", 1 << 20),
        *("--rounds", 3, "--nodes", tmp_path),
    )
    assert done.returncode == 0, done.stderr
    variants = [sample.variant for sample in memory.parse(done.stdout)[1:]]
    assert variants == ["node0", "node1", "node3"]


def test_small_files_is_clean_when_sanitized(programs, tmp_path):
    done = _run(programs, "small_files", "--directory", tmp_path / "files", "--files", 300)
    assert done.returncode == 0, done.stderr
    assert small_files.parse(done.stdout)[0].value > 0
    assert list(tmp_path.iterdir()) == []
    assert _run(programs, "small_files", "--directory", "/", "--files", 1).returncode == 3


def test_observe_is_clean_when_sanitized_with_a_series(programs, tmp_path):
    files = ["--out", tmp_path / "out", "--err", tmp_path / "err", "--json", tmp_path / "json"]
    done = _run(
        programs,
        *("observe", "--probe", "p", "--variant", "v", "--repeat", 1, "--timeout", 5),
        *("--quiet-budget", 0, "--series", tmp_path / "series", "--series-every", 0.1, *files),
        *("--", "sleep", "0.45"),
    )
    assert done.returncode == 0, done.stderr
    assert len(observe.series((tmp_path / "series").read_text())["t_s"]) >= 3


def test_observe_is_clean_when_sanitized(programs, tmp_path):
    record = tmp_path / "record.json"
    files = ["--out", tmp_path / "out", "--err", tmp_path / "err", "--json", record]
    done = _run(
        programs,
        *("observe", "--probe", "p", "--variant", "v", "--repeat", 1, "--timeout", 5),
        *(
            "--quiet-budget",
            0.5,
            "--since",
            0.5,
            *files,
            "--",
            "printf",
            '"\\\x01\u00e9\u20ac\U0001f600',
        ),
    )
    assert done.returncode == 0, done.stderr
    # A control character is written as it is, and shown as what is none.
    assert observe.parse(record.read_text()).command == 'printf "\\\ufffd\u00e9\u20ac\U0001f600'
