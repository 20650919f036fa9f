"""Other systems to run a host in: an overlay of this machine with further packages, other releases, busybox alone.

Packages come by this machine's own apt, into an overlay, so that nothing is installed here.
"""

import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.hosts.boxes import Unsupported

PACKAGES = "fish tcsh csh zsh mksh ksh dropbear-bin busybox-static debootstrap rust-coreutils"
WITHIN_S = 1200


def _as_root(*words: object, within_s: float = WITHIN_S) -> str:
    command = [str(word) for word in words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=within_s)
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        raise Unsupported(str(error)) from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-200:]
        raise Unsupported(f"{' '.join(command[:4])}: {said}")
    return done.stdout


class Roots:
    """Makes each when it is first asked for; all are gone with the context. Raises Unsupported."""

    def __init__(self, directory: Path, undo: ExitStack) -> None:
        self._directory, self._undo = directory, undo
        self.make = functools.cache(self._make)

    def _make(self, name: str) -> Path:
        if name == "packages":
            return self._with_packages()
        if name == "uutils":
            return self._with_uutils()
        if name == "busybox":
            return self._busybox_alone()
        return self._release(name)

    def _overlay(self, name: str, lower: Path) -> Path:
        root, upper, work = (self._directory / name / part for part in ("root", "upper", "work"))
        for path in (root, upper, work):
            path.mkdir(parents=True)
        options = f"lowerdir={lower},upperdir={upper},workdir={work}"
        _as_root("mount", "-t", "overlay", "-o", options, "overlay", root)
        self._undo.callback(subprocess.run, ["umount", "-l", str(root)])
        return root

    def _with_packages(self) -> Path:
        root = self._overlay("packages", Path("/"))
        _as_root("mount", "-t", "proc", "proc", root / "proc")
        self._undo.callback(subprocess.run, ["umount", "-l", f"{root}/proc"])
        # No service of a package may start.
        (root / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
        (root / "usr/sbin/policy-rc.d").chmod(0o755)
        install = f"apt-get -qq update; apt-get -qq install --no-install-recommends {PACKAGES}"
        _as_root("chroot", root, "env", "DEBIAN_FRONTEND=noninteractive", "sh", "-c", install)
        return root

    def _with_uutils(self) -> Path:
        """The core utilities written in Rust in the stead of GNU's."""
        packages = self.make("packages")
        root = self._overlay("uutils", packages)
        programs = packages / "usr/lib/cargo/bin/coreutils"
        if not programs.is_dir():
            raise Unsupported("the package rust-coreutils has no programs where Debian has them")
        for program in programs.iterdir():
            (root / "usr/bin" / program.name).unlink(missing_ok=True)
            shutil.copy(program, root / "usr/bin" / program.name)
        return root

    def _busybox_alone(self) -> Path:
        """dropbear, busybox and nothing else."""
        packages, root = self.make("packages"), self._directory / "busybox"
        for name in (
            "bin",
            "sbin",
            "usr/bin",
            "usr/sbin",
            "etc",
            "proc",
            "sys",
            "dev",
            "run",
            "home",
            "tmp",
            "var/tmp",
        ):
            (root / name).mkdir(parents=True, exist_ok=True)
        (root / "var/tmp").chmod(0o1777)
        for name in ("passwd", "group"):
            shutil.copy(packages / "etc" / name, root / "etc" / name)
        for program in ("usr/sbin/dropbear", "usr/bin/dropbearconvert", "usr/bin/busybox"):
            source = (
                packages / program if (packages / program).exists() else packages / "bin/busybox"
            )
            shutil.copy(source, root / "bin" / Path(program).name)
            linked = subprocess.run(
                ["chroot", packages, "ldd", f"/{program}"], capture_output=True, text=True
            )
            for word in linked.stdout.split():
                if word.startswith("/"):
                    (root / word[1:]).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(packages / word[1:], root / word[1:])
        _as_root("chroot", root, "/bin/busybox", "--install", "-s", "/bin")
        return root

    def _release(self, suite: str) -> Path:
        """A small system of another release of Debian."""
        packages = self.make("packages")
        mirror = _as_root(
            "apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"
        )
        urls = [line for line in mirror.splitlines() if line.rstrip("/").endswith("/debian")]
        if not urls:
            raise Unsupported("apt has no archive of Debian here")
        target = f"/srv/{suite}"
        include = "--include=openssh-server,fio,iperf3,stress-ng,sysbench,iputils-ping"
        _as_root(
            "chroot", packages, "debootstrap", "--variant=minbase", include, suite, target, urls[0]
        )
        return packages / target[1:]


@contextmanager
def roots() -> Iterator[Roots]:
    if os.geteuid() != 0:
        raise Unsupported("only root may make other systems")
    with ExitStack() as undo:
        directory = Path(tempfile.mkdtemp(prefix="roots-", dir="/var/tmp"))
        undo.callback(shutil.rmtree, directory, ignore_errors=True)
        yield Roots(directory, undo)
