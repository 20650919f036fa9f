"""`LOG_FILE`: what goes to the file, and what still reaches the terminal."""

import os
import subprocess
import sys

from launcher.paths import MANAGE

PROGRAM = (
    "import logging; log = logging.getLogger('workers'); log.info('a step'); log.error('a fault');"
    "log = logging.getLogger('celery.app.trace'); log.info('a tick'); log.error('a failed task')"
)


def printed(**environment: str) -> str:
    return subprocess.run(
        [sys.executable, str(MANAGE), "shell", "--no-imports", "-c", PROGRAM],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stderr


def test_log_file_takes_all_lines_and_stderr_only_faults(tmp_path):
    file = tmp_path / "command.log"
    stderr = printed(LOG_FILE=str(file))
    assert "a step" not in stderr
    assert "ERROR workers a fault" in stderr
    assert "INFO workers a step" in file.read_text()
    assert "ERROR workers a fault" in file.read_text()


def test_stderr_takes_all_lines_but_those_of_each_tick_without_a_log_file():
    said = printed()
    assert "INFO workers a step" in said
    assert "ERROR celery.app.trace a failed task" in said
    assert "a tick" not in said
