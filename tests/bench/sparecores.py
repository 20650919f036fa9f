"""What a full-size Spare Cores file costs: `./rackrate bench sparecores`. Prints one JSON document.

An invented file of 5,900 servers, 16,856 prices and 1.9 million scores in the true columns:
seconds and peak memory of `import_sparecores`, of the same again, and what that changed.
"""

# ruff: noqa: E402  (Django is set up before its models are imported)

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
django.setup()

from django.db import connection
from django.test.utils import setup_databases, teardown_databases

from backend.benchmarks.models import Sample, StoredSummary
from backend.catalog.models import Offer, PriceObservation
from backend.catalog.selectors.data_version import data_version
from tests.backend.sparecores_file import full_size

MANAGE = Path(__file__).parents[2] / "manage.py"
MB = 1_000_000
KB = 1024


def imported(path: Path) -> dict[str, Any]:
    """The report of one import in a process of its own, its wall and CPU time and peak memory."""
    database = urlsplit(os.environ["DATABASE_URL"])
    name = connection.settings_dict["NAME"]
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, str(MANAGE), "import_sparecores", str(path), "--json"],
        env={**os.environ, "DATABASE_URL": database._replace(path=f"/{name}").geturl()},
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    told = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"import_sparecores ended with {process.returncode}")
    return {
        "seconds": round(time.monotonic() - began, 1),
        "cpu_s": round(used.ru_utime + used.ru_stime, 1),
        "peak_mb": round(used.ru_maxrss * KB / MB),
        **json.loads(told),
    }


def state() -> dict[str, int]:
    """How many rows there are, and the number of the data."""
    models = (Offer, PriceObservation, Sample, StoredSummary)
    rows = {str(model._meta.verbose_name_plural): model.objects.count() for model in models}
    return {**rows, "data_version": data_version()}


def main() -> int:
    databases = setup_databases(verbosity=0, interactive=False)
    try:
        with tempfile.TemporaryDirectory() as given:
            path = Path(given) / "spare_cores.db"
            file = full_size(path)
            first = imported(path)
            before = state()
            again = imported(path)
            print(json.dumps({"file": file, "first": first, "rows": before, "again": again}))
            if state() != before:
                raise SystemExit("the same file again changed something")
    finally:
        teardown_databases(databases, verbosity=0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
