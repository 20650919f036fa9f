"""Boot times by a machine's own clocks: text as systemctl(1), proc(5) and date(1) print it."""

import datetime as dt

import pytest

from backend.measure.readers.boot import UnknownBootTime, boot_seconds, boot_times

# Its socket listens from 9 s on, and the service starts with the first login (Ubuntu 22.10).
UBUNTU = """\
now 1700000060.500000000
uptime 30.25
Id=ssh.socket
ActiveEnterTimestampMonotonic=9000000

Id=sshd.socket
ActiveEnterTimestampMonotonic=0

Id=ssh.service
ActiveEnterTimestampMonotonic=29000000

Id=systemd-user-sessions.service
ActiveEnterTimestampMonotonic=9500000

sshd_ticks 2900 100
"""
DEBIAN = UBUNTU.replace("Monotonic=9000000", "Monotonic=0").replace("=29000000", "=8000000")
ALPINE = "now 1700000060.5\nuptime 30.25\nsshd_ticks 700 100\n"


def at(seconds: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(1_700_000_000 + seconds, dt.UTC)


@pytest.mark.parametrize(
    ("text", "ready_s"),
    [
        (UBUNTU, 9.5),
        (DEBIAN, 9.5),
        (ALPINE, 7),
        (ALPINE.replace(" 100", ""), 7),
        # The key was written 12 s after the kernel started: nobody was let in before.
        (f"{DEBIAN}key 1700000042.25\n", 12),
        # A key of the image, from a year before.
        (f"{DEBIAN}key 1668464042.25\n", 9.5),
        (f"Welcome to rack 7\n{ALPINE}", 7),
    ],
)
def test_machine_is_ready_when_server_users_and_key_are(text, ready_s):
    times = boot_times(text)
    assert times.ready_s == pytest.approx(ready_s)
    assert times.ready_at == at(30.25 + ready_s)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no fractions"),
        (ALPINE.replace("now 1700000060.5", "now 1700000060.%N"), "no fractions"),
        (ALPINE.replace("uptime", "up"), "no fractions"),
        ("now 1700000060.5\nuptime 30.25\n", "when its SSH server started"),
        # Written "later" than now: the clock went back in between.
        (f"{ALPINE}key 1700000099.0\n", "was set while it booted"),
    ],
)
def test_boot_time_is_unknown_without_the_times_that_it_needs(text, why):
    with pytest.raises(UnknownBootTime, match=why):
        boot_times(text)


def test_boot_time_is_from_the_launch_to_the_machine_being_ready():
    """No time of ours is in it: the kernel started 30.25 s into the minute, 10 s after the launch."""
    times = boot_times(DEBIAN)
    for asked, answered in ((60, 61), (58.6, 60)):
        seconds = boot_seconds(
            times, launched_at=at(20.25), asked_at=at(asked), answered_at=at(answered)
        )
        assert seconds == pytest.approx(19.5)


@pytest.mark.parametrize(
    ("launched", "asked", "answered", "why"),
    [
        (20, 63, 64, "its clock is -3.5 s from ours"),
        (20, 50, 51, r"its clock is \+9.5 s from ours"),
        (45, 60, 61, "ready before the provider launched it"),
    ],
)
def test_boot_time_is_unknown_when_clocks_disagree(launched, asked, answered, why):
    with pytest.raises(UnknownBootTime, match=why):
        boot_seconds(
            boot_times(DEBIAN),
            launched_at=at(launched),
            asked_at=at(asked),
            answered_at=at(answered),
        )
