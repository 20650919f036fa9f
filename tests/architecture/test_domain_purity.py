"""The domain stays pure also where the import linter does not look: what parent packages load."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOMAIN = ROOT / "backend/domain"
FORBIDDEN = ("django", "rest_framework", "celery", "asyncssh", "boto3", "redis", "psycopg")
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in DOMAIN.rglob("*.py")
)
PROGRAM = """
import importlib, sys
importlib.import_module(sys.argv[1])
print(" ".join(sorted({name.partition(".")[0] for name in sys.modules} & set(sys.argv[2:]))))
"""


@pytest.mark.parametrize("module", MODULES)
def test_domain_module_loads_no_framework_when_imported_alone(module):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, module, *FORBIDDEN],
        cwd=ROOT,
        env={"PATH": "", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""


def test_purity_covers_the_whole_domain_when_modules_are_listed():
    assert {"backend.domain", "backend.domain.ranking", "backend.domain.parsing"} <= set(MODULES)
