"""Every check of the acceptance list that is about these pages and this API is held by a test."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
MODULES = sorted((TESTS / "e2e").glob("test_checks_*.py"))
LINE = re.compile(r"^ +(\d+)  (test_\w+)$", re.MULTILINE)
CHECKS = {*range(1, 23), *range(28, 38), 39, 40, 41, 43}


def test_every_check_has_a_test_that_exists():
    known = {
        node.name
        for file in TESTS.rglob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    held = [
        (int(number), name)
        for module in MODULES
        for number, name in LINE.findall(ast.get_docstring(ast.parse(module.read_text())) or "")
    ]
    assert {name for _, name in held} <= known
    own = {int(found[1]) for name in known if (found := re.match(r"test_check_(\d+)_", name))}
    assert {number for number, _ in held} | own == CHECKS
