"""WSGI entry point."""

import gc
import os
import sys
from importlib import import_module

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from backend.config.environment import bound_waits
from backend.config.frames import with_large_stack
from backend.config.memory import keep_blocks_for_a_while

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
# Of the web alone: what workers and commands do may take its time, and nobody waits for a page that
# long. A statement that is ended is a 503.
bound_waits(
    settings.DATABASES["default"],
    statement_s=settings.STATEMENT_TIMEOUT_S,
    lock_s=settings.LOCK_TIMEOUT_S,
)
keep_blocks_for_a_while()
application = with_large_stack(get_wsgi_application())
# Every view now, and not when the first reader waits.
import_module(settings.ROOT_URLCONF)
# What was imported is never looked through again. A request leaves its view and the context of its page
# behind, which hold themselves and the list that was shown, with all its arrays: they are to go soon, and
# those that were in use at the first look as well. It takes less than a hundredth of the time.
gc.collect()
gc.freeze()
gc.set_threshold(2_000, 5, 2)
# A page waits for the interpreter after each of its queries while another thread makes a file: with
# Python's own 5 ms that comes to seconds. With 0.5 ms, switching between four busy threads took a
# fifth of the processor time.
sys.setswitchinterval(0.002)
