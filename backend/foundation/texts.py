"""Texts for people: English as data, and in their own language where a page shows them.

A text is a `str` that holds its English: what is compared, stored, exported or answered by the API
is that. Only what turns it into text for display (`str()`, an f-string, a template) asks for the
reader's language, so a result that is kept can be shown in any. The web application says how to
translate (`install`); nothing else does, and everything stays English there.
"""

from collections.abc import Callable, Iterable
from typing import Any, Self

Translate = Callable[[str], str]
_translate: Translate = str
_localize: Translate = str


def install(translate: Translate, localize: Translate) -> None:
    """Install the translator of messages, and the writer of numbers in the reader's language."""
    global _translate, _localize
    _translate, _localize = translate, localize


class LocalText(str):
    """A message with its values filled in; `str()` of it is in the reader's language."""

    __slots__ = ("message", "values")
    message: str
    values: dict[str, Any]

    def __new__(cls, message: str, values: dict[str, Any]) -> Self:
        # The values in English too: `format` would ask each of them for the reader's language.
        english = {name: _english(value) for name, value in values.items()}
        made = super().__new__(cls, message.format(**english) if values else message)
        made.message, made.values = message, values
        return made

    def __getnewargs__(self) -> tuple[str, dict[str, Any]]:  # type: ignore[override]
        return self.message, self.values

    def __str__(self) -> str:
        translated = _translate(self.message)
        return translated.format(**self.values) if self.values else translated


class LocalFigure(str):
    """A number as text with English separators; `str()` of it has those of the reader's language."""

    __slots__ = ()

    def __str__(self) -> str:
        return _localize(str.__str__(self))


class LocalList(str):
    """Texts one after another; `str()` of it has each of them in the reader's language."""

    __slots__ = ("between", "parts")
    between: str
    parts: tuple[str, ...]

    def __new__(cls, between: str, parts: tuple[str, ...]) -> Self:
        # `join` takes the English of texts.
        made = super().__new__(cls, between.join(parts))
        made.between, made.parts = between, parts
        return made

    def __getnewargs__(self) -> tuple[str, tuple[str, ...]]:  # type: ignore[override]
        return self.between, self.parts

    def __str__(self) -> str:
        return self.between.join(map(str, self.parts))


# What a page says in the language of its reader.
Local = LocalText | LocalFigure | LocalList


def _english(value: Any) -> Any:
    return str.__str__(value) if isinstance(value, Local) else value


def text(message: str, /, **values: Any) -> str:
    """A message for people; `values` fill its {names}. The message stands in the catalogues as it
    is, so it is a literal."""
    return LocalText(message, values)


def number(shown: str) -> str:
    """A number that is written for people, such as 1,234.5."""
    return LocalFigure(shown)


def join_texts(between: str, parts: Iterable[str]) -> str:
    """Texts one after another: sentences, or names in a list."""
    return LocalList(between, tuple(parts))
