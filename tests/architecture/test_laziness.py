"""The libraries of providers take long to load, Google's seconds: only a worker that calls a provider
loads its library, and the web process none."""

import os
import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT

LIBRARIES = (
    "azure.core",
    "azure.identity",
    "boto3",
    "pyarrow",
    "botocore",
    "google.api_core",
    "google.auth",
    "google.cloud",
)
REPORT = """
import sys
print(" ".join(name for name in sys.argv[1:] if name in sys.modules))
"""
REFUSED_COMMAND = """
import contextlib, io, runpy, sys
from unittest import mock
said = io.StringIO()
called = mock.patch("sys.argv", ["manage.py", "user", "list"])
with called, contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
    runpy.run_path("manage.py", run_name="__main__")
assert "LEASE_S must be at least" in said.getvalue(), said.getvalue()
"""


def loaded(program: str, *libraries: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program + "\n" + REPORT, *libraries],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_web_process_loads_no_library_of_a_provider_and_no_http_client():
    program = (
        "import backend.config.wsgi, backend.urls\n"
        "from django.core.management import call_command; call_command('check')"
    )
    assert loaded(program, *LIBRARIES, "httpx") == ""


@pytest.mark.parametrize(
    "program",
    [
        "import django; django.setup()\n"
        "import workers.tasks, workers.engine.dispatch, workers.rentals.reaper",
        "import workers.remote.registry\n"
        "from backend.providers.machines import Access\n"
        "from workers.remote.registry import cloud\n"
        "for slug in ('gcp', 'hetzner', 'digitalocean'): cloud(slug, Access('token'))",
    ],
)
def test_worker_loads_no_library_of_a_provider_when_it_calls_none(program):
    assert loaded(program, *LIBRARIES) == ""


def test_worker_loads_no_page_when_it_starts():
    program = "from backend.config.celery import app; app.loader.import_default_modules()"
    # Nor numpy, which one task in many needs: 30 MB in each process.
    names = ("workers.tasks", "backend.urls", "backend.api.urls", "numpy")
    assert loaded(program, *names) == "workers.tasks"


def test_beat_loads_neither_tasks_nor_models_when_it_starts():
    program = "from backend.config.beat import app; app.loader.import_default_modules()"
    names = ("backend.config.messages", "workers.tasks", "backend.benchmarks.models")
    assert loaded(program, *names) == "backend.config.messages"


def test_command_checks_the_settings_and_loads_no_page(monkeypatch):
    monkeypatch.setenv("LEASE_S", "5")
    monkeypatch.setenv("TICK_S", "5")
    assert loaded(REFUSED_COMMAND, "backend.core.checks", "backend.urls") == "backend.core.checks"


def test_report_names_a_loaded_library_when_there_is_one():
    assert loaded("import botocore", *LIBRARIES) == "botocore"
