"""Builds the native probes: one static binary per probe and architecture, by a pinned compiler.

`python -m workers.remote.probes.build [--arch x86_64|aarch64|host|all] [--zig PATH]` writes
`native/build/<arch>/`, one program for each C file beside it, and `manifest.json`. The same sources and
compiler give the same bytes from any checkout. Standard library only, so that the launcher can run
it before any virtualenv exists.
"""

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ARCHITECTURES = ("x86_64", "aarch64")
ROOT = Path(__file__).resolve().parents[3]
NATIVE = Path(__file__).resolve().parent / "native"
BUILD_DIR = NATIVE / "build"
PROGRAMS = tuple(sorted(path.stem for path in NATIVE.glob("*.c")))
DEFAULT_ZIG = ROOT / ".tools" / "zig" / "ziglang" / "zig"
CACHE_DIR = ROOT / ".tools" / "zig-cache"
TIMEOUT_S = 300

# No C library: no first build of one (40 s), and one binary for every Linux of an architecture.
FLAGS = (
    "-std=c11",
    "-O2",
    # The instructions that every CPU of the architecture has: the program runs, and does the same
    # work, everywhere.
    "-mcpu=baseline",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-ffreestanding",
    "-nostdlib",
    "-static",
    "-fno-pie",
    "-no-pie",
    "-s",
    "-fno-ident",
    # Checks that a compiler adds on its own would be measured too.
    "-fno-stack-protector",
    "-fno-sanitize=all",
    # Fused multiplications and additions round once instead of twice, and only aarch64 has them in
    # its baseline: results would differ between the architectures.
    "-ffp-contract=off",
    # An identifier of the build would differ where the program is the same.
    "-Wl,--build-id=none",
)
# Outlined atomics are calls of the compiler's own library, which is not linked here.
ARCH_FLAGS: Mapping[str, tuple[str, ...]] = {"x86_64": (), "aarch64": ("-mno-outline-atomics",)}


class BuildError(Exception):
    """The probes are not built, or cannot be; the text says what to do."""


@dataclass(frozen=True)
class Binary:
    """A file to put on a target."""

    path: Path
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Bundle:
    """Files for targets of one architecture. sha256 names all of it, the scripts included."""

    arch: str
    compiler: str
    flags: tuple[str, ...]
    sources_sha256: str
    sha256: str
    scripts: Mapping[str, Binary]
    """By file name: runner.sh and those that it runs; every target gets all of them."""
    binaries: Mapping[str, Binary]


