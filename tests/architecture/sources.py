"""The files that the tests of this folder search, each read and parsed once."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def text(path: Path) -> str:
    return path.read_text()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Every node of the file's tree."""
    return tuple(ast.walk(tree(path)))


@cache
def pure_files() -> tuple[Path, ...]:
    """The files of what calculates: no framework, no input or output, no clock."""
    calculations = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("backend/*/calc"))
    folders = ["backend/foundation", "backend/measure", "backend/money", *calculations]
    return tuple(path for folder in folders for path in files(folder))


@cache
def files(top: str, suffix: str = ".py") -> tuple[Path, ...]:
    """The files of a folder in order, without migrations and packages of Node."""
    return tuple(
        path
        for path in sorted((ROOT / top).rglob(f"*{suffix}"))
        if not {"migrations", "node_modules"} & {*path.parts}
    )
