"""Brings the catalogues of all languages up to date with the texts of templates, modules and scripts.

`.venv/bin/python frontend/translations.py` adds what is new, without a translation, and drops what
no page says any more. `--missing LANGUAGE` lists what is still to be translated.
"""

import argparse
import ast
import io
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
CATALOGUES = ROOT / "frontend/src/locale"
# Functions whose first texts are messages: the number of texts that each takes.
KEYWORDS = {"_": None, "lazy": None, "count_words": (1, 2)}
MODULES = ("backend", "workers")
_IN_TEMPLATES = re.compile(
    r"""\b(?:n?gettext|_)\((u?(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"))"""
    r"""(?:,\s*(u?(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")))?"""
)


class Extracted(NamedTuple):
    """A text, its plural form where it has one, and the file that says it."""

    one: str
    many: str | None
    file: str


def of_templates() -> Iterator[Extracted]:
    from django.conf import settings
    from django.utils.translation.template import templatize

    if not settings.configured:
        settings.configure()
    for path in sorted((ROOT / "frontend/templates").rglob("*.html")):
        # templatize blanks what is markup, and leaves calls of gettext with literals.
        for match in _IN_TEMPLATES.finditer(templatize(path.read_text(), origin=str(path))):
            texts = [ast.literal_eval(part) for part in match.groups() if part]
            yield Extracted(texts[0], texts[1] if len(texts) > 1 else None, _name(path))


def of_sources(language: str, paths: Iterable[Path]) -> Iterator[Extracted]:
    for path in sorted(paths):
        source = io.BytesIO(path.read_bytes())
        for _, said, _, _ in extract(language, source, keywords=KEYWORDS):
            texts = (said, None) if isinstance(said, str) else (said[0], said[1])
            yield Extracted(str(texts[0]), texts[1], _name(path))


def of_modules() -> Iterator[Extracted]:
    for folder in MODULES:
        yield from of_sources("python", (ROOT / folder).rglob("*.py"))


def of_scripts() -> Iterator[Extracted]:
    """`build.mjs` knows by their files which messages the scripts need."""
    yield from of_sources("javascript", (ROOT / "frontend/src/js").rglob("*.js"))


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def template() -> Catalog:
    """Every message, with the files that say it."""
    catalog = Catalog(project="Rackrate", charset="utf-8", fuzzy=False)
    for message in (*of_templates(), *of_modules(), *of_scripts()):
        identity = message.one if message.many is None else (message.one, message.many)
        catalog.add(identity, locations=[(message.file, 0)])
    return catalog


def languages() -> list[str]:
    return sorted(path.stem for path in CATALOGUES.glob("*.po"))


def file_of(language: str) -> Path:
    return CATALOGUES / f"{language}.po"


def read(language: str) -> Catalog:
    with file_of(language).open("rb") as file:
        return read_po(file, locale=language)


def updated(language: str, messages: Catalog) -> bytes:
    """The catalogue's text with exactly these messages; translations that still apply are kept."""
    catalog = read(language)
    # Guesses from similar texts would pass as translations.
    catalog.update(messages, no_fuzzy_matching=True, update_creation_date=False)
    catalog.obsolete.clear()
    out = io.BytesIO()
    write_po(out, catalog, width=100, omit_header=False, include_lineno=False, ignore_obsolete=True)
    return out.getvalue()


def missing(language: str) -> list[str]:
    """The messages of a catalogue that lack a translation."""
    return [
        message.id if isinstance(message.id, str) else message.id[0]
        for message in read(language)
        if message.id
        and not all([message.string] if isinstance(message.string, str) else message.string)
    ]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--missing", metavar="LANGUAGE", choices=languages())
    asked = arguments.parse_args().missing
    if asked:
        sys.stdout.writelines(f"{message}\n" for message in missing(asked))
        return
    messages = template()
    for language in languages():
        file_of(language).write_bytes(updated(language, messages))
        sys.stdout.write(f"{language}: {len(missing(language))} of {len(messages)} to translate\n")


if __name__ == "__main__":
    main()
