#!/usr/bin/env python3
"""Django's command line; the settings are backend.config.settings."""

import gc
import os
import sys

from django.core.checks import Tags
from django.core.management import BaseCommand, execute_from_command_line

# Checks of the settings. Those of the code are for `check` and the tests: they import every page,
# which takes longer than most commands.
BaseCommand.requires_system_checks = [Tags.security]
# Objects made since the last look for garbage: with Python's 700 a load of tables takes a tenth longer.
GARBAGE_MANY = 50_000

if __name__ == "__main__":
    gc.set_threshold(GARBAGE_MANY)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
    try:
        execute_from_command_line(sys.argv)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has seen enough, as `| head` does; nothing is left to say to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
