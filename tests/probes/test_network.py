"""network.sh with real iperf3 and ping over loopback; no server may outlive its time."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from backend.measure.readers import network
from backend.measure.readers.frames import key_values, sections
from tests.probes.conftest import needs, processes_in

SPENT = "all {} bytes are sent that one end of this run may send ({})"
CONDITIONS = (
    *("peer", "direction", "streams", "seconds", "protocol", "mtu", "congestion", "tool"),
)


@pytest.fixture
def port():
    """One that was free a moment ago."""
    needs("iperf3")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def _until(condition, limit_s=10):
    """Looks again every 20 ms up to the limit; true as soon as the condition is."""
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def serve(peer_directory, shell, port):
    """Starts the server of a peer and waits until it listens."""
    started = []

    def start(seconds):
        process = peer_directory.start(shell, "network.sh", "serve", port, seconds)
        started.append(process)
        assert _until((peer_directory.path / "ready").exists)
        assert int((peer_directory.path / "pid").read_text()) == process.pid
        return process

    yield start
    for process in started:
        process.terminate()
        process.communicate(timeout=10)


def _iperf3(text):
    conditions, record, sent = sections("network", text)
    assert sent.name == "sent"
    assert (conditions.name, record.name, record.exit_code) == ("conditions", "iperf3", 0)
    return key_values("network", conditions, CONDITIONS), json.loads(record.text)


@pytest.fixture
def paced_iperf3(tmp_path, monkeypatch):
    """The real one, which sends so slowly that the CPUs are left to other tests."""
    needs("iperf3")
    wrapper = tmp_path / "paced" / "iperf3"
    wrapper.parent.mkdir()
    wrapper.write_text(
        "#!/bin/sh\n"
        'case " $* " in *" -b "*|*" -s "*|*" --version "*|*" --help "*) ;; *) set -- "$@" -b 200M ;; esac\n'
        f'exec {shutil.which("iperf3")} "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")
    return wrapper


@pytest.mark.usefixtures("paced_iperf3")
def test_network_measures_both_directions_when_a_peer_serves(run_directory, shell, serve, port):
    serve(30)
    for direction, streams in (("forward", 2), ("reverse", 1)):
        words = ("tcp", "127.0.0.1", port, 1, streams, direction)
        conditions, record = _iperf3(run_directory.run(shell, "network.sh", *words))
        assert conditions["direction"] == direction
        assert (conditions["streams"], conditions["protocol"]) == (str(streams), "tcp")
        assert int(conditions["mtu"]) > 1000
        assert conditions["tool"].startswith("iperf 3")
        started = record["start"]["test_start"]
        assert (started["num_streams"], started["reverse"]) == (
            streams,
            int(direction == "reverse"),
        )
        assert record["end"]["sum_received"]["bytes"] > 0
    words = ("udp", "::1", port, 1, 20_000_000, "forward")
    conditions, record = _iperf3(run_directory.run(shell, "network.sh", *words))
    assert (conditions["protocol"], conditions["peer"]) == ("udp", "::1")
    assert record["start"]["test_start"]["blksize"] == 1400
    assert record["end"]["sum"]["bits_per_second"] == pytest.approx(20e6, rel=0.1)


@pytest.fixture
def busy_iperf3(tmp_path, monkeypatch, paced_iperf3):
    """The real one, which reports that its CPU was busy all the time."""
    wrapper = tmp_path / "iperf3"
    words = r's/\("host_total":\)[^,]*/\1 99.5/'
    wrapper.write_text(
        f'#!/bin/sh\n[ "$1" = -s ] && exec {paced_iperf3} "$@"\n'  # which is ended by its pid
        f"{paced_iperf3} \"$@\" >$$.whole\nstatus=$?\nsed '{words}' $$.whole\nrm -f $$.whole\nexit $status\n"
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


def test_streams_are_shared_by_processes_when_one_is_cpu_bound(
    run_directory, shell, serve, port, busy_iperf3
):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("several processes need several CPUs")
    serve(60)
    before = set(run_directory.path.iterdir())
    text = run_directory.run(shell, "network.sh", "tcp", "127.0.0.1", port, 1, 4, "forward")
    _, *records, _ = sections("network", text)
    rates = [json.loads(one.text)["end"]["sum_received"]["bits_per_second"] for one in records]
    assert len(rates) in {2, 4}
    (sample,) = network.parse(text)
    assert (sample.variant, sample.value) == ("tcp_parallel", pytest.approx(sum(rates)))
    assert (sample.parameters["streams"], sample.parameters["processes"]) == (4, len(rates))
    assert set(run_directory.path.iterdir()) == before | {run_directory.path / "sent.forward"}
    # One stream is one process, whatever limits it.
    text = run_directory.run(shell, "network.sh", "tcp", "127.0.0.1", port, 1, 1, "forward")
    assert len(sections("network", text)) == 3


def test_one_process_has_to_do_where_its_peer_has_one_port(run_directory, shell, port, busy_iperf3):
    peer = subprocess.Popen(
        ["iperf3", "-s", "-p", str(port)], stdout=subprocess.DEVNULL, cwd=run_directory.path.parent
    )
    try:
        words = ("tcp", "127.0.0.1", port, 1, 2, "reverse")
        _, record = _iperf3(run_directory.run(shell, "network.sh", *words))
    finally:
        peer.terminate()
        peer.wait()
    assert record["end"]["sum_received"]["bytes"] > 0
    assert record["start"]["test_start"]["num_streams"] == 2


def _moved_by_loopback():
    return int(Path("/sys/class/net/lo/statistics/tx_bytes").read_text())


@pytest.mark.usefixtures("paced_iperf3")
def test_bytes_sent_are_those_of_the_device_and_add_up(run_directory, shell, serve, port):
    serve(30)
    for direction, streams in (("forward", 2), ("reverse", 1), ("forward", 1)):
        words = ("tcp", "127.0.0.1", port, 1, streams, direction, 10**15)
        before = _moved_by_loopback()
        text = run_directory.run(shell, "network.sh", *words)
        moved = _moved_by_loopback() - before
        _, record = _iperf3(text)
        (sample,) = network.parse(text)
        sent = network.bytes_of_test(text)
        # With headers and answers: on loopback one device counts both, and whatever other tests send.
        # What was in a buffer at the end is counted by iperf3 and was never sent.
        assert 0.95 * record["end"]["sum_sent"]["bytes"] < sent[direction == "reverse"] <= moved
        assert sent[direction == "forward"] == 0
        assert sample.value > 0
    kept = int((run_directory.path / "sent.forward").read_text())
    assert kept > sent[0]


def test_test_is_ended_once_all_is_sent_that_may_be(run_directory, shell, serve, port):
    serve(60)
    most, began = 200 * 2**20, time.monotonic()
    words = ("tcp", "127.0.0.1", port, 20, 2, "forward", most)
    text = run_directory.run(shell, "network.sh", *words, code=7)
    assert time.monotonic() - began < 15
    assert text.endswith(f"=== failure unavailable: {SPENT.format(most, 'forward')}\n")
    sent, nothing = network.bytes_of_test(text)
    assert sent >= most
    assert nothing == 0
    # No further test that way, and nothing stops the way back.
    text = run_directory.run(shell, "network.sh", *words, code=7)
    assert text.endswith(f"=== failure unavailable: {SPENT.format(most, 'forward')}\n")
    assert network.bytes_of_test(text) == (0, 0)
    # Other tests may send more than that beside it.
    text = run_directory.run(shell, "network.sh", "udp", *words[1:3], 1, 10**6, "reverse", 10**15)
    assert network.bytes_of_test(text)[1] > 100_000


@pytest.mark.usefixtures("paced_iperf3")
def test_client_waits_when_the_peer_is_not_there_yet(run_directory, serve, port):
    client = run_directory.start(["sh"], "network.sh", "tcp", "127.0.0.1", port, 1, 1, "forward")
    record = run_directory.path / "iperf3.part"
    assert _until(lambda: record.exists() and "refused" in record.read_text())
    serve(20)
    output, _ = client.communicate(timeout=20)
    assert client.returncode == 0, output
    assert _iperf3(output)[1]["end"]["sum_received"]["bytes"] > 0


def test_client_fails_with_the_reason_when_nobody_serves(run_directory, port):
    started = time.monotonic()
    said = run_directory.run(
        ["sh"], "network.sh", "tcp", "127.0.0.1", port, 1, 1, "forward", code=3
    )
    assert 9 < time.monotonic() - started < 20
    assert said.endswith("iperf3: unable to connect to server: Connection refused\n")
    assert '"error"' in said


def test_server_ends_when_its_time_is_over(peer_directory, serve):
    process = serve(1)
    assert _until(lambda: process.poll() is not None, 5)
    assert not (peer_directory.path / "ready").exists()
    # The script asks its servers to end and does not wait for them.
    assert _until(lambda: not processes_in(peer_directory.path), 5)


def test_server_ends_at_once_when_terminated(peer_directory, serve):
    process = serve(30)
    process.terminate()
    process.communicate(timeout=5)
    assert _until(lambda: not processes_in(peer_directory.path), 5)
    assert not (peer_directory.path / "pid").exists()


def test_server_does_not_outlive_its_time_when_the_script_is_killed(peer_directory, serve):
    process = serve(2)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    end = time.monotonic() + 8
    while processes_in(peer_directory.path) and time.monotonic() < end:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        time.sleep(0.05)
    assert processes_in(peer_directory.path) == []


def test_server_is_unavailable_when_the_port_is_taken(peer_directory, port):
    with socket.create_server(("127.0.0.1", port)):
        said = peer_directory.run(["sh"], "network.sh", "serve", port, 5, code=7)
    assert said == f"=== failure unavailable: port {port} is taken\n"


def test_iperf3_is_unavailable_when_it_is_not_installed(run_directory, shell, programs):
    words = ("network.sh", "tcp", "127.0.0.1", 5201, 1, 1, "forward")
    said = run_directory.run(shell, *words, code=7, path=programs.path)
    assert said == "=== failure unavailable: iperf3 is not installed\n"


def test_ping_measures_each_answer_when_the_peer_answers(run_directory, shell):
    needs("ping")
    text = run_directory.run(shell, "network.sh", "ping", "127.0.0.1", 3)
    conditions, answers = sections("network", text)
    facts = key_values("network", conditions, CONDITIONS)
    assert (facts["protocol"], facts["seconds"]) == ("ping", "1")
    assert facts["tool"]
    assert (answers.name, answers.text.count("time=")) == ("ping", 3)


OLD_PING = """#!/bin/sh
case "$*" in
*'-i 0.2'*) echo "ping: invalid number '0.2'"; exit 1 ;;
*-V*) echo 'BusyBox v1.30.1 (2019-06-12 17:51:55 UTC) multi-call binary.'; exit 1 ;;
esac
echo "asked $*"
echo '64 bytes from 127.0.0.1: seq=0 ttl=64 time=0.057 ms'
"""
SILENT_PING = (
    "#!/bin/sh\necho '5 packets transmitted, 0 packets received, 100% packet loss'\nexit 1\n"
)
FORBIDDEN_PING = "#!/bin/sh\necho 'ping: permission denied (are you root?)'\nexit 1\n"


def test_ping_asks_once_a_second_when_its_version_is_old(run_directory, programs):
    programs.put("ping", OLD_PING)
    words = ("network.sh", "ping", "127.0.0.1", 50)
    conditions, answers = sections("network", run_directory.run(["sh"], *words, path=programs.path))
    assert answers.lines[0] == "asked -n -c 20 -i 1 -W 2 127.0.0.1"
    assert conditions.lines[3] == "seconds 20"
    assert conditions.lines[7].startswith("tool BusyBox v1.30.1")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (SILENT_PING, "127.0.0.1 does not answer to ping"),
        (FORBIDDEN_PING, "this user may not use ping"),
    ],
    ids=["silent", "forbidden"],
)
def test_ping_is_unavailable_when_there_is_no_answer(run_directory, programs, text, why):
    programs.put("ping", text)
    said = run_directory.run(
        ["sh"], "network.sh", "ping", "127.0.0.1", 5, code=7, path=programs.path
    )
    assert said.endswith(f"=== failure unavailable: {why}\n")


@pytest.mark.parametrize("address", ["-f", "", "host;id", "a b", "$(id)"])
def test_address_is_refused_when_it_is_none(run_directory, address):
    for words in (("ping", address, 1), ("tcp", address, 5201, 1, 1, "forward")):
        said = run_directory.run(["sh"], "network.sh", *words, code=2)
        assert said == f"not an address: {address}\n"
