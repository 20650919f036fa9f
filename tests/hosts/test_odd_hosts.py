"""Hosts as people have them: each is measured, or refused in one sentence; nothing is silently wrong.

Each row of the table has a server of its own (tests.hosts.boxes) and a short run of `manage.py benchmark`.
"""

import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from backend.benchmarks.models import Run, RunState
from backend.benchmarks.selectors.hosts import fingerprint
from backend.measure.probes import PROBES
from backend.measure.profiles import MIB
from tests.hosts.boxes import DROPBEAR, Box, Unsupported, machine, packages
from tests.hosts.roots import Roots, roots

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.native,
    pytest.mark.usefixtures("queued", "built_probes"),
]

SHORT = {
    "repeats": 1, "quiet_budget_s": 0, "seconds": 0.2, "file_bytes": 16 * MIB, "disk_s": 1,
    "small_files": 20,
}  # fmt: skip


ORDINARY = Box()


@dataclass(frozen=True)
class Row:
    """A kind of host and what has to come of it."""

    name: str
    box: Box = ORDINARY
    refusal: str = ""
    """What the sentence says that refuses it; "" where it is measured."""
    said: str = ""
    """What the result says of a host that is measured."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Probes without a figure → why."""
    probes: tuple[str, ...] = ("cmips",)
    parameters: Mapping[str, object] = field(default_factory=dict)
    programs: tuple[str, ...] = ()
    """What this machine needs for it."""
    root: str = ""
    """The other system that it runs, by its name in tests.hosts.roots."""


def after(rc: str) -> Box:
    """An ordinary machine whose login shell first reads this."""
    return Box(rc=rc)


def limited(controller: str, name: str, limit: object, **different: Any) -> Box:
    return Box(groups={controller: {name: str(limit)}}, **different)


