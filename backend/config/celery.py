"""The Celery application of workers, and of whoever sends them messages."""

import gc
import os

from celery import Celery
from celery.signals import worker_before_create_process

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
# Celery drops what Django's checks find, and they import every page: a second and 60 MB a worker.
os.environ.setdefault("CELERY_SKIP_CHECKS", "true")

from backend.config.messages import CONFIGURATION

app = Celery("rackrate")
app.conf.update(CONFIGURATION, imports=["workers.tasks"])


@worker_before_create_process.connect
def _share_memory(**_: object) -> None:
    """Children share what was imported: looking for garbage writes to each object, and a page that is
    written to is copied."""
    gc.collect()
    gc.freeze()
