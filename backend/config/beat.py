"""The Celery application of beat, which sends names of tasks: without the tasks, and without Django's models,
it takes half the memory."""

import os
from logging.config import dictConfig

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")

from django.conf import settings

from backend.config.messages import CONFIGURATION

# What Celery's part for Django would do, and no more.
dictConfig(settings.LOGGING)
app = Celery("rackrate", fixups=[])
app.conf.update(CONFIGURATION, beat_scheduler="backend.config.heartbeat:Scheduler")
