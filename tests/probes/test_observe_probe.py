"""The observe program: records, timeouts, signals, the quiet gate, and what is left behind."""

import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from backend.measure.readers import observe
from tests.probes.cgroups import mounting
from tests.probes.conftest import needs


class Observed:
    """Runs commands under observe; the record and the command's output are in the directory."""

    def __init__(self, program: Path, directory: Path) -> None:
        self.program = program
        self.directory = directory
        self.record = directory / "record.json"

    def arguments(self, *command, timeout_s=10, quiet_budget_s=0, options=()):
        return [
            str(self.program),
            *("--probe", "cmips", "--variant", "all", "--repeat", "3"),
            *("--timeout", str(timeout_s), "--quiet-budget", str(quiet_budget_s), *options),
            *("--out", str(self.directory / "out"), "--err", str(self.directory / "err")),
            *("--json", str(self.record), "--", *command),
        ]

    def __call__(self, *command, **settings):
        done = subprocess.run(self.arguments(*command, **settings), capture_output=True, timeout=30)
        assert done.returncode == 0, done.stdout
        return observe.parse(self.record.read_text())


@pytest.fixture
def observed(bundle, tmp_path) -> Observed:
    return Observed(bundle.binaries["observe"].path, tmp_path)


def test_observe_records_output_and_cpu_when_the_command_works(observed):
    conditions = observed(
        "sh", "-c", "echo out; echo err >&2; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
    )
    assert (conditions.probe, conditions.variant, conditions.repeat) == ("cmips", "all", 3)
    assert conditions.is_complete
    assert (observed.directory / "out").read_text() == "out\n"
    assert (observed.directory / "err").read_text() == "err\n"
    assert 0 < conditions.cpu_s < 5
    assert conditions.usable_cpus == len(os.sched_getaffinity(0))
    share = conditions.cpu_s / (conditions.wall_s * conditions.usable_cpus)
    assert conditions.cpu_share == pytest.approx(share, abs=1e-3)


def test_observe_counts_the_cpu_of_grandchildren_without_a_wait(observed, bundle):
    pipe = observed.directory / "pipe"
    os.mkfifo(pipe)
    # In a session of its own and never waited for by the shell, which ends as soon as it is done.
    work = f"setsid {bundle.binaries['cmips'].path} --threads 1 --seconds 0.2"
    conditions = observed("sh", "-c", f"{{ {work}; echo > {pipe}; }} & read -r _ < {pipe}")
    assert json.loads((observed.directory / "out").read_text())["cpu_s"] > 0
    # At least the work of the window; a busy machine gives less of it.
    assert conditions.cpu_s >= json.loads((observed.directory / "out").read_text())["cpu_s"]


def test_observe_records_the_exit_code_when_the_command_fails(observed):
    conditions = observed("sh", "-c", "exit 7")
    assert (conditions.exit_code, conditions.signal) == (7, None)
    assert not conditions.is_complete


def test_observe_records_the_signal_when_the_command_is_killed(observed):
    conditions = observed("sh", "-c", "kill -SEGV $$")
    assert (conditions.exit_code, conditions.signal) == (None, signal.SIGSEGV)


def test_observe_records_127_when_there_is_no_such_command(observed):
    assert observed("no-such-command-anywhere").exit_code == 127
    assert "cannot run" in (observed.directory / "err").read_text()


def test_observe_finds_the_command_in_path_when_it_has_no_slash(observed, tmp_path, monkeypatch):
    command = tmp_path / "bin" / "mine"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\nexit 9\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"/nowhere:{command.parent}:{os.environ['PATH']}")
    assert observed("mine").exit_code == 9


def test_observe_starts_the_command_unblocked_in_its_own_group(observed):
    observed("sh", "-c", "cat /proc/self/status; cut -d' ' -f1,5 /proc/$$/stat; echo; cat <&0")
    printed = (observed.directory / "out").read_text()
    assert "SigBlk:\t0000000000000000" in printed
    pid, group = printed.split("\n")[-2 if not printed.endswith("\n\n") else -3].split()
    assert pid == group


def _is_gone(pid: str) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_observe_kills_the_whole_group_when_the_timeout_is_ignored(observed):
    script = "trap '' TERM; echo $$; while :; do sleep 60; done"
    script = f'sh -c "{script.replace("$", chr(92) + "$")}" & {script}'
    conditions = observed("sh", "-c", script, timeout_s=0.2)
    assert conditions.is_timed_out
    assert conditions.signal == signal.SIGKILL
    # The timeout, then two seconds of grace.
    assert 2 < conditions.wall_s < 4
    pids = (observed.directory / "out").read_text().split()
    assert len(pids) == 2
    assert all(_is_gone(pid) for pid in pids)


