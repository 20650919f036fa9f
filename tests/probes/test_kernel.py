"""The cmips kernel: the same instructions from every compiler, and the right result."""

import ctypes
import shutil
import subprocess

import pytest

from tests.probes.elf import Elf
from workers.remote.probes import build

# Kernel version 1. A change here makes scores incomparable and needs a new version.
LOOPS = {
    "x86_64": bytes.fromhex(
        "4863d1"  # movslq %ecx, %rdx         index widened
        "83c101"  # add $1, %ecx              index + 1
        "83f932"  # cmp $50, %ecx
        "0fb60417"  # movzbl (%rdi,%rdx), %eax  byte load
        "410f4dc9"  # cmovge %r9d, %ecx         0 when past 49
        "4983c001"  # add $1, %r8               count + 1
        "4939f0"  # cmp %rsi, %r8
        "75e6"  # jne
    ),
    "aarch64": bytes.fromhex(
        "457c4093"  # sxtw x5, w2
        "42040011"  # add w2, w2, #1
        "5fc80071"  # cmp w2, #50
        "03686538"  # ldrb w3, [x0, x5]
        "e2a3821a"  # csel w2, wzr, w2, ge
        "84040091"  # add x4, x4, #1
        "9f0001eb"  # cmp x4, x1
        "21ffff54"  # b.ne
    ),
}
TABLE = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmn"


def _object(command, tmp_path):
    target = tmp_path / "cmips.o"
    source = build.NATIVE / "cmips.c"
    subprocess.run(
        [*command, "-c", source, "-o", target], check=True, capture_output=True, timeout=60
    )
    return Elf.read(target)


def _zig(compiler, arch):
    return [str(compiler), "cc", "-target", f"{arch}-linux-musl", "-ffreestanding", "-std=c11"]


@pytest.mark.parametrize("optimisation", ["-O0", "-O1", "-O2", "-O3"])
@pytest.mark.parametrize("arch", build.ARCHITECTURES)
def test_kernel_is_the_pinned_loop_when_zig_compiles_it(compiler, tmp_path, arch, optimisation):
    elf = _object([*_zig(compiler, arch), optimisation], tmp_path)
    assert elf.between("cmips_loop_begin", "cmips_loop_end") == LOOPS[arch]


@pytest.mark.parametrize("optimisation", ["-O0", "-O2", "-O3"])
@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_kernel_is_the_pinned_loop_when_another_compiler_compiles_it(tmp_path, name, optimisation):
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed on this machine")
    elf = _object([name, "-ffreestanding", "-std=c11", optimisation], tmp_path)
    assert elf.between("cmips_loop_begin", "cmips_loop_end") == LOOPS[build.host_arch()]


@pytest.mark.parametrize("arch", build.ARCHITECTURES)
def test_kernel_is_aligned_in_the_shipped_program_when_built(compiler, arch):
    elf = Elf.read(build.build(arch, zig=compiler).binaries["cmips"].path)
    assert elf.address_of(LOOPS[arch]) % 64 == 0


def test_kernel_returns_last_index_and_byte_when_it_stops_anywhere(compiler, tmp_path):
    target = tmp_path / "cmips.so"
    command = [
        *_zig(compiler, build.host_arch()),
        "-O2",
        "-DPROBE_HOSTED",
        "-shared",
        "-fPIC",
        "-nostdlib",
    ]
    subprocess.run(
        [*command, build.NATIVE / "cmips.c", "-o", target],
        check=True,
        capture_output=True,
        timeout=60,
    )
    kernel = ctypes.CDLL(str(target)).cmips_kernel
    kernel.restype, kernel.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_uint64]
    for iterations in [*range(1, 160), 1_000_000, 1_000_049]:
        expected = (iterations % 50) << 8 | TABLE[(iterations - 1) % 50]
        assert kernel(TABLE, iterations) == expected
