"""The two paths that docs/paths.md writes down: its counts are those of its rows, and what
it names is in the code."""

import re
from dataclasses import dataclass

import pytest

from tests.architecture.sources import ROOT, files, text

DOCUMENT = ROOT / "docs/paths.md"
COUNTS = re.compile(r"(\d+) functions hand on, (\d+) stand beside; (\d+) shapes, (\d+) collections")
FUNCTION = re.compile(r"`([\w.]+)`")
SHAPE = re.compile(r"\*([\w ]+)\*")
COLLECTION = re.compile(r"\(in (?:an? )?([A-Z]\w+)")
TYPE = re.compile(r"[A-Z]\w+")
FOLDERS = ("backend", "workers", "frontend/src")
SUFFIXES = (".py", ".js", ".c", ".sh")


@dataclass(frozen=True)
class WrittenPath:
    counts: tuple[int, ...]
    handing_on: list[str]
    beside: list[str]
    shapes: list[str]
    collections: list[str]


def path(title: str) -> WrittenPath:
    section = DOCUMENT.read_text().split(f"## {title}\n")[1].split("\n## ")[0]
    stated = COUNTS.search(section)
    assert stated, f"{title}: no counts"
    rows = [line.split("|") for line in section.splitlines() if line.startswith("|")][2:]
    handing_on, shapes, beside = (" ".join(row[n] for row in rows) for n in (2, 3, 4))
    return WrittenPath(
        counts=tuple(map(int, stated.groups())),
        handing_on=FUNCTION.findall(handing_on),
        beside=FUNCTION.findall(beside),
        shapes=SHAPE.findall(shapes),
        collections=COLLECTION.findall(handing_on + shapes),
    )


@pytest.fixture(scope="module")
def code() -> str:
    every = (file for top in FOLDERS for suffix in SUFFIXES for file in files(top, suffix))
    return "\n".join(map(text, every))


@pytest.mark.parametrize(
    "title",
    [
        "From a line of a probe to a point of a chart",
        "From a row of a price list to a cell of the ranking",
    ],
)
def test_path_is_counted_as_its_rows_say_and_names_what_is_there(title, code):
    written = path(title)
    lists = (written.handing_on, written.beside, written.shapes, written.collections)
    assert written.counts == tuple(map(len, lists))
    assert len(set(written.handing_on + written.beside)) == sum(written.counts[:2])
    for name in (one.split(".")[-1] for one in written.handing_on + written.beside):
        made = rf"(?:def|function|void) {name}\(|^{name}\(\) {{|^{name} = "
        assert re.search(made, code, re.MULTILINE), f"nothing is called {name}"
    for name in filter(TYPE.fullmatch, written.shapes + written.collections):
        is_known = name == "HTML" or re.search(rf"^class {name}\b", code, re.MULTILINE)
        assert is_known, f"no class is called {name}"
