"""The libraries of providers take long to load, Google's seconds: only a worker that calls a provider
loads its library, and the web process none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ("boto3", "botocore", "google.api_core", "google.auth", "google.cloud")
DJANGO = "import django; django.setup()"
REPORT = """
import sys
print(" ".join(name for name in sys.argv[1:] if name in sys.modules))
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


@pytest.mark.parametrize(
    "program",
    [
        f"{DJANGO}; from django.core.management import call_command; call_command('check')",
        f"{DJANGO}; import backend.urls",
        f"{DJANGO}; import backend.config.wsgi",
        f"{DJANGO}; import workers.tasks, workers.engine.dispatch, workers.rentals.reaper",
        "import workers.remote.registry",
        "from backend.providers.machines import Access\n"
        "from workers.remote.registry import cloud\n"
        "for slug in ('gcp', 'hetzner'): cloud(slug, Access('token'))",
    ],
)
def test_process_loads_no_library_of_a_provider_when_it_calls_none(program):
    assert loaded(program, *LIBRARIES) == ""


def test_web_process_loads_no_http_client_to_check_addresses():
    assert loaded(f"{DJANGO}; import backend.urls", "httpx") == ""


def test_report_names_a_loaded_library_when_there_is_one():
    assert loaded("import botocore", *LIBRARIES) == "botocore"
