"""Runs between two hosts: the other end of the network tests is prepared, used and cleaned."""

import os
import shutil
import time
from dataclasses import replace

import pytest

from backend.benchmarks.models import HostState, RunState, Step
from backend.benchmarks.selectors.runs import run_view
from backend.benchmarks.services.runs import run_cancel, run_create
from backend.foundation.errors import DriverError, Reason
from backend.measure.probes import PROBES
from tests import factories
from tests.fakes.sshd import FakeSshd, processes_in
from tests.workers.conftest import driven, hurry, tiny_run
from workers.engine import poller, steps
from workers.engine.pump import Pump
from workers.remote import pipeline
from workers.remote.probes import plan as plans

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not shutil.which("iperf3"), reason="needs iperf3"),
]
TINY = {"network_s": 1, "ping_count": 2, "repeats": 1, "quiet_budget_s": 0}


@pytest.fixture
def other_end(tmp_path):
    (tmp_path / "peer").mkdir()
    server = FakeSshd(tmp_path / "peer")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def peer(other_end, ssh_host):
    return factories.ssh_host(other_end, "Other end")


def paired(host, peer, probes=("network",), **parameters):
    return run_create(
        host=host,
        profile="quick",
        probes=list(probes),
        parameters={**TINY, "peer": str(peer.pk), **parameters},
        actor="tester",
    )


def begun(run):
    """The run with its runner started; nobody follows it yet."""
    while run.state != RunState.RUNNING:
        hurry(run)
        Pump().steps(wait_s=0)
        run.refresh_from_db()
    return run


def assert_clean(*sshds):
    for sshd in sshds:
        assert list(sshd.temporary.iterdir()) == []
        assert processes_in(sshd.temporary) == []


def test_pair_measures_the_network_and_leaves_nothing_on_either_host(
    ssh_host, peer, sshd, other_end
):
    run = begun(paired(ssh_host, peer))
    assert os.listdir(other_end.temporary / run.live["peer_directory"].rpartition("/")[2])
    driven(run)
    assert (run.state, run.failure_detail) == (RunState.DONE, "")
    found = dict(run.samples.filter(metric="net_tcp_bits_per_s").values_list("variant", "value"))
    assert set(found) == {
        "tcp_parallel", "tcp_parallel_reverse", "tcp_single", "tcp_single_reverse",
    }  # fmt: skip
    assert min(found.values()) > 1e6
    assert run.samples.filter(metric="net_udp_jitter_ns").count() == 2
    if shutil.which("ping"):
        assert run.samples.get(metric="net_rtt_ns").value > 0
    assert str(run.live["peer_port"]) in run.evidence.get(variant="udp").command
    assert_clean(sshd, other_end)


def test_peer_without_iperf3_is_reported_and_the_rest_is_measured(
    ssh_host, peer, sshd, other_end, monkeypatch
):
    script = b"echo '=== failure unavailable: iperf3 is not installed'\nexit 7\n"
    files = {**pipeline.peer_files(), "network.sh": script}
    monkeypatch.setattr(pipeline, "peer_files", lambda: files)
    run = driven(paired(ssh_host, peer, probes=("network", "inventory")))
    assert (run.state, run.failure_reason) == (RunState.DONE, "")
    assert list(run.evidence.values_list("probe", flat=True)) == ["inventory"]
    (warning,) = [w for w in run_view(run).warnings if w.startswith("network")]
    assert warning == "network: not available: iperf3 is not installed (the peer Other end)"
    assert_clean(sshd, other_end)


def test_peer_that_does_not_get_ready_in_time_is_reported(ssh_host, peer, monkeypatch):
    monkeypatch.setattr(steps, "PEER_READY_S", 0)

    async def never_ready(transport, run):
        return pipeline.Serving()

    monkeypatch.setattr(steps, "_serve", never_ready)
    run = driven(paired(ssh_host, peer))
    assert run.state == RunState.DONE
    assert "did not get ready in time" in run.events.get(kind="unavailable").detail


def test_peer_on_which_another_run_measures_is_waited_for(ssh_host, peer, other_end, monkeypatch):
    other = other_end.temporary / "rackrate-other"
    other.mkdir()
    (other / "pid").write_text("1\n")
    lock = other_end.temporary / "rackrate-host.lock"
    lock.symlink_to(other)
    run = paired(ssh_host, peer)
    for _ in range(3):
        hurry(run)
        Pump().steps(wait_s=0)
    run.refresh_from_db()
    step = run.steps.get(state=RunState.PREPARED)
    assert (run.state, step.attempt) == (RunState.PREPARED, 0)
    assert "is measuring on the peer Other end" in step.last_error
    lock.unlink()
    shutil.rmtree(other)
    begun(run)
    run_cancel(run=run, actor="tester")
    driven(run)


