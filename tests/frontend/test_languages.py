"""Pages in the languages of their readers; what programs read stays English."""

import re
from typing import Any

import pytest
from babel.messages.catalog import Message
from django.conf import settings

from frontend import translations

PLACEHOLDER = re.compile(r"%\((\w+)\)s|(?<!\{)\{(\w*)(?:![rsa])?\}")


@pytest.fixture(scope="module")
def messages() -> Any:
    return translations.template()


def _forms(text: Any) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else tuple(text)


def _values(message: str) -> set[str]:
    return {first or second for first, second in PLACEHOLDER.findall(message)}


def _is_sound(message: Message) -> bool:
    """Whether each form names no value that its message lacks, and all where it has one form."""
    said, translated = _forms(message.id), _forms(message.string)
    known = set().union(*(_values(one) for one in said))
    if len(said) == 1:
        return _values(translated[0]) == known
    return all(_values(one) <= known for one in translated)


@pytest.mark.parametrize("language", translations.languages())
def test_catalogue_has_exactly_the_texts_of_the_pages(language, messages):
    stored = translations.file_of(language).read_bytes()
    assert stored == translations.updated(language, messages), "run frontend/translations.py"


@pytest.mark.parametrize("language", translations.languages())
def test_translations_name_the_values_of_their_messages(language):
    catalogue = translations.read(language)
    done = [one for one in catalogue if one.id and all(_forms(one.string))]
    assert [one.id for one in done if not _is_sound(one)] == []


def test_languages_that_pages_offer_are_complete():
    offered = [code for code, _ in settings.LANGUAGES if code != settings.LANGUAGE_CODE]
    assert {code: translations.missing(code) for code in offered} == {code: [] for code in offered}
