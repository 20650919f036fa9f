"""The terms of docs/glossary.md and its translations, as the glossary page shows them."""

import functools
import re
from typing import NamedTuple

from django.conf import settings
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify

# A section for those who write code; readers of the site would only be told what not to say.
FOR_CONTRIBUTORS = "Words not used"
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
ROW = re.compile(r"^\| (.+?) \| (.+) \|$", re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
EMPHASIS = re.compile(r"\*([^*\n]+)\*")


class Term(NamedTuple):
    """A word or several that belong together, what they mean, and its anchor on the page."""

    words: str
    meaning: SafeString
    anchor: str


# The files belong to the program: they change with a new version, and so with a new process.
@functools.cache
def glossary(language: str) -> list[tuple[str, list[Term]]]:
    """Sections in the document's order, as (heading, terms); anchors are the same in each language."""
    english = _tables("glossary.md")
    is_english = language == settings.LANGUAGE_CODE
    shown = english if is_english else _tables(f"glossary.{language}.md")
    return [
        (
            heading,
            [
                _term(words, meaning, anchor)
                for (words, meaning), (anchor, _) in zip(rows, anchors, strict=True)
            ],
        )
        for (heading, rows), (_, anchors) in zip(shown, english, strict=True)
    ]


def _tables(name: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """(heading, rows of words and meaning) of each section of a glossary."""
    _, *parts = SECTION.split((settings.BASE_DIR / "docs" / name).read_text())
    return [
        # The first row of each table has the heads; the row of dashes below has no blanks and does
        # not match.
        (heading, ROW.findall(text)[1:])
        for heading, text in zip(parts[::2], parts[1::2], strict=True)
        if heading != FOR_CONTRIBUTORS
    ]


def _term(words: str, meaning: str, english: str) -> Term:
    markup = CODE.sub(r"<code>\1</code>", escape(meaning))
    markup = EMPHASIS.sub(r"<em>\1</em>", markup)
    # Escaped above; the only markup are these two elements.
    return Term(words, mark_safe(markup), slugify(english))  # noqa: S308
