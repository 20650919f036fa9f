"""When a machine could first be logged in to, by its own clocks.

Our looks at it come seconds apart, so none of ours says when it was ready. The machine knows: its SSH
server and the end of `nologin` have a time since the kernel started (systemd's, or the process's own),
and the key that lets us in has the time of its file.
"""

import datetime as dt
import re
from dataclasses import dataclass

# As far may its clock be from ours; a launch is stated in whole seconds by some providers.
CLOCK_LIMIT_S = 2.0
_LINE = re.compile(
    r"^(now|uptime|key|sshd_ticks) ([0-9]+(?:\.[0-9]+)?)(?: ([0-9]+))?$", re.MULTILINE | re.ASCII
)
_UNIT = re.compile(r"^Id=(\S+)$|^ActiveEnterTimestampMonotonic=([0-9]+)$", re.MULTILINE | re.ASCII)
_SESSIONS = "systemd-user-sessions.service"


@dataclass(frozen=True)
class BootTimes:
    """Boot times of the machine, in seconds."""

    now_s: float
    """Its clock, since 1970."""
    uptime_s: float
    """How long ago its kernel started."""
    ready_s: float
    """How long after that it let somebody in."""

    @property
    def ready_at(self) -> dt.datetime:
        """By its clock."""
        seconds = self.now_s - self.uptime_s + self.ready_s
        return dt.datetime.fromtimestamp(seconds, dt.UTC)


class UnknownBootTime(ValueError):
    """Why a machine's clocks do not say how long it took."""


def boot_times(text: str) -> BootTimes:
    """The output of `workers.remote.greeting`; raises UnknownBootTime."""
    lines = {name: (float(value), extra) for name, value, extra in _LINE.findall(text)}
    if "now" not in lines or "uptime" not in lines:
        raise UnknownBootTime(
            "its clock shows no fractions of a second, or no time since its start"
        )
    now_s, uptime_s = lines["now"][0], lines["uptime"][0]
    server_s, sessions_s = _units(text)
    if server_s is None and "sshd_ticks" in lines:
        ticks, per_s = lines["sshd_ticks"]
        server_s = ticks / int(per_s or 100)
    if server_s is None:
        raise UnknownBootTime("it does not say when its SSH server started")
    # A key of an image is older than the boot, and lets in from its beginning.
    key_s = lines["key"][0] - (now_s - uptime_s) if "key" in lines else 0
    ready_s = max(server_s, sessions_s, key_s)
    if ready_s > uptime_s:
        raise UnknownBootTime("its clock was set while it booted")
    return BootTimes(now_s, uptime_s, ready_s)


def _units(text: str) -> tuple[float | None, float]:
    """When systemd had an SSH server or its socket, and let users in; 0 where it says neither."""
    since: dict[str, float] = {}
    name = ""
    for named, microseconds in _UNIT.findall(text):
        name = named or name
        # 0: it is not active.
        if microseconds and int(microseconds):
            since[name] = int(microseconds) / 1e6
    servers = [value for unit, value in since.items() if unit.startswith("ssh")]
    # A service that its socket starts begins with the first login.
    return min(servers, default=None), since.get(_SESSIONS, 0)


def boot_seconds(
    times: BootTimes, *, launched_at: dt.datetime, asked_at: dt.datetime, answered_at: dt.datetime
) -> float:
    """From the provider's time of the launch until the machine was ready, by its own clock.

    It was asked between two times of ours; raises UnknownBootTime where its clock is another one.
    """
    now = dt.datetime.fromtimestamp(times.now_s, dt.UTC)
    limit = dt.timedelta(seconds=CLOCK_LIMIT_S)
    if not asked_at - limit <= now <= answered_at + limit:
        off_s = (now - answered_at).total_seconds()
        raise UnknownBootTime(f"its clock is {off_s:+.1f} s from ours")
    seconds = (times.ready_at - launched_at).total_seconds()
    if seconds <= 0:
        raise UnknownBootTime("by its clock it was ready before the provider launched it")
    return seconds
