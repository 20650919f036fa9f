"""The contracts of pyproject.toml hold, and there are as many as the architecture names."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_import_contracts_are_kept_when_linted():
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [str(program), "--no-logo", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 broken" in done.stdout


def contracts():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


def test_every_app_with_models_is_layered_when_listed():
    layered = next(contract for contract in contracts() if contract["name"].startswith("3 "))
    apps = [*(ROOT / "backend").glob("*/models.py"), *(ROOT / "backend").glob("*/models/")]
    with_models = {f"backend.{path.parent.name}" for path in apps}
    # common holds the abstract models every app builds on; it has no edges and no services.
    assert with_models - {"backend.core"} <= set(layered["containers"])


def packages(folder):
    """Dotted names of the modules and packages directly in a folder that exist."""
    files = [*(ROOT / folder).glob("*.py"), *(ROOT / folder).glob("*/__init__.py")]
    return {
        f"{folder}.{path.parent.name if path.stem == '__init__' else path.stem}" for path in files
    } - {f"{folder}.{folder}"}


def test_everything_but_the_domain_is_forbidden_to_drivers_when_listed():
    contract = next(entry for entry in contracts() if entry["name"].startswith("5b"))
    assert set(contract["forbidden_modules"]) == packages("backend") - {
        "backend.domain",
        "backend.providers",
    }


def test_import_contracts_cover_every_rule_when_read():
    assert {contract["name"][0] for contract in contracts()} == set("123456")


def test_backend_root_package_is_empty_when_read():
    # Whatever stood there would be loaded with every domain module.
    assert (ROOT / "backend/__init__.py").read_text() == ""
