"""Runs from beginning to end over real SSH, and the ways in which they fail."""

import gzip
import os
import re
import subprocess
import time

import asyncssh
import pytest

from backend.benchmarks.models import HostState, RunState, Step
from backend.benchmarks.selectors.evidence import evidence_text
from backend.benchmarks.selectors.hosts import fingerprint
from backend.benchmarks.selectors.runs import run_view
from backend.benchmarks.services.leases import silence_limit
from backend.benchmarks.services.login_keys import host_private_key_replace
from backend.benchmarks.services.runs import run_cancel
from tests.workers.conftest import driven, hurry, tiny_run
from workers.engine import dispatch, poller
from workers.engine.pump import Pump
from workers.remote.probes import plan as plans

pytestmark = pytest.mark.django_db(transaction=True)


def values(run, metric="cmips_score"):
    return {sample.repeat: sample.value for sample in run.samples.filter(metric=metric)}


def is_clean(sshd):
    return sorted(os.listdir(sshd.temporary)) == []


def test_run_ends_done_with_samples_and_evidence_over_ssh(ssh_host, sshd):
    run = driven(tiny_run(ssh_host))
    assert (run.state, run.failure_reason) == (RunState.DONE, "")
    assert sorted(values(run)) == [0, 1]
    assert sorted(values(run, "cmips_single_score")) == [0, 1]
    # inventory, then two rounds of two series
    assert [e.n for e in run.evidence.all()] == [1, 2, 3, 4, 5]
    for evidence in run.evidence.all():
        text = evidence_text(evidence)
        assert len(text.encode()) == evidence.size_bytes
        assert evidence.exit_code == 0
    score = run.samples.get(metric="cmips_score", repeat=0)
    assert score.evidence is not None
    assert '"probe":"cmips"' in evidence_text(score.evidence)
    assert run.progress_ratio == 1
    assert (run.runner_s or 0) > 0.8  # four repeats of 0.2 s
    assert 0 < (run.overhead_s or 0) < 30
    assert is_clean(sshd)


def test_run_fills_host_facts_and_offer_from_the_inventory(ssh_host):
    run = driven(tiny_run(ssh_host, probes=["inventory"]))
    ssh_host.refresh_from_db()
    run.offer.refresh_from_db()
    assert run.state == RunState.DONE
    assert ssh_host.facts["arch"] == os.uname().machine
    assert run.offer.thread_count == len(os.sched_getaffinity(0))
    assert run.offer.memory_bytes == ssh_host.facts["memory_bytes"] > 0


