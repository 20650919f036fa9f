"""The table of ASVS items names only tests and files that exist, and leaves no item undecided."""

import re

from tests.architecture.sources import ROOT

TABLE = (ROOT / "docs" / "asvs.md").read_text()
ROWS = re.findall(r"^\| (\d[^|]*) \| ([^|]*) \| (.*) \|$", TABLE, re.MULTILINE)


def test_every_item_is_decided_and_says_where() -> None:
    assert len(ROWS) > 100
    undecided = [
        item
        for item, state, where in ROWS
        if state not in {"met", "operator", "needless", "open"} or not where
    ]
    assert not undecided


def test_tests_and_files_of_the_table_exist() -> None:
    named = re.findall(r"`((?:tests|backend|frontend|launcher|docs)/[\w./-]+)(?:::(\w+))?`", TABLE)
    assert len(named) > 60
    missing = [
        f"{path}::{test}"
        for path, test in named
        if not (ROOT / path).exists() or (test and f"def {test}(" not in (ROOT / path).read_text())
    ]
    assert not missing