def test_observe_lets_the_command_end_itself_when_it_handles_the_timeout(observed):
    conditions = observed(
        "sh", "-c", "trap 'exit 4' TERM; while :; do sleep 0.05; done", timeout_s=0.3
    )
    assert (conditions.exit_code, conditions.is_timed_out) == (4, True)
    assert conditions.wall_s < 2


def test_observe_leaves_no_background_process_when_the_command_ends(observed):
    conditions = observed("sh", "-c", "sleep 60 & echo $!")
    assert conditions.exit_code == 0
    assert conditions.wall_s < 5
    assert _is_gone((observed.directory / "out").read_text().strip())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_observe_ends_and_records_the_command_when_stopped(observed, number):
    pipe = observed.directory / "started"
    os.mkfifo(pipe)
    command = observed.arguments("sh", "-c", f"echo $$ > {pipe}; exec sleep 60")
    with subprocess.Popen(command) as running:
        pid = pipe.read_text().strip()
        running.send_signal(number)
        assert running.wait(timeout=20) == 0
    conditions = observe.parse(observed.record.read_text())
    assert conditions.is_cancelled
    assert conditions.signal == signal.SIGTERM
    assert not conditions.is_timed_out
    assert _is_gone(pid)


def test_observe_works_when_its_parent_ignores_child_signals(observed):
    command = observed.arguments("sh", "-c", "exit 7")
    done = subprocess.run(
        command, timeout=20, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    )
    assert done.returncode == 0
    assert observe.parse(observed.record.read_text()).exit_code == 7


def test_observe_escapes_the_command_when_it_holds_odd_bytes(observed):
    command = observed.arguments(
        "printf", b'q"b\\t\tn\n\x01 \xc3\xa9 \xff \xed\xa0\x80 \xf0\x9f\x98\x80'
    )
    assert subprocess.run(command, timeout=20).returncode == 0
    # Bytes that are not UTF-8, and surrogates, become U+FFFD one by one.
    expected = 'printf q"b\\t\tn\n\x01 é \ufffd \ufffd\ufffd\ufffd \U0001f600'
    assert json.loads(observed.record.read_bytes())["command"] == expected


def test_observe_writes_seconds_since_the_start_when_given_one(observed):
    uptime_s = float(Path("/proc/uptime").read_text().split()[0])
    conditions = observed("true", options=("--since", f"{uptime_s - 100:.2f}"))
    assert 100 <= conditions.started_s < 110


def test_observe_waits_no_longer_than_the_budget_when_the_host_is_busy(observed, bundle):
    busy = [bundle.binaries["cmips"].path, "--threads", "all", "--seconds", "60"]
    with subprocess.Popen(busy, stdout=subprocess.DEVNULL) as neighbour:
        try:
            # 2.6 s: one look, then a whole window of two seconds, then no full slice is left.
            conditions = observed(
                bundle.binaries["cmips"].path,
                "--threads",
                "1",
                "--seconds",
                "1",
                quiet_budget_s=2.6,
            )
        finally:
            neighbour.kill()
    assert conditions.quiet_wait_s == 2.5
    assert not conditions.is_quiet
    # All CPUs are busy and at most one of them with ours; the neighbour computes and asks the kernel for nothing.
    assert conditions.foreign_cpu_ratio > 0.3
    assert conditions.foreign_user_ratio > 0.25


def test_observe_does_not_wait_when_the_host_is_known_to_be_quiet(observed):
    conditions = observed("true", quiet_budget_s=5, options=("--known-quiet", "yes"))
    assert (conditions.quiet_wait_s, conditions.is_quiet) == (0, True)


def test_observe_is_not_quiet_when_there_is_no_budget_to_look(observed):
    conditions = observed("true")
    assert (conditions.quiet_wait_s, conditions.is_quiet) == (0, False)


@pytest.fixture
def series(observed):
    """Observes a command with a line every tenth of a second; answers conditions and columns."""

    def run(*command, every_s="0.1", **settings):
        path = observed.directory / "series"
        options = ("--series", str(path), "--series-every", every_s)
        conditions = observed(*command, options=options, **settings)
        return conditions, observe.series(path.read_text())

    return run


def test_observe_writes_a_line_each_period_when_asked_for_a_series(series):
    conditions, columns = series("sleep", "0.55")
    times = columns["t_s"]
    # One line each tenth of a second and one for the rest. A busy machine may miss a period, but
    # no line comes before its time.
    assert 2 <= len(times) <= int(conditions.wall_s / 0.1) + 1
    assert all(at >= 0.1 * number - 0.001 for number, at in enumerate(times[:-1], 1))
    assert times[-1] <= conditions.wall_s + 0.001
    assert all(value is not None for value in columns["load"])


