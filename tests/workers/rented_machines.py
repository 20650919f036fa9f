"""What tests of the drivers that rent machines have in common: a clock, a key, whose it is."""

import datetime as dt
import uuid

import asyncssh

PRIVATE_KEY = asyncssh.generate_private_key("ssh-ed25519")
TAG = "0b6f9f5e-9d0b-4a52-8f7e-6c1d2f3a4b5c"


class Clock:
    """Stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)

    def __call__(self) -> dt.datetime:
        return self.now

    def go(self, seconds: float) -> None:
        self.now += dt.timedelta(seconds=seconds)


def new_token() -> str:
    return str(uuid.uuid4())
