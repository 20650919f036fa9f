"""The Celery application of workers, and of whoever sends them messages."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
# Celery drops what Django's checks find, and they import every page: a second and 60 MB a worker.
os.environ.setdefault("CELERY_SKIP_CHECKS", "true")

from backend.config.messages import CONFIGURATION

app = Celery("rackrate")
app.conf.update(CONFIGURATION, imports=["workers.tasks"])
