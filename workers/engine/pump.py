"""Does the workers' work in this process, without a broker and beside any workers."""

import logging
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from backend.benchmarks.services.leases import Claim, claim_due
from backend.benchmarks.services.steps import tick_record
from workers.engine import periodic, poller
from workers.engine.dispatch import run_step
from workers.engine.presence import Presence
from workers.notifications import delivery
from workers.pricelists import fetching
from workers.rentals import reaper

log = logging.getLogger(__name__)
# A look is one indexed query, and whoever pressed a button is waiting.
IDLE_S = 0.25
AWAY_S = 1.0
# What a connection raises that was cut or is refused, as while PostgreSQL restarts.
AWAY = (OperationalError, InterfaceError)


class Pump:
    """Steps in the caller's thread, running runs in a second one, so that neither waits.

    With `has_schedules` due campaigns are started, notices sent and accounts at clouds checked too,
    in a third thread; a fourth one ends rented machines that should not run, a fifth one reads price
    lists.
    """

    def __init__(self, *, has_schedules: bool = False) -> None:
        self._has_schedules = has_schedules
        self._presence = Presence()
        self._claims: SimpleQueue[Claim] = SimpleQueue()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._is_away = False

    def stop(self) -> None:
        """Let `run` come to its end, within about a second."""
        self._stop.set()
        self._wake.set()

    def run(self) -> None:
        attending = {
            self._attend: settings.TICK_S,
            reaper.reap: settings.REAP_S,
            self._fetch: settings.FETCH_LOOK_S,
        }
        threads = [threading.Thread(target=self._follow, name="_follow")]
        if self._has_schedules:
            threads += [
                threading.Thread(target=self._repeat, args=(work, every_s), name=work.__name__)
                for work, every_s in attending.items()
            ]
        for thread in threads:
            thread.start()
        try:
            while not self._stop.is_set():
                self._outlast(lambda: self.steps(wait_s=IDLE_S))
        finally:
            self.stop()
            for thread in threads:
                thread.join()
            # The last runs that were followed have handed their steps over: left lying, those would
            # wait until their leases run out.
            self._outlast(lambda: self.steps(wait_s=0))

    def once(self) -> None:
        """A pass: what is due, with running runs followed to their end or for one window."""
        # In the order in which one follows from the other: what a schedule starts is measured in
        # this pass, and notices are sent of its end.
        if self._has_schedules:
            periodic.start_due()
        self.steps(wait_s=0)
        poller.follow(self._dispatch)
        # Runs that ended while they were followed are collected and cleaned up in the same pass.
        self.steps(wait_s=0)
        if self._has_schedules:
            periodic.check_due()
            reaper.reap()
            delivery.deliver_due()
            fetching.fetch_due()

    def steps(self, *, wait_s: float) -> None:
        """Do every due step, and what follows from each at once."""
        self._presence.say()
        for claim in claim_due(is_polling=False):
            self._claims.put(claim)
        while True:
            try:
                run_step(self._claims.get(timeout=wait_s), self._dispatch)
            except Empty:
                return

    def _dispatch(self, claim: Claim | None) -> None:
        if claim is None:
            self._wake.set()
        else:
            self._claims.put(claim)

    def _follow(self) -> None:
        def once_awake() -> None:
            self._wake.wait(IDLE_S)
            self._wake.clear()
            poller.follow(self._dispatch, is_needed=lambda: not self._stop.is_set())

        self._repeat(once_awake, 0)

    def _attend(self) -> None:
        tick_record()
        periodic.start_due()
        periodic.check_due()
        delivery.deliver_due(may_continue=lambda: not self._stop.is_set())

    def _fetch(self) -> None:
        fetching.fetch_due(is_needed=lambda: not self._stop.is_set())

    def _repeat(self, work: Callable[[], object], every_s: float) -> None:
        """Until stopped. A defect in one pass must not end the schedules or the reaper for good."""
        try:
            while not self._stop.is_set():
                try:
                    self._outlast(work)
                except Exception:
                    log.exception("%s failed, it is tried again", work.__name__)
                    connection.close()
                self._stop.wait(every_s)
        finally:
            # Connections belong to threads in Django, which does not close them when a thread ends.
            connection.close()

    def _outlast(self, work: Callable[[], object]) -> None:
        """Work; while the database is away, which is said once, the next pass waits a moment."""
        try:
            work()
            self._is_away = False
        except AWAY as error:
            # Django would use the broken connection again, and fail on it for ever.
            connection.close()
            if not self._is_away:
                log.info("the database is away, it is tried again: %s", error)
            self._is_away = True
            self._stop.wait(AWAY_S)
