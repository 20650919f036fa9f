"""The lists of docs/add-a-provider.md hold: every provider has each of their files."""

import re
from pathlib import Path

import pytest

from workers.remote.registry import CLOUDS, SOURCES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/add-a-provider.md").read_text()
NOT_SOLD = {"fake"}
"""A provider for tests; the catalog does not know it."""
PROVIDERS = {
    "Machines": sorted(CLOUDS.keys() - NOT_SOLD),
    "Prices": sorted({provider for provider, _ in SOURCES}),
}


def files(part: str) -> list[str]:
    """The paths at the beginning of a list's items, up to where the rest is optional."""
    text = (
        PAGE.partition(f"\n## {part}\n")[2].partition("\n## ")[0].partition("Where it applies")[0]
    )
    return re.findall(r"^- `([^`]+)`", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("path", "slug"),
    [(path, slug) for part, slugs in PROVIDERS.items() for path in files(part) for slug in slugs],
)
def test_provider_has_the_file_when_the_page_lists_it(path, slug):
    found = [*ROOT.glob(path.replace("<slug>", slug))]
    assert found != []
    if "<slug>" not in path:
        assert re.search(rf'(^|"){slug}[",]', found[0].read_text(), re.MULTILINE)


def test_page_lists_both_kinds_of_files_when_read():
    assert {part: len(files(part)) for part in PROVIDERS} == {"Machines": 6, "Prices": 5}
    assert "hetzner" in PROVIDERS["Machines"]
    assert "hetzner" in PROVIDERS["Prices"]


def test_page_names_only_files_that_exist_when_they_are_of_no_provider():
    names = re.findall(r"`((?:backend|docs|fixtures|tests|workers)/[^`<*]+)`", PAGE)
    assert [name for name in names if not (ROOT / name).exists()] == []