def test_observe_adds_no_line_when_the_last_period_is_too_short(series):
    _, columns = series("true", every_s="5")
    assert columns["t_s"] == []


def test_observe_writes_the_last_part_of_a_period_when_it_is_long_enough(series):
    _, columns = series("sleep", "0.3", every_s="1")
    (at,) = columns["t_s"]
    assert 0.3 <= at < 1


def test_observe_sees_the_cpu_in_the_series_when_the_command_computes(series, bundle):
    conditions, columns = series(
        *(bundle.binaries["cmips"].path, "--threads", "all", "--seconds", "1"), every_s="0.5"
    )
    # The lines tell of all work on the usable CPUs: at least what the command had itself.
    assert max(columns["cpu_ratio"]) > 0.8 * conditions.cpu_share
    known = [value for value in columns["mhz"] if value is not None]
    if not known:
        assert (conditions.mhz_min, conditions.mhz_mean) == (None, None)
    else:
        assert conditions.mhz_min == min(known)
        assert conditions.mhz_mean == pytest.approx(sum(known) / len(known), abs=0.06)


def _total(columns, name):
    """The sum of a rate over all periods."""
    begins = [0.0, *columns["t_s"]]
    periods = zip(columns[name], begins, columns["t_s"], strict=False)
    return sum(rate * (end - begin) for rate, begin, end in periods)


def _written_bytes() -> dict[str, int]:
    """What was written to each whole disk that stands on no other, by its own file in /sys."""
    stacked = ("loop", "ram", "zram", "dm-", "md", "bcache", "drbd", "zd")
    disks = [path for path in Path("/sys/block").glob("*") if not path.name.startswith(stacked)]
    return {disk.name: int((disk / "stat").read_text().split()[6]) * 512 for disk in disks}


def test_observe_counts_the_bytes_of_the_disk_once_when_they_are_written(series, tmp_path):
    before = _written_bytes()
    command = f"dd if=/dev/urandom of={tmp_path}/data bs=1M count=32 conv=fsync; sleep 0.3"
    _, columns = series("sh", "-c", command)
    most = sum(_written_bytes().values()) - sum(before.values())
    if most < 2**25:
        pytest.skip("the directory of the tests is on no whole disk")
    assert 0.95 * 2**25 < _total(columns, "disk_write_bytes_per_s") < 1.01 * most


def test_observe_counts_what_goes_over_a_link_when_it_is_not_the_loopback(observed):
    needs("ip", "ping", "unshare")
    if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode:
        pytest.skip("a network of its own is not allowed here")
    path = observed.directory / "series"
    command = observed.arguments(
        *("ping", "-c", "20", "-i", "0.02", "-s", "1000", "-W", "1", "10.9.9.2"),
        options=("--series", str(path), "--series-every", "0.2"),
    )
    # Nobody answers at the other end of the link; what is sent is received there all the same.
    script = (
        "ip link set lo up && ip link add link0 type veth peer name link1 && ip link set link1 up "
        "&& ip link set link0 up && ip address add 10.9.9.1/24 dev link0 "
        f"&& ip neighbour add 10.9.9.2 lladdr 02:00:00:00:00:02 dev link0 && {shlex.join(command)}"
    )
    done = subprocess.run(["unshare", "-n", "sh", "-c", script], capture_output=True, timeout=20)
    assert done.returncode == 0, done.stderr
    columns = observe.series(path.read_text())
    for name in ("net_send_bytes_per_s", "net_receive_bytes_per_s"):
        # Twenty requests of 1,000 bytes and 8 + 20 + 14 of headers, and some of the link's own.
        assert 20 * 1042 <= round(_total(columns, name)) < 20 * 1042 + 4000


def test_observe_costs_next_to_nothing_when_it_writes_a_series(observed):
    path = observed.directory / "series"
    command = observed.arguments(
        *("sh", "-c", "sleep 1; cut -d' ' -f1 /proc/$PPID/schedstat"),
        options=("--series", str(path), "--series-every", "0.1"),
    )
    subprocess.run(command, timeout=20, check=True)
    lines = path.read_text().count("\n") - 1
    cpu_ns = int((observed.directory / "out").read_text())
    # Measured: 0.3 ms a line. At a line a second that is 0.03 % of one CPU.
    assert cpu_ns / lines < 5e6


