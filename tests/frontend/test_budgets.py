"""What a page may weigh, compressed: measured on the built files."""

import gzip
import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "frontend" / "src" / "js" / "pages"
PAGES = sorted(file.stem for file in SOURCES.glob("*.js"))
STATIC = Path(__file__).parents[2] / "frontend" / "static"
IMPORT = re.compile(r"""(?:from|import)\s*["'](\.[^"']+)["']""")
LAZY = re.compile(r"""import\(["'](\.[^"']+)["']\)""")


def modules(entry: Path, *, with_lazy: bool) -> set[Path]:
    """The module and all that it loads, statically or also when a chart is drawn."""
    found: set[Path] = set()
    waiting = [entry]
    while waiting:
        module = waiting.pop()
        if module in found:
            continue
        found.add(module)
        text = module.read_text()
        names = IMPORT.findall(text) + (LAZY.findall(text) if with_lazy else [])
        waiting += [(module.parent / name).resolve() for name in names]
    return found


def weight(files: set[Path]) -> int:
    return sum(len(gzip.compress(file.read_bytes(), 9)) for file in files)


@pytest.fixture(scope="module")
def built() -> Path:
    assert (STATIC / "js" / "theme.js").exists(), "run `node frontend/build.mjs` first"
    return STATIC.resolve()


@pytest.mark.parametrize("page", PAGES)
def test_scripts_of_a_page_without_its_chart_stay_within_30_kb(built, page):
    files = modules(built / "js" / "pages" / f"{page}.js", with_lazy=False)
    assert weight(files | {built / "js" / "theme.js"}) <= 30_000


@pytest.mark.parametrize("page", PAGES)
def test_scripts_of_a_page_with_its_chart_stay_within_115_kb(built, page):
    entry = built / "js" / "pages" / f"{page}.js"
    files = modules(entry, with_lazy=True)
    assert weight(files | {built / "js" / "theme.js"}) <= 115_000
    has_chart = files != modules(entry, with_lazy=False)
    assert has_chart == (weight(files) > 60_000)  # the chart code was found where it is asked for
    assert has_chart or page not in {
        "answer",
        "ranking",
        "frontier",
        "compare",
        "offer",
        "run",
        "scenario",
    }


def test_styles_stay_within_20_kb(built):
    assert weight({built / "css" / "main.css", built / "css" / "print.css"}) <= 20_000


def test_chart_code_is_not_loaded_before_it_is_needed(built):
    files = modules(built / "js" / "pages" / "ranking.js", with_lazy=False)
    files |= modules(built / "js" / "pages" / "run.js", with_lazy=False)
    assert not any("BarController" in file.read_text() for file in files)


def test_sources_of_pages_stay_short():
    assert all(len(file.read_text().splitlines()) <= 150 for file in SOURCES.glob("*.js"))
