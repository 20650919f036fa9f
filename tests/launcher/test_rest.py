"""Waiting until our own services leave the CPUs to what is measured."""

import io
import os
import subprocess
import sys

import pytest

from launcher import stack as stacks
from launcher.console import console
from launcher.processes import cpu_s, wait_until

BUSY = "import time\nwhile time.process_time() < 0.3: pass"


@pytest.fixture
def settled(state, monkeypatch):
    """What a stack says while it waits, with the CPU seconds that it sees."""
    stream = io.StringIO()
    monkeypatch.setattr(console, "stream", stream)
    monkeypatch.setattr(stacks, "REST_S", 0.01)

    def settle(*seconds):
        left = iter(seconds)
        monkeypatch.setattr(stacks, "cpu_s", lambda _: next(left))
        stacks.Stack(state).settle()
        assert next(left, None) is None
        return stream.getvalue()

    return settle


def test_services_are_waited_for_until_they_take_no_cpu(settled):
    assert "at rest" in settled(0.0, 12.0, 12.0, 24.0, 24.0, 24.0)


def test_measuring_begins_at_last_when_the_services_never_rest(settled, monkeypatch):
    monkeypatch.setattr(stacks, "REST_WITHIN_S", 0.0)
    assert "may disturb repeats" in settled(0.0, 1e9)


def test_cpu_time_counts_what_descends_from_a_process_and_has_ended():
    # Its child ends, and it waits with that child's time on its account.
    script = f'{sys.executable} -c "{BUSY}"; read _'
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE) as child:
        assert wait_until(lambda: cpu_s(child.pid) >= 0.2, 30)
        assert cpu_s(os.getpid()) >= cpu_s(child.pid)
        child.stdin.close()
