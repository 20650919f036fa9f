"""The contracts of pyproject.toml hold, and there are as many as the architecture names."""

import fnmatch
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

from tests.architecture import sources
from tests.architecture.sources import ROOT


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
    # core holds the abstract models every app builds on; it has no edges and no services.
    assert with_models - {"backend.core"} <= set(layered["containers"])


def test_everything_but_what_is_pure_is_forbidden_to_drivers_when_listed():
    contract = next(entry for entry in contracts() if entry["name"].startswith("5b"))
    allowed = {*sources.pure_files(), *sources.files("backend/providers")}
    missed = [
        name
        for path in sources.files("backend")
        if path not in allowed
        and (name := dotted(path)).count(".") > (path.name == "__init__.py")
        and not any(
            fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(name, f"{pattern}.*")
            for pattern in contract["forbidden_modules"]
        )
    ]
    assert missed == []


def dotted(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def page_folder(name):
    """backend.runs.pages.hosts of a module of it; modules of the site stand alone."""
    parts = name.split(".")
    return ".".join(parts[:3] if "pages" not in parts else parts[: parts.index("pages") + 2])


def test_pages_import_each_other_in_one_direction():
    graph = grimp.build_graph("backend", cache_dir=None)
    pages = {name for name in graph.modules if ".pages" in name or name.startswith("backend.site.")}
    folders = {}
    for name in pages:
        imported = graph.find_modules_directly_imported_by(name) & pages
        folders.setdefault(page_folder(name), set()).update(map(page_folder, imported))
    order = TopologicalSorter({name: users - {name} for name, users in folders.items()})
    assert len(list(order.static_order())) > 50


def test_import_contracts_cover_every_rule_when_read():
    assert {contract["name"][0] for contract in contracts()} == set("123456")


def test_backend_root_package_is_empty_when_read():
    # Whatever stood there would be loaded with every pure module.
    assert (ROOT / "backend/__init__.py").read_text() == ""
