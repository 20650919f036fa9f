"""The observe program: records, timeouts, signals, the quiet gate, and what is left behind."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from backend.domain.parsing import observe


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


def test_observe_counts_the_cpu_of_grandchildren_when_nobody_waited_for_them(observed, bundle):
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


def test_observe_starts_the_command_without_blocked_signals_in_its_own_group(observed):
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
def test_observe_ends_the_command_and_records_it_when_it_is_told_to_stop(observed, number):
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


def test_observe_tells_seconds_since_the_start_when_given_one(observed):
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
    # All CPUs are busy and at most one of them with ours.
    assert conditions.foreign_cpu_ratio > 0.3


def test_observe_does_not_wait_when_the_host_is_known_to_be_quiet(observed):
    conditions = observed("true", quiet_budget_s=5, options=("--known-quiet", "yes"))
    assert (conditions.quiet_wait_s, conditions.is_quiet) == (0, True)


def test_observe_is_not_quiet_when_there_is_no_budget_to_look(observed):
    conditions = observed("true")
    assert (conditions.quiet_wait_s, conditions.is_quiet) == (0, False)


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
