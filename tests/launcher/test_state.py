"""The state folder: permissions, secrets, the lock, left-overs of a killed launcher."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from launcher.console import LauncherError
from launcher.processes import PROC, ProcessRecord, has_ended, wait_until
from launcher.state import Busy, StackState, throw_away
from tests.launcher.conftest import ROOT, sleeper

HOLD_LOCK = """
import sys, time
from pathlib import Path
from launcher.state import StackState
StackState(Path(sys.argv[1])).acquire(sys.argv[2])
print("held", flush=True)
time.sleep(600)
"""


@pytest.fixture
def process(state):
    """A sleeping process marked as one of this state."""
    started = sleeper(env={"RACKRATE_STATE_DIR": str(state.directory)})
    yield started
    started.kill()
    started.wait()


def test_state_is_for_this_user_only_when_made(state):
    state.secrets()
    assert state.directory.stat().st_mode & 0o777 == 0o700
    assert (state.directory / "secrets.json").stat().st_mode & 0o777 == 0o600


def test_state_is_a_problem_when_its_path_is_a_file(tmp_path):
    (tmp_path / "state").write_text("")
    with pytest.raises(LauncherError, match="state folder"):
        StackState(tmp_path / "state")


def test_secrets_stay_the_same_when_read_again(state):
    first = state.secrets()
    assert StackState(state.directory).secrets() == first
    assert len(set(first.values())) == len(first) == 5


def test_lock_refuses_a_second_launcher_when_the_first_lives(state):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_LOCK, str(state.directory), "up"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    ) as holder:
        holder.stdout.readline()
        with pytest.raises(Busy) as caught:
            state.acquire("up")
        assert (caught.value.pid, caught.value.command) == (holder.pid, "up")
        holder.kill()
        holder.wait()
        state.acquire("up")  # the kernel freed it with its holder
        state.release()


def test_left_over_is_stopped_when_pid_and_start_time_match(state, process):
    state.save_processes({"worker": ProcessRecord.of("worker", process.pid)})
    assert state.stop_left_overs() == ["worker"]
    assert process.wait(5) == -signal.SIGTERM


def test_stranger_is_left_alone_when_it_has_the_number_of_a_left_over(state, process):
    stranger = replace(ProcessRecord.of("worker", process.pid), started=1)
    state.save_processes({"worker": stranger})
    assert state.stop_left_overs() == []
    assert process.poll() is None


def test_process_of_an_earlier_boot_is_left_alone(state, process):
    state.save_processes(
        {"worker": replace(ProcessRecord.of("worker", process.pid), boot="another")}
    )
    assert state.stop_left_overs() == []
    assert process.poll() is None


def test_pool_process_is_stopped_when_its_leader_is_dead(state, tmp_path):
    program = (
        "import subprocess, sys; print(subprocess.Popen(['sleep', '600']).pid, flush=True); input()"
    )
    leader = subprocess.Popen(
        [sys.executable, "-c", program],
        env={"RACKRATE_STATE_DIR": str(state.directory), "PATH": os.environ["PATH"]},
        start_new_session=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with leader:
        child = int(leader.stdout.readline())
        record = ProcessRecord.of("worker", leader.pid)
        assert wait_until((PROC / str(child) / "environ").read_bytes, 5)  # empty while it starts
        leader.kill()
    assert has_ended(leader.pid)
    assert not has_ended(child)
    state.save_processes({"worker": record})
    assert state.stop_left_overs() == ["worker"]
    assert wait_until(lambda: has_ended(child), 5)


def test_throw_away_state_is_gone_when_its_purpose_ends(state):
    with throw_away(state, "test") as own:
        own.write("file", "content")
        assert own.directory.parent == state.directory / "throw-away"
    assert not own.directory.exists()


def test_throw_away_state_of_a_killed_launcher_is_cleaned_by_the_next(state, process):
    old = StackState(state.directory / "throw-away" / "test-old")
    record = ProcessRecord.of("worker", process.pid)
    old.save_processes({"worker": record})
    with throw_away(state, "test"):
        assert not old.directory.exists()
    assert process.wait(5) == -signal.SIGTERM


def test_throw_away_state_of_a_live_launcher_stays_when_another_starts(state):
    with throw_away(state, "one") as first, throw_away(state, "two"):
        assert first.directory.exists()


def test_written_file_is_whole_and_private_when_replaced(state):
    state.write("stack.json", json.dumps({"a": 1}))
    path = Path(state.write("stack.json", json.dumps({"b": 2})))
    assert json.loads(path.read_text()) == {"b": 2}
    assert path.stat().st_mode & 0o777 == 0o600
