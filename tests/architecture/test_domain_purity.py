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
LIBRARIES = ("highspy", "numpy", "pydantic")
"""What the domain may use and takes long to load."""
PROGRAM = """
import importlib, os, sys
libraries, forbidden, *modules = (argument.split() for argument in sys.argv[1:])
for name in libraries:
    importlib.import_module(name)
for (module,) in modules:
    if os.fork():
        _, status = os.wait()
        assert status == 0, module
    else:
        importlib.import_module(module)
        frameworks = {name.partition(".")[0] for name in sys.modules} & {*forbidden}
        print(module, *sorted(frameworks), flush=True)
        os._exit(0)
"""
"""Each module is imported alone, by a copy of a process that has loaded the libraries."""


@pytest.fixture(scope="module")
def loaded():
    """Module → the frameworks that its import loads."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, " ".join(LIBRARIES), " ".join(FORBIDDEN), *MODULES],
        cwd=ROOT,
        env={"PATH": "", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = (line.split() for line in done.stdout.splitlines())
    return {module: frameworks for module, *frameworks in lines}


@pytest.mark.parametrize("module", MODULES)
def test_domain_module_loads_no_framework_when_imported_alone(module, loaded):
    assert loaded[module] == []


def test_purity_covers_the_whole_domain_when_modules_are_listed():
    assert {"backend.domain", "backend.domain.ranking", "backend.domain.parsing"} <= set(MODULES)