def test_observe_leaves_the_lines_that_were_whole_when_it_is_killed(observed):
    path = observed.directory / "series"
    command = observed.arguments(
        "sleep", "5", options=("--series", str(path), "--series-every", "0.1")
    )
    with subprocess.Popen(command) as running:
        deadline = time.monotonic() + 10
        while not path.exists() or path.read_text().count("\n") < 3:
            assert time.monotonic() < deadline
            os.sched_yield()
        running.kill()
    assert len(observe.series(path.read_text())["t_s"]) >= 2


def test_observe_exits_5_before_the_command_when_the_disk_is_full(observed):
    if not Path("/dev/full").exists():
        pytest.skip("/dev/full is missing")
    command = observed.arguments("true", options=("--series", "/dev/full"))
    assert subprocess.run(command, timeout=20, capture_output=True).returncode == 5
    assert not observed.record.exists()


def test_observe_exits_6_before_the_command_without_a_series_directory(observed):
    missing = observed.directory / "missing" / "series"
    command = observed.arguments("touch", "ran", options=("--series", str(missing)))
    assert subprocess.run(command, timeout=20, capture_output=True).returncode == 6
    assert not observed.record.exists()


@pytest.mark.parametrize("every_s", ["0", "0.09", "x", "-1"])
def test_observe_exits_2_when_the_period_is_wrong(observed, every_s):
    path = observed.directory / "series"
    command = observed.arguments("true", options=("--series", str(path), "--series-every", every_s))
    assert subprocess.run(command, timeout=20, capture_output=True).returncode == 2


@pytest.mark.parametrize(
    "arguments",
    [[], ["--probe", "x"], ["--timeout", "x", "--", "true"], ["--", "true"], ["--other", "1"]],
)
def test_observe_exits_2_when_the_arguments_are_wrong(probe, arguments):
    assert probe("observe", *arguments).returncode == 2


def test_observe_exits_6_when_the_record_cannot_be_written(observed):
    command = observed.arguments("true")
    command[command.index("--json") + 1] = str(observed.directory / "missing" / "record.json")
    assert subprocess.run(command, timeout=20).returncode == 6


def test_observe_ticks_its_parent_and_ends_with_it_when_asked(bundle):
    program = bundle.binaries["observe"].path
    # The shell is the parent: it ends at the first tick, and the ticker's end closes the pipe.
    script = f"trap 'echo tick; exit 0' USR1; {program} --tick & while :; do wait; done"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout) == (0, "tick\n")


def test_observe_prints_microseconds_when_asked_for_the_clock(probe):
    first, second = (int(probe("observe", "--clock").stdout) for _ in range(2))
    assert 0 < second - first < 10_000_000


def _with_stat(bundle, tmp_path, before, after):
    """Conditions of a command on one CPU of a host whose /proc/stat says this before and after it."""
    stat, later, record = (tmp_path / name for name in ("stat", "later", "record.json"))
    stat.write_text(before)
    later.write_text(after)
    cpu = max(os.sched_getaffinity(0))
    options = f"--probe p --variant v --repeat 0 --timeout 9 --quiet-budget 0 --json {record}"
    files = f"--out {tmp_path}/out --err {tmp_path}/err"
    subprocess.run(
        [
            *mounting((stat, "/proc/stat")),
            *("taskset", "-c", str(cpu), bundle.binaries["observe"].path),
            *options.split(),
            *files.split(),
            *("--", "sh", "-c", f"sleep 0.5; cat {later} > /proc/stat"),
        ],
        check=True,
        timeout=20,
    )
    return observe.parse(record.read_text())


def test_observe_sees_others_where_a_container_counts_its_cpus_from_0(bundle, tmp_path):
    """lxcfs and OpenVZ: one CPU of ours, and one line, whatever its number."""
    # In half a second 50 hundredths of it were busy: all of the time was somebody else's.
    before, after = ("cpu  9 0 0 9\ncpu0 1000 0 0 1000 0 0 0 0\nintr 1\n" for _ in range(2))
    after = after.replace("cpu0 1000", "cpu0 1050")
    conditions = _with_stat(bundle, tmp_path, before, after)
    assert conditions.foreign_cpu_ratio > 0.5


@pytest.mark.parametrize("lines", [0, 3])
def test_observe_reports_unknown_cpus(bundle, tmp_path, lines):
    text = "cpu  9 0 0 9\n" + "".join(f"cpu{7000 + n} 5 0 0 5 0 0 0 0\n" for n in range(lines))
    conditions = _with_stat(bundle, tmp_path, text, text)
    assert conditions.foreign_cpu_ratio is None
    assert conditions.foreign_user_ratio is None
    assert (conditions.steal_ratio, conditions.iowait_ratio) == (None, None)
    assert conditions.is_complete