# These need a device or several directories.
SPECIAL = {
    ("dd", variant) for variant in ("read_outer", "read_inner", "read_parallel", "write_parallel")
}
DISK = ("cmips", "dd", "small_files")
RAM = ("cmips", "memory", "dd")
NO_DIRECTORY = "not a directory that we may write to"
READS = "may read standard input"
STARTS = "starts another shell in place of the command"
MEMORY = "memory.limit_in_bytes"
# What every change tries.
ROWS = [
    Row("bash", probes=DISK),
    Row(
        "busybox ash", Box(shell="/home/user/ash", script="ln -s $(command -v busybox) /home/user/ash"),
        programs=("busybox",),
    ),
    Row("rbash", Box(shell="/bin/rbash"), "runs no commands: rbash.*restricted"),
    Row("nologin", Box(shell="/usr/sbin/nologin"), "This account is currently not available"),
    Row("false", Box(shell="/bin/false"), "the login shell runs no commands"),
    Row("forced command", Box(sshd=["ForceCommand echo only backups"]), "only backups"),
    Row("sftp only", Box(sshd=["ForceCommand internal-sftp"]), "sftp connections only"),
    Row("MaxSessions 0", Box(sshd=["MaxSessions 0"]), "open failed"),
    Row("MaxStartups 1", Box(sshd=["MaxStartups 1", "ClientAliveInterval 1"])),
    Row("noisy rc file", after("echo Welcome; echo @ boot_id 3; echo oops >&2; printf '\\033[2J'")),
    Row("rc file that reads input", after("cat >/dev/null"), READS),
    Row("rc file with another shell", after("exec bash"), STARTS),
    Row(
        "Turkish, POSIX, IFS, CDPATH",
        after("export LC_ALL=tr_TR.UTF-8 POSIXLY_CORRECT=1 IFS=/ CDPATH=/:/usr TZ=Asia/Kolkata"), probes=DISK,
    ),
    Row("no TMPDIR, HOME and PATH", after("export TMPDIR=/nonexistent HOME=/nonexistent PATH=/nonexistent")),
    Row("umask 0777, no standard error", after("umask 0777; exec 2>&-"), probes=DISK),
    Row("ulimit -u 2", after("ulimit -u 2"), "[Rr]esource|fork"),
    Row("ulimit -n 8", after("ulimit -n 8"), "may open only 8 files at once"),
    Row("ulimit -f", after("ulimit -f 1024"), probes=DISK, left_out={"dd": "a limit of file sizes"}),
    Row(
        "ulimit -v", after("ulimit -v 40000"), probes=("cmips", "memory"),
        left_out={"memory": "status 3: (a worker process failed|not enough memory)"},
    ),
    Row("nice 19", after("renice -n 19 $$ >/dev/null"), said="nice 19"),
    Row(
        "affinity of one CPU", after("taskset -pc 0 $$ >/dev/null"), said="only 1 of [0-9]+ CPUs",
        programs=("taskset",),
    ),
    Row("half a CPU", limited("cpu", "cpu.cfs_quota_us", 50_000), said="to 0.5 of [0-9]+ CPUs"),
    Row(
        "150 MiB of memory", limited("memory", MEMORY, 150 * MIB, user="root"), said="to 0.146 of",
        probes=("cmips", "dd"),
    ),
    Row("/tmp in memory", Box(script="mount -t tmpfs -o mode=1777 tmpfs /tmp"), probes=("dd",), said="dd_direct"),
    Row(
        "directory in memory",
        Box(script="mkdir /tmp/m; mount -t tmpfs -o mode=1777 tmpfs /tmp/m"),
        probes=("dd", "small_files"), parameters={"directory": "/tmp/m"},
        said="fsync_p99_ns .*not ranked: memory may have stood in for the disk",
    ),
    Row("directory that is missing", probes=("dd",), parameters={"directory": "/missing"}, refusal=NO_DIRECTORY),
]  # fmt: skip
# What `./rackrate test --deep tests/hosts` tries in addition.
MORE_ROWS = [
    Row("root", Box(user="root"), probes=DISK),
    Row("dash", Box(shell="/bin/dash"), probes=DISK),
    Row("MaxSessions 1", Box(sshd=["MaxSessions 1"])),
    Row("rc file of 1 MB", after("head -c 1000000 /dev/zero | tr '\\0' x")),
    Row("German", after("export LANG=de_DE")),
    Row("aliases and functions", after("shopt -s expand_aliases; alias ls='ls --color' sh=false; set -u")),
    Row("ulimit -u 14", after("ulimit -u 14")),
    Row("ulimit -n 16", after("ulimit -n 16")),
    Row("ulimit -l 0", after("ulimit -l 0")),
    Row("ulimit -s", after("ulimit -s 64")),
    Row("ulimit -t 1", after("ulimit -t 1"), "killed by signal|a worker process failed", parameters={"seconds": 30}),
    Row("SCHED_IDLE", after("chrt -i -p 0 $$"), said="CPU policy idle", programs=("chrt",)),
    Row("one and a half CPUs", limited("cpu", "cpu.cfs_quota_us", 150_000), said="to 1.5 of [0-9]+ CPUs"),
    Row("1.5 GiB of memory", limited("memory", MEMORY, 1536 * MIB, user="root"), said="to 1.5 of", probes=RAM),
    Row("300 ms each way", Box(line=("--delay-s", "0.3"))),
    Row("line cut every 6 s", Box(line=("--cut-s", "6")), parameters={"repeats": 4, "seconds": 1}),
    Row("/tmp without programs", Box(script="mount -t tmpfs -o mode=1777,noexec tmpfs /tmp")),
    Row("/tmp read only", Box(script="mount -o remount,bind,ro /tmp")),
    Row(
        "directory of an odd name",
        Box(script="mkdir \"/tmp/a b:c'd\\$(touch x)\"; chmod 777 /tmp/a*"),
        probes=("dd", "small_files"), parameters={"directory": "/tmp/a b:c'd$(touch x)"},
    ),
    Row("directory /proc", probes=("dd",), parameters={"directory": "/proc"}, refusal=NO_DIRECTORY),
    *(
        Row(name, Box(shell=f"/usr/bin/{name}", rc_name=rc_name, rc="echo Welcome"), root="packages")
        for name, rc_name in [
            ("fish", ".config/fish/config.fish"), ("tcsh", ".tcshrc"), ("bsd-csh", ".cshrc"),
            ("zsh", ".zshenv"), ("ksh93", ".kshrc"), ("mksh", ".mkshrc"),
        ]
    ),
    Row("uutils coreutils", root="uutils", probes=DISK),
    Row("dropbear and busybox alone", Box(shell="/bin/sh", server=DROPBEAR), root="busybox", probes=DISK),
    *(
        Row(f"Debian {suite}", root=suite, probes=(*DISK, "sysbench"))
        for suite in ("bullseye", "bookworm", "sid")
    ),
]  # fmt: skip


