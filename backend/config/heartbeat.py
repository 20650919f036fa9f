"""Celery's scheduler that shows on its disk that it lives, whatever its own file is written by."""

from pathlib import Path
from typing import Any

from celery.beat import PersistentScheduler

NAME = "beat-alive"


class Scheduler(PersistentScheduler):
    """Touches `beat-alive` beside its schedule each time it looks what is due."""

    schedule_filename: str

    def tick(self, *args: Any, **kwargs: Any) -> Any:
        Path(self.schedule_filename).with_name(NAME).touch()
        return super().tick(*args, **kwargs)
