"""What must not be in the tree: registry hosts, machine paths, junk-drawer modules."""

import ast
import subprocess
import sys

from tests.architecture import sources
from tests.architecture.sources import ROOT

# In pieces, so that this file does not find itself.
REGISTRIES = ["registry.npm" + "js", "python" + "hosted", "pypi" + ".org", "deb.debian" + ".org"]
FORBIDDEN_NAMES = {"utils.py", "helpers.py", "managers.py", "signals.py"}


def tracked():
    """Files git knows or would add; outside a git checkout (an unpacked archive) the sources on disk."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if done.returncode == 0 and done.stdout:
        names = done.stdout.decode().split("\0")
        return [path for name in names if name and (path := ROOT / name).is_file()]
    folders = (
        "backend",
        "docs",
        "fixtures",
        "frontend/src",
        "launcher",
        "requirements",
        "tests",
        "workers",
    )
    return [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]


def test_tree_names_no_package_registry_when_searched():
    found = [
        str(path.relative_to(ROOT))
        for path in tracked()
        if any(name.encode() in path.read_bytes() for name in REGISTRIES)
    ]
    assert found == []


def test_tree_has_no_junk_drawer_when_listed():
    assert [path for path in tracked() if path.name in FORBIDDEN_NAMES] == []


def test_launcher_uses_the_standard_library_only_when_parsed():
    foreign = {
        f"{path.name}: {name}"
        for path in (ROOT / "launcher").glob("*.py")
        for node in sources.nodes(path)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [a.name for a in node.names]
        )
        if name.partition(".")[0] not in {*sys.stdlib_module_names, "launcher"}
    }
    assert foreign == set()


def is_literal_splat(node):
    return (
        isinstance(node, ast.Starred)
        and isinstance(node.value, ast.Tuple | ast.List)
        and bool(node.value.elts)
    )


def test_tree_splats_no_literal_to_please_the_formatter():
    production = [
        path
        for path in tracked()
        if path.suffix == ".py"
        and path.relative_to(ROOT).parts[0] in {"backend", "workers", "launcher"}
        and "migrations" not in path.parts
    ]
    assert production
    lines = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in production
        for node in sources.nodes(path)
        if is_literal_splat(node)
    ]
    assert lines == []
