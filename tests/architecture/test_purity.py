"""What calculates stays pure also where the import linter does not look: what parent packages load."""

import subprocess
import sys

from tests.architecture import sources
from tests.architecture.sources import ROOT

FORBIDDEN = ("django", "rest_framework", "celery", "asyncssh", "boto3", "redis", "psycopg")
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sources.pure_files()
]
PROGRAM = """
import importlib, sys
forbidden, *modules = sys.argv[1:]
for module in modules:
    importlib.import_module(module)
    if frameworks := {name.partition(".")[0] for name in sys.modules} & {*forbidden.split()}:
        sys.exit(f"{module} loads {frameworks}")
"""


def test_pure_code_loads_no_framework_when_all_of_it_is_imported():
    # What one process does not load for all modules, none of them loads alone.
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, " ".join(FORBIDDEN), *MODULES],
        cwd=ROOT,
        env={"PATH": "", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_purity_covers_every_folder_when_modules_are_listed():
    assert {
        "backend.foundation",
        "backend.rankings.calc.ranking",
        "backend.measure.readers",
    } <= set(MODULES)
