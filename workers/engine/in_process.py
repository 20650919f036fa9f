"""For commands that wait for runs: does the workers' work here while no worker is there."""

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self, TypeVar

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection

from backend.benchmarks.models import Tick
from backend.core import clock
from backend.core.crypto import CREDENTIALS, KeyMissing
from workers.engine.pump import AWAY, Pump

log = logging.getLogger(__name__)
# A worker that missed this many ticks is not there; the command then works by itself.
TICKS_OF_SILENCE = 3
# A restart takes seconds, one after a crash or on another machine some minutes.
PATIENCE_S = 300.0
# Whoever presses Ctrl-C expects an answer at once; ten looks at a flag a second take no CPU.
SLICE_S = 0.1
Seen = TypeVar("Seen")


class StandIn:
    """A context: `look` starts a pump in a thread once no worker is alive, the end stops it."""

    def __init__(self) -> None:
        self._renew()

    def _renew(self) -> None:
        # Neither can be used twice: Python starts a thread once, and a pump that was stopped stays
        # so.
        self._pump = Pump()
        self._thread = threading.Thread(target=pump_thread, args=(self._pump,), name="pump")

    def __enter__(self) -> "StandIn":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pump.stop()
        # Joining a thread that was never started raises.
        if self._thread.ident:
            self._thread.join()

    def look(self) -> None:
        """Step in if that is needed and has not happened yet, or ended by a fault."""
        if not self._thread.is_alive() and not is_worker_alive():
            require_keys()
            if self._thread.ident:
                self._renew()
            self._thread.start()


def require_keys() -> None:
    """Raises CommandError in a process that opens no credentials, whose work would only fail runs."""
    try:
        CREDENTIALS.opening()
    except KeyMissing as error:
        raise CommandError(str(error)) from None


def follow(
    look: Callable[[StandIn], Seen | None],
    *,
    cancel: Callable[[], object],
    warn: Callable[[str], object],
    every_s: float,
) -> Seen:
    """Look again and again until `look` finds it over; returns what was seen then.

    The first Ctrl-C or SIGTERM cancels what is followed, which takes a moment; a second Ctrl-C ends
    the command. A database that is away is waited for, but not for ever.
    """
    pause_s, away_since, is_cancelled, is_said = 0.0, None, False, False
    with StandIn() as stand_in, Interrupts().note_interrupts() as interrupts:
        while True:
            interrupts.pause(pause_s)
            pause_s = every_s
            if interrupts.signals and not is_said:
                warn("cancelling; a second Ctrl-C ends this command at once")
                is_said = True
            try:
                if interrupts.signals and not is_cancelled:
                    cancel()
                    is_cancelled = True
                if (seen := look(stand_in)) is not None:
                    return seen
                away_since = None
            except AWAY as error:
                # Outside of requests Django does not notice that a connection is broken, and would
                # use it for ever.
                connection.close()
                # libpq's lines name the server, never the password.
                fault = str(error).partition("\n")[0]
                if away_since is None:
                    away_since = time.monotonic()
                    warn(f"the database is away, waiting up to {PATIENCE_S:.0f} s for it: {fault}")
                elif time.monotonic() > away_since + PATIENCE_S:
                    raise CommandError(
                        f"the database did not come back within {PATIENCE_S:.0f} s: {fault}"
                    ) from error


class Interrupts:
    """Notes a first Ctrl-C, and SIGTERM, by which CI ends a job; a second Ctrl-C raises
    KeyboardInterrupt.

    Raised at once they would break into whatever is under way, such as the cancelling: a launcher
    passes SIGTERM on after a Ctrl-C that its command got too.
    """

    def __init__(self) -> None:
        self.signals: list[int] = []
        """Notices that came, in order."""
        self._answered = 0

    @contextmanager
    def note_interrupts(self) -> Iterator[Self]:
        """From now to the end of the context."""
        before = {
            number: signal.signal(number, self._on_signal)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, signal_number: int, _: object) -> None:
        self.signals.append(signal_number)
        self._raise_second()

    def _raise_second(self) -> None:
        if self.signals.count(signal.SIGINT) > 1:
            raise KeyboardInterrupt

    def pause(self, seconds: float) -> None:
        """Wait so long, or until a signal comes that no pause ended for yet."""
        # Once more: Python ignores what a handler raises in a destructor.
        self._raise_second()
        until = time.monotonic() + seconds
        while len(self.signals) == self._answered and (left_s := until - time.monotonic()) > 0:
            time.sleep(min(left_s, SLICE_S))
        self._answered = len(self.signals)


def pump_thread(pump: Pump) -> None:
    """Run the pump as the body of a thread; a fault ends it, and whoever looks next starts another."""
    try:
        pump.run()
    except Exception:
        log.exception("the pump of this command ended by a fault")
    finally:
        connection.close()


def is_worker_alive() -> bool:
    """True if somebody's tick was seen lately."""
    tick = Tick.objects.filter(pk=1).first()
    if tick is None:
        return False
    silent_s = (clock.now() - tick.at).total_seconds()
    return silent_s < TICKS_OF_SILENCE * settings.TICK_S
