"""Every command that the README and the documents name exists and takes the words that stand there."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from django.core.management import CommandError, get_commands, load_command_class
from django.urls import Resolver404, resolve

from launcher import __main__ as launcher
from launcher.paths import ROOT

DOCUMENTS = sorted(
    path
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if path.name != "CHANGELOG.md"
)
# What a document leaves open, as a reader would fill it in.
EXAMPLES = {
    "N": "5",
    "S": "60",
    "RUN": "01234567",
    "BEFORE": "01234567",
    "AFTER": "89abcdef",
    "STATE": "done",
}
PREFIXES = re.compile(r"^(?:sudo (?:-u \S+ )?|[A-Z][A-Z_]*=\S* )+")
OURS = (
    "./rackrate",
    "manage.py",
    "docker",
    "curl",
    "celery",
    ".venv/bin/",
    "node ",
    "python -m",
    "kubectl",
)
OF_BENCHES = {path.stem for path in (ROOT / "tests/bench").glob("[a-z]*.py")}


def _lines(path: Path) -> Iterator[str]:
    """Lines of blocks of commands, and what stands in `…` and begins as one of our commands."""
    text = path.read_text()
    fenced = re.findall(r"^```(?:sh|bash)?\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    indented = re.findall(
        r"(?:^(?: {4}| {7})\S.*\n)+",
        re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL),
        re.MULTILINE,
    )
    for block in [*fenced, *indented]:
        joined = re.sub(r"\\\n\s*", "", block)
        yield from (line.strip() for line in joined.splitlines())
    for quoted in re.findall(r"`([^`\n]+)`", text):
        yield from re.split(r" && ", quoted)


def _commands(path: Path) -> Iterator[str]:
    for line in _lines(path):
        for part in re.split(r" && | \| ", line):
            command = PREFIXES.sub("", part.strip())
            if command.startswith(OURS) and not command.endswith(("…`", "`")):
                yield command


def documented() -> list[tuple[str, str]]:
    return sorted({(path.name, command) for path in DOCUMENTS for command in _commands(path)})


def _words(command: str) -> list[str]:
    """As the shell splits it, without a comment or where its output goes."""
    bare = re.sub(r"\s+#.*|\s{4,}.*|\s[<>]\s?\S+", "", command).replace("…", "")
    bare = re.sub(r"\[(--[^]]*)\]", r"\1", bare)
    return [EXAMPLES.get(word, word) for word in shlex.split(bare)]


def _manage(words: list[str]) -> str:
    name, arguments = words[0], words[1:]
    if name not in get_commands():
        return f"manage.py has no {name}"
    command = load_command_class(get_commands()[name], name)
    try:
        command.create_parser("manage.py", name).parse_args(arguments)
    except CommandError as error:
        # What stands in a sentence names a command and leaves its words to the reader.
        is_name_alone = not arguments and "required" in str(error)
        return "" if is_name_alone else str(error)
    except SystemExit as end:
        return "" if not end.code else f"ends with {end.code}"
    return ""


def _rackrate(words: list[str]) -> str:
    if words[:1] == ["manage"] or not words:
        return _manage(words[1:]) if words[1:] else ""
    if words[0] in launcher.PASSED_ON:
        return _manage(words)
    try:
        options, rest = launcher.parser().parse_known_args(words)
    except SystemExit:
        return "is not understood" if words != ["bench"] else ""
    if options.command == "bench" and options.name not in OF_BENCHES:
        return f"there is no bench {options.name}"
    return _path(rest) if options.command == "test" else ", ".join(rest)


def _docker(words: list[str]) -> str:
    if words[:1] != ["compose"]:
        return (
            ""
            if words[0] in {"inspect", "load", "image", "buildx", "info", "run"}
            else "is not known"
        )
    services = set(yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"])
    rest = words[1:]
    while rest and rest[0].startswith("-"):
        if rest[0] == "-f" and not (ROOT / rest[1]).exists():
            return f"{rest[1]} is missing"
        rest = rest[2:]
    known = {
        "up",
        "down",
        "run",
        "exec",
        "logs",
        "stop",
        "start",
        "ps",
        "build",
        "config",
        "cp",
        "restart",
        "kill",
    }
    if not rest or rest[0] not in known:
        return f"compose has no {rest[:1]}"
    if rest[0] in {"run", "exec", "logs", "stop", "start", "restart"}:
        named = [word for word in rest[1:] if not word.startswith("-")]
        if not services & set(named):
            return f"names no service: {named}"
    return _manage(rest[rest.index("manage.py") + 1 :]) if "manage.py" in rest else ""


def _path(words: list[str]) -> str:
    """A program of ours, or a script that it runs."""
    paths = [
        word.partition("::")[0]
        for word in words
        if "/" in word and not word.startswith(("-", "http"))
    ]
    missing = [path for path in paths if not any(ROOT.glob(path)) and "NAME" not in path]
    return f"{missing} is missing" if missing else ""


def _curl(words: list[str]) -> str:
    url = next(word for word in words if word.startswith("http"))
    path = re.sub(r"^https?://[^/]+", "", url).partition("?")[0]
    try:
        resolve(path)
    except Resolver404:
        return f"{path} leads nowhere"
    return ""


def _module(words: list[str]) -> str:
    name = words[0].replace(".", "/")
    is_ours = name.startswith(("backend", "workers", "launcher", "tests", "frontend"))
    return "" if not is_ours or (ROOT / f"{name}.py").exists() else f"{words[0]} is missing"


def _celery(words: list[str]) -> str:
    return "" if words[:3] == ["-A", "backend.config.celery", words[2]] else "names no application"


def fault(command: str) -> str:
    """Why the command would not be understood; empty when it would."""
    words = _words(command)
    judges: dict[str, Callable[[list[str]], str]] = {
        "./rackrate": _rackrate,
        "manage.py": lambda rest: _manage(rest) if rest else "",
        "docker": lambda rest: _docker(rest) if rest else "",
        "curl": _curl,
        "celery": _celery,
        "node": _path,
        "kubectl": lambda rest: (
            _manage(rest[rest.index("manage.py") + 1 :]) if "manage.py" in rest else ""
        ),
    }
    first = words[0]
    if first in judges:
        return judges[first](words[1:])
    if first.startswith(".venv/bin/"):
        if first.endswith("/python") and words[1:2] == ["manage.py"]:
            return _manage(words[2:])
        if words[1:2] == ["-m"]:
            return _module(words[2:])
        return _path(words)
    return _module(words[2:]) if words[:2] == ["python", "-m"] else ""


@pytest.mark.parametrize(("document", "command"), documented())
def test_documented_command_is_understood(document, command):
    assert fault(command) == "", f"{document}: {command}"


@pytest.mark.parametrize(
    "command",
    [
        "./rackrate frobnicate", "./rackrate demo --prot 8100", "./rackrate manage reaap",
        "manage.py reap --forever", "docker compose run --rm wbe python manage.py user list",
        "docker compose -f docker-compose.none.yml up", "docker compose exec web python manage.py usr",
        "curl https://rackrate.example/api/v2/nothing", "./rackrate test tests/none.py",
        ".venv/bin/python frontend/none.py", "./rackrate bench none", "python -m backend.none",
    ],
)  # fmt: skip
def test_command_with_a_slip_is_not_understood(command):
    assert fault(command)


def test_most_documents_have_commands():
    """The reader of documents itself: it finds them in tables, sentences and blocks."""
    found = documented()
    assert len(found) > 90
    assert ("README.md", "./rackrate demo --port 8100") in found
    assert {"operations.md", "CONTRIBUTING.md"} <= {document for document, _ in found}


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_blocks_of_commands_are_sound_for_the_shell():
    for path in DOCUMENTS:
        for block in re.findall(
            r"^```(?:sh|bash)\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL
        ):
            done = subprocess.run(
                ["bash", "-n"], input=block, text=True, capture_output=True, check=False
            )
            assert done.returncode == 0, f"{path.name}: {done.stderr}"
