"""WSGI entry point."""

import gc
import os
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
application = get_wsgi_application()
# Every view now, and not when the first reader waits.
import_module(settings.ROOT_URLCONF)
# Rankings of thousands of rows are cached; the collector would walk them again with every new one.
gc.collect()
gc.freeze()
gc.set_threshold(50_000, 20, 50)
