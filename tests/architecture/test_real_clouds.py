"""docs/real-clouds.md: every fault of its table is held by tests that exist."""

import re

from tests.architecture.sources import ROOT

TABLE = (ROOT / "docs/real-clouds.md").read_text()
ROW = re.compile(r"^\| (\d\.\d+) \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)
TEST = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
# How many there are of each kind: nothing works, breaks, costs money, wrong numbers, scale, late 2026.
FAULTS = {0: 2, 1: 11, 2: 6, 3: 8, 4: 8, 5: 8}


def test_every_fault_has_a_row():
    numbers = [number for number, _ in ROW.findall(TABLE)]
    assert numbers == [f"{kind}.{n}" for kind, count in FAULTS.items() for n in range(1, count + 1)]


def test_every_test_that_the_table_names_exists():
    for number, tests in ROW.findall(TABLE):
        named = TEST.findall(tests)
        assert named, number
        for path, name in named:
            source = (ROOT / "tests" / path).read_text()
            assert re.search(rf"^(async )?def {name}\(", source, re.MULTILINE), f"{path}::{name}"
