"""docs/add-a-provider.md holds, and nothing but a worker can load a provider's library."""

import ast
import re
import subprocess
import sys

import pytest

from backend.providers.registry import PROVIDERS
from tests.architecture import sources
from tests.architecture.sources import ROOT

PAGE = (ROOT / "docs/add-a-provider.md").read_text()
DECLARED = {slug: record for slug, record in PROVIDERS.items() if slug != "fake"}
# By the words of the page's table: the providers that need its files.
FILES = {
    "every provider": set(DECLARED),
    "price lists": {slug for slug, record in DECLARED.items() if record.feeds} - {"ecb"},
    "machines": {slug for slug, record in DECLARED.items() if record.rents_machines},
}


def rows() -> list[tuple[str, str]]:
    """(path, for what) of each line of the page's table."""
    return re.findall(r"^\| `([^`]+)` \| ([a-z ]+) \|", PAGE, re.MULTILINE)


@pytest.mark.parametrize(
    ("path", "slug"), [(path, slug) for path, kind in rows() for slug in sorted(FILES[kind])]
)
def test_provider_has_the_files_that_the_page_lists(path, slug):
    assert (ROOT / path.replace("<slug>", slug)).is_file()


def test_page_lists_a_file_for_every_need():
    assert {kind for _, kind in rows()} == FILES.keys()
    assert len(rows()) <= 5


def test_machines_have_a_fake_and_tests_as_the_page_says():
    for slug in FILES["machines"]:
        assert (ROOT / f"tests/fakes/{slug}.py").is_file()
        assert (ROOT / f"tests/workers/test_{slug}.py").is_file()


def test_page_names_only_files_that_exist_when_they_are_of_no_provider():
    names = re.findall(r"`((?:backend|docs|fixtures|tests|workers)/[^`<*]+)`", PAGE)
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_production_knows_no_fake_provider():
    program = "from backend.providers.registry import PROVIDERS; print(*PROVIDERS)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == set(DECLARED)


def test_backend_names_no_fetcher_or_driver_in_a_string():
    # The linter reads imports; a dotted path in a string would load the library all the same.
    named = [
        (path.relative_to(ROOT), node.value)
        for path in sources.files("backend")
        for node in sources.nodes(path)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.search(r"providers[.\w]*\.(fetch|driver)\b", node.value)
    ]
    assert named == []


def test_backend_asks_for_no_module_of_a_provider():
    users = [
        path.relative_to(ROOT).parts[0]
        for folder in ("backend", "workers", "launcher")
        for path in sources.files(folder)
        if "registry.module(" in sources.text(path)
    ]
    assert set(users) == {"workers"}
