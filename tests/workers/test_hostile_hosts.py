"""What a benchmarked host can make us keep: its answers are bounded and steer no terminal."""

import asyncio
import json
import re
import unicodedata

import asyncssh
import pytest

from backend.benchmarks.models import RunState
from backend.foundation.errors import DriverError, ProbeError, Reason
from backend.measure.profiles import PROFILES
from backend.measure.readers.runner_status import parse as parse_status
from backend.measure.repeats import RawResult
from tests import factories
from tests.workers.test_poller import followed, measured
from workers.engine import host_scan, poller
from workers.engine.followed_run import take_up
from workers.remote import pipeline, ssh
from workers.remote.bounds import RunBounds
from workers.remote.driver import Output
from workers.remote.local import LocalTransport
from workers.remote.probes.pinned_plan import PinnedPlan
from workers.remote.probes.plan import plan

SHA = "0" * 64


def frame(name, content):
    content = content if isinstance(content, bytes) else content.encode()
    return b"@ %s %d\n%s\n" % (name.encode(), len(content), content)


def result_frames(numbers, *, size=10, record=b"{}"):
    return b"".join(
        frame(f"{n:03d}-cmips-all-{n}.out", b"x" * size)
        + frame(f"{n:03d}-cmips-all-{n}.json", record)
        for n in numbers
    )


class Hostile(LocalTransport):
    """A host that answers every script with these bytes; `say` gets the command line."""

    def __init__(self, say, *, err=b"", exit_code=0):
        self.say, self.err, self.exit_code = say, err, exit_code
        self.commands = 0

    async def run(self, command, **_):
        self.commands += 1
        said = self.say(command) if callable(self.say) else self.say
        begin = f"{pipeline.scripts.BEGIN}\n".encode()
        return Output(self.exit_code, begin + said, self.err)


def endless(size):
    """Sixty further results, whatever was asked for, and never a manifest."""

    def say(command):
        after = int(re.search(r"-s -- \S+ ([0-9]+) ", command)[1])
        return result_frames(range(after + 1, after + 61), size=size)

    return say


def is_printable(text):
    return not any(unicodedata.category(c) in {"Cc", "Zl", "Zp"} and c not in "\n\t" for c in text)


# --- results --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        result_frames(range(1, 62)),  # sixty were asked for
        result_frames([5]),  # 5 was stored already
        result_frames([4]),
        frame("abc.json", "{}"),
        frame("006.json", "{}"),
        frame("006-cmips-all-1-x.json", "{}"),
        frame("006-\x1b[2J-all-1.json", "{}"),
        frame(f"006-{'p' * 21}-all-1.json", "{}"),
        result_frames([6], record=b"x" * 65_537),
        result_frames([6], size=2 * 2**20 + 1),
    ],
)
async def test_answer_that_the_script_cannot_give_is_refused(answer):
    with pytest.raises(ProbeError):
        await pipeline.read(Hostile(answer), "/tmp/r", after=5)


@pytest.mark.parametrize("size", [0, 10, 100_000])
async def test_reading_ends_when_a_host_sends_results_for_ever(size):
    host = Hostile(endless(size))
    bounds = RunBounds.of(31, 721)
    with pytest.raises(DriverError, match="more than") as raised:
        await pipeline.read_all(host, "/tmp/r", bounds)
    assert (raised.value.reason, raised.value.retryable) == (Reason.UNSUPPORTED, False)
    assert host.commands <= 3


@pytest.mark.parametrize(
    "names",
    [[f"{n}-a-b-0.json" for n in range(150_000)], ["abc.json"], ["1-\x1b-b-0.json"]],
)
async def test_manifest_that_cannot_be_is_refused_at_once(names):
    listed = "".join(f"{SHA}  {name}\n" for name in names)
    host = Hostile(frame("manifest", listed))
    with pytest.raises(ProbeError):
        await pipeline.read_missing(host, "/tmp/r", {}, RunBounds.of(31, 721))
    assert host.commands == 1


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_bounds_hold_every_step_of_a_plan_twice_and_grow_with_it(profile):
    planned = plan(PROFILES[profile], None, {}, run_directory="/tmp/r")
    bounds = PinnedPlan.read(PinnedPlan.of(planned).document()).bounds
    steps = len(planned.steps)
    # Real results have some 10 KiB.
    bounds.take(RawResult(n + 1, "", b"x" * 10_000, b"", b"") for n in range(2 * steps))
    with pytest.raises(DriverError):
        bounds.take([RawResult(2 * steps + 1, "", b"", b"", b"")])


def test_quick_run_keeps_three_megabytes_at_most():
    bounds = PinnedPlan.of(plan(PROFILES["quick"], None, {}, run_directory="/tmp/r")).bounds
    # 1 MiB + 31 steps of 48 KiB + 721 s of 512 bytes = 2.94 million bytes
    assert bounds.max_bytes < 3_000_000


async def flood(one):
    for _ in range(100):
        snapshot = await one.read(None)
        one.after = snapshot.results[-1].number


@pytest.mark.django_db(transaction=True)
def test_run_ends_when_its_host_sends_more_than_the_plan_has(queued):
    run, claim = followed("quick", ("cmips",))
    measured(run, [1.0])
    (one,) = take_up([claim])
    assert (one.bounds.result_count, one.after) == (1, 1)
    one.transport = Hostile(endless(10))
    with pytest.raises(DriverError) as raised:
        asyncio.run(flood(one))
    move = poller._after_silence(one, raised.value)
    assert (move.target, move.fields["failure_reason"]) == (RunState.TEARING_DOWN, "unsupported")
    assert one.after <= one.bounds.max_results


