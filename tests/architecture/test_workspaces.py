"""Edges say in which workspace they act: what they leave out would be the default one."""

import ast
from collections.abc import Iterator

from tests.architecture import sources
from tests.architecture.sources import ROOT

PARAMETER = "workspace_slug"
# Only chooses the metric of a ranking that names none.
ANYWHERE = {"query_from"}


def trees(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    for folder in folders:
        for path in sources.files(folder):
            yield str(path.relative_to(ROOT)), ast.parse(sources.text(path))


def positions() -> dict[str, int]:
    """Selectors with the parameter → its position among the positional ones, or a far one."""
    found = {}
    for path, tree in trees("backend"):
        if "/selectors/" not in path:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                names = [one.arg for one in node.args.args]
                if PARAMETER in names:
                    found[node.name] = names.index(PARAMETER)
                elif PARAMETER in [one.arg for one in node.args.kwonlyargs]:
                    found[node.name] = 99
    return {name: position for name, position in found.items() if name not in ANYWHERE}


def silent(folder: str, tree: ast.Module, functions: dict[str, int]) -> Iterator[str]:
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and ".selectors." in f"{node.module}."
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            position = functions.get(node.func.id) if node.func.id in imported else None
            named = {one.arg for one in node.keywords}
            if position is not None and PARAMETER not in named and len(node.args) <= position:
                yield f"{folder}:{node.lineno}: {node.func.id}"


def test_every_call_says_whose_rows_it_reads():
    functions = positions()
    assert {"offers_visible", "ranking", "price_list", "frontier"} <= functions.keys()
    faults = [
        one for path, tree in trees("backend", "workers") for one in silent(path, tree, functions)
    ]
    assert not faults, "\n".join(faults)


def test_call_without_its_workspace_is_noticed():
    lines = (
        "from a.selectors.b import offers_visible, ranking",
        "offers_visible()",
        "offers_visible(slug)",
        "ranking(query, workspace_slug=slug)",
    )
    functions = {"offers_visible": 0, "ranking": 99}
    assert list(silent("x", ast.parse("\n".join(lines)), functions)) == ["x:2: offers_visible"]
