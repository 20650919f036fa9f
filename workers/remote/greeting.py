"""The first login of a machine: that it works, and what its clocks say of its boot."""

import datetime as dt
from dataclasses import dataclass

from backend.foundation.errors import DriverError, Reason
from backend.foundation.reading.texts import text_of
from workers.remote.driver import Transport

# Read by backend.measure.readers.boot. The topmost SSH server among our ancestors is the one that listens.
# Of /proc/PID/stat the fields count from after the name, which may hold blanks: 2 is the parent, 20 the
# start in ticks since the kernel's.
SCRIPT = rb"""LC_ALL=C; export LC_ALL
read -r uptime _ </proc/uptime && date "+now %s.%N" && echo "uptime $uptime"
systemctl show -p Id -p ActiveEnterTimestampMonotonic ssh.socket sshd.socket ssh.service sshd.service \
    systemd-user-sessions.service 2>/dev/null
pid=$$ ticks=
while [ "${pid:-0}" -gt 1 ] && read -r stat <"/proc/$pid/stat"; do
    name=${stat#*\(} name=${name%\)*}
    set -- ${stat##*\) }
    case $name in sshd* | dropbear*) ticks=${20} ;; esac
    pid=$2
done 2>/dev/null
[ -z "$ticks" ] || echo "sshd_ticks $ticks $(getconf CLK_TCK 2>/dev/null || echo 100)"
key=${HOME:-}/.ssh/authorized_keys
[ ! -f "$key" ] || date -r "$key" "+key %s.%N" 2>/dev/null
exit 0
"""


@dataclass(frozen=True)
class Greeting:
    """The machine's first answer, between two times of ours."""

    text: str
    asked_at: dt.datetime
    answered_at: dt.datetime


async def greet(transport: Transport, *, timeout_s: float) -> Greeting:
    """Raises DriverError while the machine lets nobody work."""
    asked_at = dt.datetime.now(dt.UTC)
    output = await transport.run("exec /bin/sh -s", stdin=SCRIPT, timeout_s=timeout_s)
    if output.exit_code != 0:
        raise DriverError(Reason.UNREACHABLE, "the machine lets nobody work yet", retryable=True)
    return Greeting(text_of(output.stdout), asked_at, dt.datetime.now(dt.UTC))
