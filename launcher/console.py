"""Output for the person at the terminal."""

import sys
from typing import TextIO


class LauncherError(Exception):
    """A sentence for the person at the terminal; the launcher ends with status 1."""


class Console:
    """Progress lines; on stderr for commands whose stdout is data."""

    def __init__(self) -> None:
        self.stream: TextIO = sys.stdout

    def say(self, text: str) -> None:
        """Print one line at once, so that it is seen in pipes too."""
        print(text, file=self.stream, flush=True)


console = Console()
say = console.say
