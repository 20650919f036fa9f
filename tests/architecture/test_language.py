"""Names and texts speak the language of docs/glossary.md, and one name means one thing."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.architecture import sources
from tests.architecture.sources import ROOT

PRODUCTION = ("backend", "launcher", "workers")
NAME_CHARS_MAX = 69

# What docs/glossary.md lists under "Words not used", in all its forms.
NAME_PARTS = {
    "bring", "brings", "bringing", "brought", "doubt", "doubts", "doubtful", "found", "held", "place", "placed",
    "places", "reckon", "reckoned", "reckoning", "reckons", "room", "rooms", "tell", "telling", "tells", "told",
    "torn", "verdict", "verdicts", "wanted", "way", "ways",
}  # fmt: skip
ALLOWED_NAMES = re.compile(
    # Of Python, Django and DRF: "not found" is what an HTTP status, an error and a template say.
    r"not_?found|found_(items|terms)|decimal_places"
    # Part of the contract: the field of the schedules' form that says cron line or interval.
    r"|^way$",
    re.IGNORECASE,
)
TEXT = re.compile(
    r"\b(reckon\w*|told|torn|brings?|brought|gives? up|gave up|verdicts?|rooms?|(?:no|in|the) doubts?)\b",
    re.IGNORECASE,
)
# Where a docstring begins so, it paraphrases the name in place of saying the thing.
RELATIVE = re.compile(r"(What|Whether|Of|Those|That|One) ")
# A function is named by what it does or by what it returns.
PARTICIPLES_MAX_RATIO = 0.03
IRREGULAR = re.compile(
    r"begun|bought|bound|broken|brought|built|chosen|drawn|driven|found|frozen|given|gone|"
    r"held|hidden|kept|known|laid|lost|made|met|paid|proven|rebuilt|said|seen|sent|shown|"
    r"sold|spoken|stolen|taken|taught|thrown|told|understood|undone|unknown|unread|unseen|"
    r"unsent|withdrawn|written"
)
VERBS_IN_ED = frozenset(
    {"embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed", "succeed"}
)
TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}|<[^>]*>", re.DOTALL)


def production() -> list[Path]:
    return [path for top in PRODUCTION for path in sources.files(top)]


def parts(name: str) -> set[str]:
    """`RunState`, `run_state` and `RUN_STATE` are made of run and state."""
    return {
        part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", ALLOWED_NAMES.sub("", name))
    }


@cache
def is_banned(name: str) -> bool:
    return bool(parts(name) & NAME_PARTS)


def names(path: Path) -> Iterator[tuple[int, str]]:
    """Every name in the code, with its line."""
    for node in sources.nodes(path):
        for field in ("id", "attr", "arg", "name", "asname"):
            if isinstance(name := getattr(node, field, None), str):
                yield getattr(node, "lineno", 1), name


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Every string that is no docstring."""
    silent = {id(node.value) for node in sources.nodes(path) if isinstance(node, ast.Expr)}
    for node in sources.nodes(path):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in silent
        ):
            yield node.lineno, node.value


def test_names_hold_no_banned_word():
    faults = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in production()
        for line, name in names(path)
        if is_banned(name)
    ]
    assert not faults, "\n".join(faults)


def test_texts_for_people_hold_no_banned_word():
    said = [(path, line, text) for path in production() for line, text in texts(path)]
    said += [
        (path, 1, TAG.sub(" ", path.read_text()))
        for path in sources.files("frontend/templates", ".html")
    ]
    said += [
        (path, number, line)
        for path in sources.files("frontend/src", ".js")
        for number, line in enumerate(path.read_text().splitlines(), start=1)
    ]
    documents = [*ROOT.glob("*.md"), *sources.files("docs", ".md"), *sources.files("client", ".md")]
    said += [
        (path, number, line)
        for path in documents
        if path.name != "glossary.md"  # it lists the words that are not used
        for number, line in enumerate(sources.text(path).splitlines(), start=1)
    ]
    faults = [
        f"{path.relative_to(ROOT)}:{line}: {word}"
        for path, line, text in said
        for word in TEXT.findall(text)
    ]
    assert not faults, "\n".join(faults)


