"""The owner of a faked provider (tests.fakes.fake.cloud): real SSH servers behind its machines."""

import threading
from pathlib import Path

from tests.fakes.fake.cloud import FakeCloud, now_ms
from tests.fakes.machines import Machines

LOOK_S = 0.02


class FakeProvider:
    """Starts a server for each machine that is launched and stops it when the machine is over.

    A context; `folder` is what an account's settings name, `cloud` its faults and its record.
    """

    def __init__(self, directory: Path) -> None:
        self.folder = directory / "provider"
        self.folder.mkdir()
        self.cloud = FakeCloud(self.folder)
        self.machines = Machines(directory)
        self._looking = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._attend, name="provider")

    def __enter__(self) -> "FakeProvider":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        with self.machines:
            pass

    def _attend(self) -> None:
        while not self._stop.wait(LOOK_S):
            self.look()

    def look(self) -> None:
        """One look: what is new gets a server, what is over loses it."""
        with self._looking:
            for row in self.cloud.unattached():
                # Its server starts with it: machines say themselves when that was.
                if row["running_ms"] > now_ms():
                    continue
                machine = self.machines.start(row["public_key"])
                if not row["is_listening"]:
                    machine.refuse()
                self.cloud.attach(
                    row["number"],
                    address=machine.address,
                    port=machine.port,
                    console=machine.console if row["is_listening"] else "",
                )
            for row in self.cloud.over():
                self.machines.stop(row["address"])
