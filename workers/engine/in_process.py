"""For commands that wait for runs: does the workers' work here while no worker is there."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from django.conf import settings
from django.db import connection

from backend.benchmarks.models import Tick
from backend.common import clock
from workers.engine.pump import Pump

# A worker that missed this many ticks is not there; the command then works by itself.
TICKS_OF_SILENCE = 3


class StandIn:
    """A context: `look` starts a pump in a thread once no worker is alive, the end stops it."""

    def __init__(self) -> None:
        self._pump = Pump()
        self._thread = threading.Thread(target=pumped, args=(self._pump,), name="pump")

    def __enter__(self) -> "StandIn":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pump.stop()
        if self._thread.ident:
            self._thread.join()

    def look(self) -> None:
        """Step in if that is needed and has not happened yet."""
        if not self._thread.ident and not is_worker_alive():
            self._thread.start()


@contextmanager
def sigterm_noted() -> Iterator[threading.Event]:
    """An event that SIGTERM sets, by which CI ends a job: whoever follows a run ends that first.

    Raised as an exception it would break into the cancelling where both signals come, as a launcher
    passes SIGTERM on after a Ctrl-C that its command got too.
    """
    noted = threading.Event()
    before = signal.signal(signal.SIGTERM, lambda *_: noted.set())
    try:
        yield noted
    finally:
        signal.signal(signal.SIGTERM, before)


def pumped(pump: Pump) -> None:
    """Run the pump as the body of a thread."""
    try:
        pump.run()
    finally:
        connection.close()


def is_worker_alive() -> bool:
    """Whether somebody's tick was seen lately."""
    tick = Tick.objects.filter(pk=1).first()
    if tick is None:
        return False
    silent_s = (clock.now() - tick.at).total_seconds()
    return silent_s < TICKS_OF_SILENCE * settings.TICK_S