def host_arch() -> str:
    """The architecture of this machine by its probe name; BuildError when it has no probes."""
    machine = platform.machine().lower()
    return _check_arch({"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine))


def _check_arch(arch: str) -> str:
    if arch not in ARCHITECTURES:
        raise BuildError(f"no probes for {arch}; they exist for {', '.join(ARCHITECTURES)}")
    return arch


def compiler_path(zig: str | os.PathLike[str] | None = None) -> Path:
    """The compiler: the argument, else ZIG, else .tools/zig; BuildError when it is not there."""
    path = Path(zig or os.environ.get("ZIG") or DEFAULT_ZIG)
    if not os.access(path, os.X_OK) or path.is_dir():
        raise BuildError(
            f"no compiler at {path}: unpack the wheel ziglang==0.17.0 into .tools/zig "
            "(pip install --target .tools/zig ziglang==0.17.0) or set ZIG"
        )
    return path.resolve()


def build(
    arch: str, *, build_dir: Path = BUILD_DIR, zig: str | os.PathLike[str] | None = None
) -> Bundle:
    """Builds the probes of one architecture, unless sources, flags and compiler are as before."""
    compiler = compiler_path(zig)
    flags = ["-target", f"{_check_arch(arch)}-linux-musl", *FLAGS, *ARCH_FLAGS[arch]]
    expected: dict[str, object] = {
        "schema": 1,
        "arch": arch,
        "compiler": f"zig cc {_run([compiler, 'version'])}",
        "flags": flags,
        "sources_sha256": _sources_sha256(),
    }
    try:
        existing = binaries(arch, build_dir)
        recorded = json.loads((build_dir / arch / "manifest.json").read_text())
        if all(recorded[key] == value for key, value in expected.items()):
            # Without compiling, so that every worker may ask at each run.
            return existing
    except (BuildError, KeyError):
        pass
    target = build_dir / arch
    target.mkdir(parents=True, exist_ok=True)
    built = {name: _compile(compiler, name, flags, target) for name in PROGRAMS}
    manifest = json.dumps({**expected, "binaries": built}, indent=1)
    # Last: a build that is cut off leaves programs that no manifest speaks for.
    _replace(target / "manifest.json", f"{manifest}\n".encode())
    return binaries(arch, build_dir)


def binaries(arch: str, build_dir: Path = BUILD_DIR) -> Bundle:
    """The built probes of an architecture, their hashes checked against the manifest.

    BuildError when they are not built or a file is not the one that was built.
    """
    manifest_path = build_dir / arch / "manifest.json"
    try:
        manifest = json.loads(manifest_path.read_text())
        programs = {name: _binary(build_dir / arch / name) for name in PROGRAMS}
        recorded = {name: manifest["binaries"][name]["sha256"] for name in PROGRAMS}
        scripts = {path.name: _binary(path) for path in sorted(NATIVE.glob("*.sh"))}
        files = sorted({**programs, **scripts}.items())
        content = "".join(f"{file.sha256}  {name}\n" for name, file in files)
        bundle = Bundle(
            arch=manifest["arch"],
            compiler=manifest["compiler"],
            flags=tuple(manifest["flags"]),
            sources_sha256=manifest["sources_sha256"],
            sha256=hashlib.sha256(content.encode()).hexdigest(),
            scripts=scripts,
            binaries=programs,
        )
    except FileNotFoundError as error:
        raise BuildError(
            f"the probes for {arch} are not built ({error.filename} is missing): "
            f"run python -m workers.remote.probes.build --arch {arch}"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise BuildError(f"{manifest_path} is damaged: {error!r}") from error
    wrong = [name for name in PROGRAMS if programs[name].sha256 != recorded[name]]
    if wrong:
        raise BuildError(f"{arch}/{', '.join(wrong)} is not the file that was built: build again")
    return bundle


def _compile(compiler: Path, name: str, flags: Sequence[str], target: Path) -> dict[str, object]:
    # The compiler sees relative names only, so no path of this machine gets into the binary.
    with tempfile.TemporaryDirectory(dir=target) as scratch:
        output = Path(scratch) / name
        prefix_map = f"-ffile-prefix-map={NATIVE}=."
        _run([compiler, "cc", *flags, prefix_map, f"{name}.c", "-o", output])
        content = output.read_bytes()
    _replace(target / name, content, mode=0o755)
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def _replace(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Writes by rename: whoever builds or reads at the same time sees a whole file."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_bytes(content)
    part.chmod(mode)
    part.replace(path)


def _binary(path: Path) -> Binary:
    content = path.read_bytes()
    return Binary(path=path, sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))


def _sources_sha256() -> str:
    digest = hashlib.sha256()
    for path in sorted([*NATIVE.glob("*.c"), *NATIVE.glob("*.h")]):
        # With its name and size before each, so that no other split of the same bytes gives the
        # same sum.
        digest.update(f"{path.name} {path.stat().st_size}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _run(command: Sequence[str | os.PathLike[str]]) -> str:
    environment = {
        **os.environ,
        "ZIG_GLOBAL_CACHE_DIR": str(CACHE_DIR),
        "ZIG_LOCAL_CACHE_DIR": str(CACHE_DIR),
        "SOURCE_DATE_EPOCH": "0",
    }
    try:
        done = subprocess.run(
            command,
            cwd=NATIVE,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"the compiler did not run: {error}") from error
    if done.returncode:
        raise BuildError(f"the compiler failed with {done.returncode}:\n{done.stderr.strip()}")
    return done.stdout.strip()


def main(argv: Sequence[str] | None = None) -> int:
    """Builds what is asked and writes one line per binary; 1 with the reason when it cannot."""
    parser = argparse.ArgumentParser(
        prog="python -m workers.remote.probes.build", description="Build the native probes."
    )
    parser.add_argument("--arch", choices=[*ARCHITECTURES, "host", "all"], default="all")
    parser.add_argument("--zig", help="the zig binary (default: $ZIG, then .tools/zig)")
    parser.add_argument("--build-dir", type=Path, default=BUILD_DIR)
    options = parser.parse_args(argv)
    try:
        names = ARCHITECTURES if options.arch == "all" else (options.arch,)
        for arch in [host_arch() if name == "host" else name for name in names]:
            bundle = build(arch, build_dir=options.build_dir, zig=options.zig)
            for name, binary in bundle.binaries.items():
                sys.stdout.write(f"{binary.sha256}  {arch}/{name}  {binary.bytes} bytes\n")
    except BuildError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