# --- what is shown --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tail",
    ["x" * 8_000_000, "line\n" * 100_000, "\x1b]0;root\x07\x1b[2A\x9b31m\u202e" * 9, "a\r\nb\rc"],
)
async def test_last_lines_are_eight_of_two_thousand_printable_characters(tail):
    snapshot = await pipeline.read(Hostile(frame("tail", tail)), "/tmp/r")
    assert 1 <= len(snapshot.last_lines) <= 8
    assert sum(map(len, snapshot.last_lines)) <= 2000
    assert is_printable("\n".join(snapshot.last_lines))


async def test_series_that_is_larger_than_any_is_not_shown():
    live = "t_s x\n" + "1 1\n" * 100_000
    assert (await pipeline.read(Hostile(frame("live", live)), "/tmp/r")).live is None


@pytest.mark.parametrize(("name", "value"), [("probe", "p" * 21), ("variant", "v" * 41)])
def test_status_with_a_name_that_no_column_holds_is_refused(name, value):
    status = {
        "schema": 1, "state": "running", "probe": "cmips", "variant": "all", "repeat": 0, "step": 0,
        "steps": 1, "progress": 0, "monotonic_s": 0, "boot_id": "b", "pid": 1, "quiet_wait_s": 0,
        "failure": None,
    }  # fmt: skip
    parse_status(json.dumps(status) + "\n")
    with pytest.raises(ProbeError):
        parse_status(json.dumps(status | {name: value}) + "\n")


# --- facts ----------------------------------------------------------------------------------------

FACTS = "directory /tmp/rackrate-1\narch x86_64\nboot_id b\nclock_s 1790000000\nfree_kib 99999999"


@pytest.mark.parametrize(
    "line",
    [
        f"clock_s {'9' * 5000}",
        "clock_s ٣٣",
        "free_kib abc",
        "free_kib -1",
        f"free_kib {'9' * 5000}",
        f"boot_id {'b' * 41}",
        "boot_id a\0b",
        "boot_id \x1b[2J",
        "directory relative",
        "directory /tmp/another",
        f"directory /{'d' * 1000}/rackrate-1",
        "seen_from somewhere",
    ],
)
async def test_fact_that_cannot_be_is_an_error_of_the_host(line):
    with pytest.raises(ProbeError):
        await pipeline.identify(Hostile(f"{FACTS}\n{line}\n".encode()), "1")


@pytest.mark.parametrize(
    ("line", "seen_from"),
    [("seen_from fe80::1%eth0", "fe80::1"), ("seen_from 10.0.0.1", "10.0.0.1"), ("seen_from ", "")],
)
async def test_address_as_the_host_sees_it_is_an_address(line, seen_from):
    found = await pipeline.identify(Hostile(f"{FACTS}\n{line}\n".encode()), "1")
    assert found.seen_from == seen_from


async def test_leftovers_are_at_most_twenty():
    lines = "".join(f"\nleftover /tmp/rackrate-{n}" for n in range(10_000))
    assert len((await pipeline.identify(Hostile((FACTS + lines).encode()), "1")).leftovers) == 20


@pytest.mark.parametrize("port", ["22", "0", "x", "9" * 5000, "65536"])
async def test_port_that_was_not_offered_is_refused(port):
    with pytest.raises(ProbeError):
        await pipeline.serve(
            Hostile(f"port {port}\n".encode()), "/tmp/r", seconds=1, is_installing=False
        )


# --- words ----------------------------------------------------------------------------------------

FORGED = b"\x1b]0;x\x07\x1b[2Amust\0go\nWARNING django.security.login admin signed in from 10.6.6.6"


async def test_error_of_a_script_is_one_line_without_control_characters():
    with pytest.raises(DriverError) as raised:
        await pipeline._script(Hostile(b"", err=FORGED, exit_code=1), "true")
    for text in (raised.value.detail, str(raised.value)):
        assert is_printable(text)
        assert "\n" not in text
    assert "admin signed in" in raised.value.detail


@pytest.mark.parametrize("length", [10, 2000, 2001, 100_000])
def test_error_of_any_length_has_two_thousand_characters_at_most(length):
    error = DriverError(Reason.AUTH, "begin" + "x" * length + "end", retryable=False)
    assert len(error.detail) <= 2000
    assert error.detail.startswith("begin")
    assert error.detail.endswith("end")


@pytest.mark.parametrize(
    "error",
    [
        asyncssh.DisconnectError(2, "go\0away\n\x1b[31m"),
        asyncssh.PermissionDenied("no\0"),
        OSError("reset\0"),
    ],
)
def test_words_of_a_server_are_kept_without_control_characters(error):
    found = ssh._connect_error(error, "a@b port 22", banner="down\0\x1b]0;x\x07 soon")
    assert "\0" not in f"{found.detail}{found}"
    assert is_printable(f"{found.detail}{found}")


@pytest.mark.django_db
def test_scan_ends_when_the_server_says_what_nobody_foresaw(monkeypatch):
    host = factories.host()

    async def presented(*_, **__):
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid")

    monkeypatch.setattr(host_scan, "_choose_key", presented)
    with pytest.raises(UnicodeDecodeError):
        host_scan.scan_host(str(host.pk))
    host.refresh_from_db()
    assert "UnicodeDecodeError" in host.scan_error