def test_reasons_of_constants_stand_above_them_as_comments():
    below = [
        f"{path.relative_to(ROOT)}:{statement.lineno}"
        for path in [*production(), *sources.files("tests")]
        for statement in sources.tree(path).body[1:]
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    ]
    assert not below, "\n".join(below)


def test_class_names_stand_for_one_thing():
    where = defaultdict(list)
    for path in production():
        for node in sources.nodes(path):
            if isinstance(node, ast.ClassDef) and node.name not in {"Command", "Meta"}:
                where[node.name].append(str(path.relative_to(ROOT)))
    assert not {name: paths for name, paths in where.items() if len(paths) > 1}


def test_names_of_tests_are_short_and_plain():
    faults = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for path in sources.files("tests")
        for node in sources.nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if len(node.name) > NAME_CHARS_MAX or is_banned(node.name)
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("name", "is_seen"),
    [("places_told", True), ("NotFound", False), ("decimal_places", False), ("WantedRow", True), ("replace", False)],
)  # fmt: skip
def test_banned_words_are_seen_as_parts_of_names(name, is_seen):
    assert is_banned(name) is is_seen


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Docstrings, and the strings below fields, which mean the same."""
    for node in sources.nodes(path):
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            continue
        if isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def test_docstrings_begin_with_a_noun_or_a_verb():
    faults = [
        f"{path.relative_to(ROOT)}:{line}: {text.strip().splitlines()[0]}"
        for path in [*production(), *sources.files("client")]
        for line, text in docstrings(path)
        if RELATIVE.match(text.strip())
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("text", "is_relative"),
    [("What it costs.", True), ("Of a month: amounts.", True), ("Whatever comes.", False), ("Cost.", False)],
)  # fmt: skip
def test_beginnings_of_docstrings_are_seen(text, is_relative):
    assert bool(RELATIVE.match(text)) is is_relative


def is_participle(name: str) -> bool:
    """True if the first word of the name is a past participle, by its ending or by IRREGULAR."""
    word = name.strip("_").partition("_")[0]
    return bool(IRREGULAR.fullmatch(word)) or (word.endswith("ed") and word not in VERBS_IN_ED)


def nodes() -> Iterator[tuple[Path, ast.AST]]:
    for path in [*production(), *sources.files("client")]:
        for node in ast.walk(ast.parse(path.read_text())):
            yield path, node


def test_names_of_functions_are_seldom_participles():
    functions = [
        (path, node.name)
        for path, node in nodes()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    named = [f"{path.relative_to(ROOT)}: {name}" for path, name in functions if is_participle(name)]
    assert len(functions) > 5000
    assert len(named) <= PARTICIPLES_MAX_RATIO * len(functions), "\n".join(named)


@pytest.mark.parametrize(
    ("name", "is_seen"),
    [("_checked", True), ("known_by", True), ("check", False), ("feed_token", False), ("is_made", False)],
)  # fmt: skip
def test_participles_are_seen_at_the_beginning_of_names(name, is_seen):
    assert is_participle(name) is is_seen


def test_no_variable_is_called_one():
    faults = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, node in nodes()
        if (isinstance(node, ast.arg) and node.arg == "one")
        or (isinstance(node, ast.Name) and node.id == "one" and isinstance(node.ctx, ast.Store))
    ]
    assert not faults, "\n".join(faults)


def _assigns_underscore(function: ast.AST) -> bool:
    """Whether the function has a variable `_` of its own; those of comprehensions are theirs."""
    inside = list(ast.iter_child_nodes(function))
    while inside:
        node = inside.pop()
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            continue
        if isinstance(node, ast.Name) and node.id == "_" and isinstance(node.ctx, ast.Store):
            return True
        inside += ast.iter_child_nodes(node)
    return False


def test_functions_that_translate_name_no_variable_like_it():
    hidden = [
        f"{path.name}: {node.name}"
        for path in production()
        for node in sources.nodes(path)
        if isinstance(node, ast.FunctionDef)
        and any(
            isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "_"
            for call in ast.walk(node)
        )
        and _assigns_underscore(node)
    ]
    # mypy and ruff both pass over what is called `_`.
    assert hidden == []