def benchmarked(row: Row, box: Box, tmp_path: Any) -> tuple[str, str, bool]:
    """What the command printed, the sentence with which it failed, and whether the server lives."""
    out = io.StringIO()
    with machine(box) as there:
        identity = tmp_path / "identity"
        identity.write_text(there.private_key)
        words = [
            f"{there.username}@{there.address}:{there.port}", "--identity", str(identity),
            "--config", "/dev/null", "--fingerprint", fingerprint(there.host_key), "--quiet",
            *(word for probe in row.probes for word in ("--probe", probe)),
        ]  # fmt: skip
        for name, value in {**SHORT, **row.parameters}.items():
            words += ["--set", f"{name}={value}"]
        error = ""
        try:
            call_command("benchmark", *words, stdout=out, stderr=io.StringIO())
        except CommandError as failure:
            error = str(failure)
        return out.getvalue(), error, there.is_up


def planned(run: Run) -> set[tuple[str, str]]:
    return {
        (probe, variant)
        for probe in run.probes
        if probe != "inventory"
        for variant in PROBES[probe].variants
        if (probe, variant) not in SPECIAL
    }


def assert_nothing_silent(run: Run, row: Row, out: str) -> None:
    """Each series has a figure, or the result says why not."""
    evidence = {
        (item.probe, item.variant): item for item in run.evidence.exclude(probe="inventory")
    }
    assert set(evidence) == planned(run)
    for (probe, variant), item in evidence.items():
        has_figures = item.samples.exists()
        assert has_figures == (probe not in row.left_out), (probe, variant, item.error, out)
        if not has_figures:
            assert re.search(row.left_out[probe], item.error), item.error
            assert re.search(f"warning: .*{probe}", out), out
    assert re.search(row.said, out), out


@pytest.fixture(scope="module")
def other_systems() -> Iterator[Callable[[str], Path]]:
    """Makes the system of that name when it is first needed."""
    with ExitStack() as undo:
        made: list[Roots] = []

        def make(name: str) -> Path:
            if not made:
                made.append(undo.enter_context(roots()))
            return made[0].make(name)

        yield make


@pytest.fixture
def tried(
    request: pytest.FixtureRequest,
    note_row: Callable[[str, str, str], None],
    settings: Any,
    tmp_path: Path,
) -> Callable[[Row], tuple[Run | None, str, str]]:
    """What a row's run came to: the run, what the command printed, and the sentence with which it failed."""
    settings.SSH_ALLOW_PRIVATE = True

    def attempt(row: Row) -> tuple[Run | None, str, str]:
        try:
            packages(*row.programs)
            box = row.box
            if row.root:
                box = replace(box, root=request.getfixturevalue("other_systems")(row.root))
            out, error, is_up = benchmarked(row, box, tmp_path)
        except Unsupported as reason:
            note_row(row.name, "skipped", str(reason))
            pytest.skip(str(reason))
        assert is_up, "the host's server has ended"
        note_row(row.name, "refused" if error else "works", error or warnings_of(out))
        return Run.objects.first(), out, error

    return attempt


def warnings_of(out: str) -> str:
    return " / ".join(re.findall(r"(?:warning: |, (?=not ranked))(.*)", out))


def assert_as_the_row_says(row: Row, run: Run | None, out: str, error: str) -> None:
    if row.refusal:
        assert re.search(row.refusal, error), error
        assert "\n" not in error
        assert len(error) < 400
        assert run is None or not run.samples.exists()
    else:
        assert error == ""
        assert run is not None
        assert run.state == RunState.DONE
        assert_nothing_silent(run, row, out)


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_host_is_measured_or_refused_in_one_sentence(row, tried):
    assert_as_the_row_says(row, *tried(row))


@pytest.mark.deep
@pytest.mark.parametrize("row", MORE_ROWS, ids=[row.name for row in MORE_ROWS])
def test_further_host_is_measured_or_refused_in_one_sentence(row, tried):
    assert_as_the_row_says(row, *tried(row))