def test_run_measures_memory_and_disk_in_the_directory_asked_for(ssh_host, tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    run = driven(
        tiny_run(
            ssh_host, probes=["memory", "dd"], directory=str(place), file_bytes=2**26, repeats=1
        )
    )
    assert (run.state, run.failure_detail) == (RunState.DONE, "")
    metrics = set(run.samples.values_list("metric", flat=True))
    assert metrics == {
        "memory_bandwidth_bytes_per_s",
        "memory_latency_ns",
        "disk_write_bytes_per_s",
        "disk_read_bytes_per_s",
    }
    written = run.samples.get(metric="disk_write_bytes_per_s")
    assert written.parameters["directory"] == str(place)
    assert list(place.iterdir()) == []


def test_dead_host_ends_in_unreachable(ssh_host, sshd):
    run = tiny_run(ssh_host)
    sshd.refuse()
    driven(run)
    assert (run.state, run.failure_reason) == (RunState.FAILED, "unreachable")
    assert "127.0.0.1" in run.failure_detail
    assert run.steps.get(state="reachable").attempt == 4


def test_wrong_key_ends_in_auth(ssh_host, sshd):
    other = asyncssh.generate_private_key("ssh-ed25519").export_private_key("openssh").decode()
    host_private_key_replace(host=ssh_host, private_key=other, actor="tester")
    run = driven(tiny_run(ssh_host))
    assert (run.state, run.failure_reason) == (RunState.FAILED, "auth")
    assert sshd.commands == []


@pytest.mark.parametrize("kind", ["ssh-ed25519", "ecdsa-sha2-nistp256"])
def test_changed_host_key_ends_in_auth_with_both_fingerprints(ssh_host, sshd, kind):
    pinned = fingerprint(sshd.host_key)
    run = tiny_run(ssh_host)
    sshd.change_host_key(kind)
    driven(run)
    presented = fingerprint(sshd.host_key)
    assert (run.state, run.failure_reason) == (RunState.FAILED, "auth")
    assert presented != pinned
    assert presented in run.failure_detail
    assert pinned in run.failure_detail
    assert sshd.commands == []
    ssh_host.refresh_from_db()
    assert ssh_host.state == HostState.KEY_CHANGED
    assert fingerprint(ssh_host.scanned_key) == presented


def test_killed_probe_ends_in_interrupted_with_the_rest_kept(ssh_host, sshd, broken_probes):
    broken_probes("cmips", '[ "$count" -eq 2 ] && kill -9 $$\nexec "$real" "$@"')
    run = driven(tiny_run(ssh_host))
    assert (run.state, run.failure_reason) == (RunState.FAILED, "interrupted")
    assert run.failure_detail == "cmips all, repeat 2: killed by signal 9"
    assert sorted(values(run)) == [0]
    assert sorted(values(run, "cmips_single_score")) == [0, 1]
    assert run.evidence.get(probe="cmips", variant="all", repeat=1).error != ""
    assert is_clean(sshd)


def test_truncated_output_ends_in_a_named_failure_with_the_rest_kept(ssh_host, broken_probes):
    broken_probes(
        "cmips", '[ "$count" -eq 1 ] && { "$real" "$@" | head -c 60; exit 0; }\nexec "$real" "$@"'
    )
    run = driven(tiny_run(ssh_host))
    assert (run.state, run.failure_reason) == (RunState.FAILED, "bug")
    assert run.failure_detail.startswith(
        "cmips single, repeat 1: cmips: not exactly one whole line"
    )
    assert sorted(values(run)) == [0, 1]
    assert sorted(values(run, "cmips_single_score")) == [1]


def test_probe_over_its_time_ends_in_timeout_with_the_rest_kept(
    ssh_host, broken_probes, monkeypatch
):
    monkeypatch.setattr(plans, "_step", _with_timeout(plans._step, "1"))
    broken_probes("cmips", '[ "$count" -eq 0 ] && sleep 100\nexec "$real" "$@"')
    run = driven(tiny_run(ssh_host))
    assert (run.state, run.failure_reason) == (RunState.FAILED, "timeout")
    assert sorted(values(run)) == [1]


def _with_timeout(step, timeout_s):
    def changed(*arguments):
        words = step(*arguments)
        return (*words[:4], timeout_s, *words[5:])

    return changed


def test_killed_runner_ends_in_interrupted_with_the_measured_kept(ssh_host, sshd, broken_probes):
    # The third repeat kills the runner itself: observe's parent.
    broken_probes(
        "cmips",
        '[ "$count" -eq 2 ] && { kill -9 "$(cat pid)"; sleep 100; }\nexec "$real" "$@"',
    )
    run = driven(tiny_run(ssh_host))
    assert (run.state, run.failure_reason) == (RunState.FAILED, "interrupted")
    assert sorted(values(run)) == [0]
    assert sorted(values(run, "cmips_single_score")) == [0]
    assert is_clean(sshd)


def test_unavailable_probe_fails_nothing_and_is_not_repeated(ssh_host, sshd, broken_probes):
    broken_probes("memory", "echo '=== failure unavailable: too little memory'; exit 7")
    run = driven(tiny_run(ssh_host, probes=["memory", "cmips"], repeats=5, seconds=0.7))
    assert (run.state, run.failure_reason) == (RunState.DONE, "")
    # These tests may run at a nice value, which the inventory remarks.
    warnings = [w for w in run_view(run).warnings if not w.startswith("the login runs at nice")]
    assert warnings == ["memory: not available: too little memory"]
    assert len(values(run)) == 5
    assert run.evidence.filter(probe="memory").count() < 10
    assert set(run.evidence.filter(probe="memory").values_list("exit_code", flat=True)) == {7}
    assert is_clean(sshd)


def test_broken_probe_leaves_the_run_done_with_what_it_lacks(ssh_host, broken_probes):
    broken_probes("memory", "echo '{'; exit 0")
    run = driven(tiny_run(ssh_host, probes=["memory", "cmips"], repeats=2))
    assert (run.state, run.failure_reason) == (RunState.DONE, "")
    assert len(values(run)) == 2
    assert run_view(run).warnings[-1] == (
        "memory failed, so the run has no memory_bandwidth_bytes_per_s, memory_latency_ns"
    )


def test_what_dead_runs_left_on_the_host_is_removed_with_an_event(ssh_host, sshd):
    left = sshd.temporary / "rackrate-00000000-0000-4000-8000-000000000000"
    left.mkdir()
    (left / "bin").mkdir()
    old = time.time() - 2 * 86_400
    os.utime(left, (old, old))
    run = driven(tiny_run(ssh_host, probes=["inventory"]))
    assert run.state == RunState.DONE
    assert run.events.get(kind="swept").detail == (
        f"{left} was left by an earlier run and is removed"
    )
    assert is_clean(sshd)


def test_clock_that_is_off_is_a_warning_and_no_more(ssh_host, tmp_path, monkeypatch):
    tools = tmp_path / "tools"
    tools.mkdir()
    late = tools / "date"
    late.write_text(f"#!/bin/sh\necho {int(time.time()) - 3600}\n")
    late.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    run = driven(tiny_run(ssh_host, probes=["inventory"]))
    assert run.state == RunState.DONE
    (warning,) = [w for w in run_view(run).warnings if w.startswith("the clock")]
    assert re.fullmatch(r"the clock is -3[56]\d\d s off; durations are not affected", warning)


@pytest.fixture
def small_tmpfs(sshd):
    """The target's temporary directory on 1 MiB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(sshd.temporary)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")
    yield sshd.temporary
    subprocess.run(["umount", str(sshd.temporary)], check=True)


def test_full_tmp_ends_in_disk_full(ssh_host, small_tmpfs):
    run = driven(tiny_run(ssh_host))
    assert (run.state, run.failure_reason) == (RunState.FAILED, "disk_full")
    assert "KiB free" in run.failure_detail


def test_cancelled_run_keeps_what_was_measured(ssh_host, sshd, broken_probes):
    run = tiny_run(ssh_host, repeats=50)
    # The third repeat lasts long enough to be cancelled in.
    broken_probes(
        "cmips", '[ "$count" -ge 2 ] && exec "$real" --threads 1 --seconds 60\nexec "$real" "$@"'
    )
    pump = Pump()
    while not run.evidence.filter(n=3).exists():
        hurry(run)
        pump.steps(wait_s=0)
        _follow_briefly()
    run_cancel(run=run, actor="tester")
    driven(run)
    assert run.state == RunState.CANCELLED
    assert (run.failure_reason, run.is_cancel_requested) == ("", True)
    assert sorted(values(run)) == [0]
    assert sorted(values(run, "cmips_single_score")) == [0]
    assert is_clean(sshd)


def _follow_briefly():
    poller.follow(lambda claim: None, window_s=1)


def test_host_that_vanishes_during_the_run_is_lost_with_the_measured_kept(
    ssh_host, sshd, broken_probes, settings
):
    settings.LEASE_S, settings.HOST_LOST_AFTER_S = 1, 5
    run = tiny_run(ssh_host)
    broken_probes("cmips", '[ "$count" -ge 2 ] && sleep 100\nexec "$real" "$@"')
    pump = Pump()
    while not run.evidence.filter(n=3).exists():
        hurry(run)
        pump.steps(wait_s=0)
        _follow_briefly()
    sshd.refuse()
    sshd.drop()
    driven(run, passes=100)
    assert (run.state, run.failure_reason) == (RunState.LOST, "unreachable")
    assert sorted(values(run)) == [0]
    step = run.steps.get(state=RunState.TEARING_DOWN)
    assert step.next_due_at is not None  # cleaning goes on for as long as it takes

    sshd.accept()
    Step.objects.filter(pk=step.pk).update(lease_until=None)
    hurry(run)
    pump.once()
    step.refresh_from_db()
    assert step.finished_at is not None
    assert is_clean(sshd)
    run.refresh_from_db()
    assert run.state == RunState.LOST


def test_cut_connection_does_not_disturb_a_run(ssh_host, sshd):
    run = tiny_run(ssh_host)
    pump = Pump()
    pump.steps(wait_s=0)
    _follow_briefly()
    sshd.drop()
    driven(run)
    assert (run.state, run.failure_reason) == (RunState.DONE, "")
    assert sorted(values(run)) == [0, 1]


@pytest.fixture
def collecting(ssh_host, sshd):
    """A run whose runner is done, and whose host fell silent just then."""
    run = tiny_run(ssh_host)
    Pump().steps(wait_s=0)
    while run.state != RunState.COLLECTING:
        poller.follow(lambda claim: None, window_s=1)
        run.refresh_from_db()
    sshd.refuse()
    run.steps.update(lease_until=None)
    return run


def test_host_that_is_silent_when_results_are_collected_is_waited_for(collecting, sshd):
    for _ in range(dispatch.MAX_ATTEMPTS + 1):
        hurry(collecting)
        Pump().steps(wait_s=0)
        collecting.refresh_from_db()
        assert collecting.state == RunState.COLLECTING
    sshd.accept()
    driven(collecting)
    assert (collecting.state, collecting.failure_reason) == (RunState.DONE, "")


def test_host_that_stays_silent_when_results_are_collected_is_lost(collecting, sshd):
    began = collecting.steps.get(state=RunState.COLLECTING)
    Step.objects.filter(pk=began.pk).update(created_at=began.created_at - silence_limit())
    hurry(collecting)
    Pump().steps(wait_s=0)
    collecting.refresh_from_db()
    assert (collecting.state, collecting.failure_reason) == (RunState.LOST, "unreachable")
    assert sorted(values(collecting)) == [0, 1]  # stored as they came


def test_cancelled_run_does_not_wait_for_a_silent_host(collecting, sshd):
    run_cancel(run=collecting, actor="tester")
    hurry(collecting)
    Pump().steps(wait_s=0)
    collecting.refresh_from_db()
    assert (collecting.state, collecting.outcome) == (RunState.TEARING_DOWN, RunState.CANCELLED)
    sshd.accept()
    assert driven(collecting).state == RunState.CANCELLED


def test_collecting_takes_over_what_is_not_stored(collecting, sshd):
    lost = collecting.evidence.get(n=3)
    lost.samples.all().delete()
    lost.delete()
    sshd.accept()
    hurry(collecting)
    driven(collecting)
    assert (collecting.state, collecting.failure_reason) == (RunState.DONE, "")
    assert [item.n for item in collecting.evidence.all()] == [1, 2, 3, 4, 5]
    assert collecting.evidence.get(n=3).sha256 == lost.sha256


def test_stored_result_that_the_target_lists_otherwise_fails_the_run(collecting, sshd):
    item = collecting.evidence.get(n=3)
    item.file_hashes[".out"] = "0" * 64
    item.save()
    sshd.accept()
    hurry(collecting)
    driven(collecting)
    assert (collecting.state, collecting.failure_reason) == (RunState.FAILED, "interrupted")
    assert "is not stored as the target lists it" in collecting.failure_detail


def test_second_run_waits_until_the_host_is_free(ssh_host):
    first, second = tiny_run(ssh_host), tiny_run(ssh_host, probes=["inventory"])
    assert second.steps.get().next_due_at is None
    driven(first)
    second.refresh_from_db()
    assert second.steps.get(state="queued").next_due_at is not None or second.is_finished
    driven(second)
    assert (first.state, second.state) == (RunState.DONE, RunState.DONE)
    assert second.started_at is not None
    assert first.finished_at is not None
    assert second.started_at >= first.finished_at


def test_run_view_shows_stage_steps_and_lines(ssh_host):
    run = driven(tiny_run(ssh_host))
    view = run_view(run)
    assert (view.stage, view.progress_ratio, view.failure) == ("done", 1, None)
    assert [step.name for step in view.steps] == [
        "queued", "reachable", "prepared", "running",
        "collecting", "parsed", "tearing_down", "verified_gone",
    ]  # fmt: skip
    assert {step.state for step in view.steps} == {"finished"}
    assert any('"probe":"cmips"' in line for line in view.last_lines)
    assert gzip.decompress(bytes(view.evidence[1].raw_gzip)).startswith(b'{"schema":1')
