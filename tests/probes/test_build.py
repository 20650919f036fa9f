"""The probes' build: same bytes everywhere, nothing twice, clear errors."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.probes.elf import INTERPRETER_SEGMENT, Elf
from workers.remote.probes import build


def _hashes(bundle: build.Bundle) -> dict[str, str]:
    return {name: binary.sha256 for name, binary in bundle.binaries.items()}


@pytest.mark.parametrize("arch", build.ARCHITECTURES)
def test_build_gives_the_same_bytes_when_the_checkout_is_elsewhere(compiler, tmp_path, arch):
    here = build.build(arch, build_dir=tmp_path / "here", zig=compiler)
    copy = tmp_path / "another" / "checkout"
    shutil.copytree(
        build.ROOT / "workers", copy / "workers", ignore=shutil.ignore_patterns("build", "*.pyc")
    )
    subprocess.run(
        [sys.executable, "-m", "workers.remote.probes.build", "--arch", arch],
        cwd=copy,
        env={**os.environ, "ZIG": str(compiler), "PYTHONPATH": str(copy)},
        check=True,
        capture_output=True,
        timeout=300,
    )
    there = build.binaries(arch, copy / "workers" / "remote" / "probes" / "native" / "build")
    assert _hashes(here) == _hashes(there)
    assert here.sha256 == there.sha256


@pytest.mark.parametrize("arch", build.ARCHITECTURES)
def test_build_makes_static_programs_when_the_architecture_is_asked_for(compiler, arch):
    for binary in build.build(arch, zig=compiler).binaries.values():
        elf = Elf.read(binary.path)
        assert elf.machine == arch
        assert INTERPRETER_SEGMENT not in [segment[0] for segment in elf.segments()]
        assert str(build.ROOT).encode() not in elf.content


def test_build_does_nothing_when_sources_and_compiler_are_the_same(compiler, tmp_path):
    arch = build.host_arch()
    build.build(arch, build_dir=tmp_path, zig=compiler)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / arch).iterdir()}
    build.build(arch, build_dir=tmp_path, zig=compiler)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / arch).iterdir()} == before


@pytest.mark.parametrize("key", ["compiler", "flags", "sources_sha256"])
def test_build_builds_again_when_the_manifest_differs(compiler, tmp_path, key):
    arch = build.host_arch()
    first = build.build(arch, build_dir=tmp_path, zig=compiler)
    manifest = tmp_path / arch / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), key: "other"}))
    assert _hashes(build.build(arch, build_dir=tmp_path, zig=compiler)) == _hashes(first)
    assert json.loads(manifest.read_text())[key] != "other"


def test_manifest_names_every_binary_when_built(bundle):
    manifest = json.loads((bundle.binaries["cmips"].path.parent / "manifest.json").read_text())
    assert manifest["arch"] == build.host_arch()
    assert manifest["compiler"].startswith("zig cc 0.")
    assert manifest["binaries"] == {
        name: {"sha256": binary.sha256, "bytes": binary.bytes}
        for name, binary in bundle.binaries.items()
    }


def test_binaries_are_refused_when_one_is_not_what_was_built(compiler, tmp_path):
    arch = build.host_arch()
    build.build(arch, build_dir=tmp_path, zig=compiler)
    with (tmp_path / arch / "cmips").open("ab") as file:
        file.write(b"\0")
    with pytest.raises(build.BuildError, match="cmips is not the file that was built"):
        build.binaries(arch, tmp_path)
    build.build(arch, build_dir=tmp_path, zig=compiler)
    assert build.binaries(arch, tmp_path).arch == arch


def test_binaries_say_what_to_run_when_nothing_is_built(tmp_path):
    with pytest.raises(
        build.BuildError, match=r"python -m workers.remote.probes.build --arch x86_64"
    ):
        build.binaries("x86_64", tmp_path)


def test_binaries_are_refused_when_the_manifest_is_damaged(compiler, tmp_path):
    arch = build.host_arch()
    build.build(arch, build_dir=tmp_path, zig=compiler)
    (tmp_path / arch / "manifest.json").write_text("{}")
    with pytest.raises(build.BuildError, match="damaged"):
        build.binaries(arch, tmp_path)


def test_build_says_how_to_get_the_compiler_when_it_is_missing(tmp_path):
    with pytest.raises(build.BuildError, match=r"ziglang==0\.17\.0"):
        build.build("x86_64", build_dir=tmp_path, zig=tmp_path / "zig")


def test_build_is_refused_when_the_architecture_has_no_probes(compiler, tmp_path):
    with pytest.raises(build.BuildError, match="no probes for riscv64"):
        build.build("riscv64", build_dir=tmp_path, zig=compiler)


def test_build_shows_the_compiler_message_when_it_fails(tmp_path):
    fake = tmp_path / "zig"
    fake.write_text(
        '#!/bin/sh\n[ "$1" = version ] && echo 0.0 && exit\necho "no such flag" >&2\nexit 3\n'
    )
    fake.chmod(0o755)
    with pytest.raises(build.BuildError, match=r"failed with 3:\nno such flag"):
        build.build("x86_64", build_dir=tmp_path, zig=fake)
    fake.write_text("not a program")
    with pytest.raises(build.BuildError, match="did not run"):
        build.build("x86_64", build_dir=tmp_path, zig=fake)


def test_build_command_lists_what_it_built_when_asked_for_the_host(bundle, compiler, capsys):
    assert build.main(["--arch", "host", "--zig", str(compiler)]) == 0
    printed = capsys.readouterr().out
    for name, binary in bundle.binaries.items():
        assert f"{binary.sha256}  {bundle.arch}/{name}  {binary.bytes} bytes\n" in printed


def test_build_command_fails_with_the_reason_when_there_is_no_compiler(tmp_path, capsys):
    assert build.main(["--zig", str(tmp_path / "zig")]) == 1
    assert "no compiler at" in capsys.readouterr().err


def test_build_loads_no_framework_when_imported():
    code = (
        "import sys, workers.remote.probes.build;"
        "assert not {'django', 'celery', 'numpy'} & {name.split('.')[0] for name in sys.modules}"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(build.ROOT), capture_output=True)
    assert done.returncode == 0, done.stderr
