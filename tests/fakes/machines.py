"""Machines that a faked provider rents out: real SSH servers on loopback addresses of their own.

All of them listen on one port, as real machines do on 22: 127.0.1.1, 127.0.1.2, …
"""

import shutil
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from tests.fakes.sshd import HOST_KEY_TYPES, FakeSshd

PER_NET = 250
BANNER = "Authorised use only.\nAll activity is recorded.\n"
START_UP = b"Welcome\n@ boot_id 3\n=== rackrate\nabc\n"


class Machines:
    """Starts and stops them; a context that ends with none left."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._numbers = count()
        self.port = 0
        """Of all of them; known once the first one was started."""
        self.alive: dict[str, FakeSshd] = {}
        """By address."""
        self.host_key_types: Sequence[str] = HOST_KEY_TYPES
        """What those that are started have."""

    def __enter__(self) -> "Machines":
        return self

    def __exit__(self, *_: object) -> None:
        for address in list(self.alive):
            self.stop(address)

    def start(self, public_key: str) -> FakeSshd:
        """A machine that lets in whoever has the private key."""
        number = next(self._numbers)
        address = f"127.0.{1 + number // PER_NET}.{1 + number % PER_NET}"
        directory = self._directory / f"machine-{number}"
        directory.mkdir()
        machine = FakeSshd(
            directory, address=address, port=self.port, host_key_types=self.host_key_types
        )
        machine.allow(public_key)
        # As images of companies are: a banner before the login, and a bashrc that prints.
        machine.banner, machine.start_up_output = BANNER, START_UP
        if iperf3 := shutil.which("iperf3"):
            # One kernel for all of them answers UDP from the first loopback address, unless it is named.
            machine.install(
                "iperf3",
                f'case " $* " in *" -s "*) set -- -B {address} "$@" ;; esac\nexec {iperf3} "$@"',
            )
        machine.start()
        self.port = machine.port
        self.alive[address] = machine
        return machine

    def stop(self, address: str) -> None:
        """Switch it off, with all that runs on it."""
        machine = self.alive.pop(address, None)
        if machine is not None:
            machine.reboot()
            machine.stop()
