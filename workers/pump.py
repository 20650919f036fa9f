"""Does the workers' work in this process, without a broker and beside any workers."""

import threading
from queue import Empty, SimpleQueue

from django.db import connection

from workers import poller
from workers.engine import run_step
from workers.leases import Claim, claim_due

IDLE_S = 0.25


class Pump:
    """Steps in the caller's thread, running runs in a second one, so that neither waits."""

    def __init__(self) -> None:
        self._claims: SimpleQueue[Claim] = SimpleQueue()
        self._wake = threading.Event()
        self._stop = threading.Event()

    def stop(self) -> None:
        """Let `run` come to its end, within about a second."""
        self._stop.set()
        self._wake.set()

    def run(self) -> None:
        """Work until stopped."""
        follower = threading.Thread(target=self._follow, name="follower")
        follower.start()
        try:
            while not self._stop.is_set():
                self.steps(wait_s=IDLE_S)
        finally:
            self.stop()
            follower.join()
            self.steps(wait_s=0)

    def once(self) -> None:
        """One pass: what is due, with running runs followed to their end or for one window."""
        self.steps(wait_s=0)
        poller.follow(self._dispatch)
        self.steps(wait_s=0)

    def steps(self, *, wait_s: float) -> None:
        """Do every due step, and what follows from each at once."""
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
        try:
            while not self._stop.is_set():
                self._wake.wait(IDLE_S)
                self._wake.clear()
                poller.follow(self._dispatch, is_wanted=lambda: not self._stop.is_set())
        finally:
            connection.close()
