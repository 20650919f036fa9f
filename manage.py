#!/usr/bin/env python3
"""Django's command line; the settings are backend.config.settings."""

import os
import sys

from django.core.checks import Tags
from django.core.management import BaseCommand, execute_from_command_line

# Checks of the settings. Those of the code are for `check` and the tests: they import every page,
# which takes longer than most commands.
BaseCommand.requires_system_checks = [Tags.security]

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
    try:
        execute_from_command_line(sys.argv)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has seen enough, as `| head` does; nothing is left to say to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