def test_peer_is_let_go_while_another_run_measures_on_the_host(ssh_host, peer, sshd, other_end):
    other = sshd.temporary / "rackrate-other"
    other.mkdir()
    (other / "pid").write_text("1\n")
    (sshd.temporary / "rackrate-host.lock").symlink_to(other)
    run = paired(ssh_host, peer)
    Pump().steps(wait_s=0)
    step = run.steps.get(state=RunState.PREPARED)
    assert step.last_error.endswith("is measuring on this machine")
    assert_clean(other_end)
    run_cancel(run=run, actor="tester")
    driven(run)


def test_what_cannot_be_cleared_up_is_a_warning(ssh_host, sshd, monkeypatch):
    async def in_use(transport, directory):
        if "00000000-0000" in directory:
            raise DriverError(Reason.UNSUPPORTED, "it remains", retryable=False)
        await teardown(transport, directory)

    teardown = pipeline.teardown
    monkeypatch.setattr(pipeline, "teardown", in_use)
    left = sshd.temporary / "rackrate-00000000-0000-4000-8000-000000000000"
    left.mkdir()
    old = time.time() - 2 * 86_400
    os.utime(left, (old, old))
    run = driven(tiny_run(ssh_host, probes=["inventory"]))
    assert run.state == RunState.DONE
    warnings = run.events.filter(kind="warning").values_list("detail", flat=True)
    assert f"{left} of an earlier run remains: unsupported: it remains" in warnings


def test_peer_that_does_not_answer_fails_the_run_by_its_name(ssh_host, peer, sshd, other_end):
    other_end.refuse()
    run = paired(ssh_host, peer)
    driven(run)
    assert (run.state, run.failure_reason) == (RunState.FAILED, "unreachable")
    assert run.failure_detail.startswith("the peer Other end: ")
    assert_clean(sshd)


def test_peer_with_another_host_key_is_the_one_that_is_distrusted(ssh_host, peer, other_end):
    other_end.change_host_key()
    run = driven(paired(ssh_host, peer))
    assert (run.state, run.failure_reason) == (RunState.FAILED, "auth")
    peer.refresh_from_db()
    ssh_host.refresh_from_db()
    assert (peer.state, ssh_host.state) == (HostState.KEY_CHANGED, HostState.TRUSTED)


def test_peer_that_vanishes_fails_the_tests_and_the_host_is_cleaned(
    *, ssh_host, peer, sshd, other_end, settings, monkeypatch
):
    settings.LEASE_S = 8
    # Two tests are enough: the one during which it vanishes tries for ten seconds.
    tests = [s for s in PROBES["network"].series if s.variant in {"tcp_parallel", "tcp_single"}]
    network = replace(PROBES["network"], series=tuple(tests))
    monkeypatch.setattr(plans, "PROBES", {**PROBES, "network": network})
    run = begun(paired(ssh_host, peer, network_s=2))
    while not run.evidence.filter(probe="network").exists():
        poller.follow(lambda claim: None, window_s=0.5)
    other_end.reboot()
    other_end.refuse()
    for _ in range(300):
        Step.objects.filter(run=run, finished_at=None).update(lease_until=None)
        hurry(run)
        Pump().once()
        run.refresh_from_db()
        if run.state == RunState.TEARING_DOWN and not list(sshd.temporary.iterdir()):
            break
    # The host is clean by now; the peer is tried again.
    assert run.state == RunState.TEARING_DOWN
    assert run.failure_reason != ""
    assert run.failure_detail.startswith("network ")
    assert run.samples.filter(metric="net_tcp_bits_per_s").exists()
    assert_clean(sshd)
    other_end.accept()
    driven(run)
    assert run.state == RunState.FAILED
    assert_clean(other_end)


def test_run_that_is_cancelled_before_it_begins_to_measure_cleans_both(
    ssh_host, peer, sshd, other_end
):
    run = begun(paired(ssh_host, peer))
    run_cancel(run=run, actor="tester")
    driven(run)
    assert run.state == RunState.CANCELLED
    assert_clean(sshd, other_end)
