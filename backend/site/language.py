"""The language of pages: what the reader chose, else what the browser asks for, else English.

The API, exports and feeds are read by programs and stay English.
"""

import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import formats, translation
from django.utils.cache import patch_vary_headers

from backend.foundation import texts
from backend.foundation.texts import text as lazy

__all__ = ["PageLanguage", "_", "count_words", "language", "lazy", "localize", "translate_document"]

# Read for every text and figure of a page, so not from Django, whose thread-locals are slower.
_language = ContextVar("language", default=settings.LANGUAGE_CODE)
# More than all that the code says in all languages.
MOST_MESSAGES = 10_000
# Of figures as backend.foundation.figures writes them: a sign stands before the amount there alone.
_MONEY = re.compile(r"([−]?)([$€£]|[A-Z]{3} )([0-9][0-9.,\u00a0]*)(/(?:h|mo|yr))?")
_PERIODS: Mapping[str, Mapping[str, str]] = {
    "de": {"/mo": "/Monat", "/yr": "/Jahr"},
    "es": {"/mo": "/mes", "/yr": "/año"},
}
_FOR_PROGRAMS = re.compile(r"/(?:api|feeds|admin)/|/(?:healthz|readyz)$|.*\.(?:csv|tsv|xlsx|json)$")


class PageLanguage:
    """Answers pages in the reader's language, and says so to caches."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if _FOR_PROGRAMS.match(request.path_info):
            return self._get_response(request)
        chosen = translation.get_language_from_request(request)
        # Ends with the answer: what the process does next has a reader of its own.
        before = _language.set(chosen)
        try:
            with translation.override(chosen):
                response = self._get_response(request)
        finally:
            _language.reset(before)
        patch_vary_headers(response, ("Accept-Language", "Cookie"))
        response.headers.setdefault("Content-Language", chosen)
        return response


def language() -> str:
    """Code of the reader's language."""
    return _language.get()


def _(message: str, /, **values: Any) -> str:
    """A message in the reader's language; `values` fill its {names}.

    `lazy` is for what a module says once for all readers.
    """
    said = _translate(message)
    return said.format(**values) if values else said


def _translate(message: str) -> str:
    code = language()
    return message if code == settings.LANGUAGE_CODE else _in(code, message)


# A page says some hundred messages a thousand times, and Django looks each up in the catalogues of all apps.
@lru_cache(maxsize=MOST_MESSAGES)
def _in(code: str, message: str) -> str:
    with translation.override(code):
        return translation.gettext(message)


def count_words(singular: str, plural: str, n: int, /, **values: Any) -> str:
    """A message that depends on a number, which is its {n}."""
    return translation.ngettext(singular, plural, n).format(n=localize(f"{n:,}"), **values)


def localize(shown: str) -> str:
    """An English figure such as 1,234.5, 95% or $3.07/mo as the reader's language writes it."""
    code = language()
    if code == settings.LANGUAGE_CODE:
        return shown
    text = shown.translate(_separators(code)).replace("%", "\u00a0%")
    return _MONEY.sub(lambda match: _amount(code, *match.groups("")), text)


def _amount(code: str, minus: str, sign: str, amount: str, period: str) -> str:
    return f"{minus}{amount} {sign.strip()}{_PERIODS.get(code, {}).get(period, period)}"


@lru_cache
def _separators(code: str) -> Mapping[int, str]:
    decimal, thousand = (
        formats.get_format(name, lang=code) for name in ("DECIMAL_SEPARATOR", "THOUSAND_SEPARATOR")
    )
    return {ord("."): decimal, ord(","): thousand}


def translate_document(value: Any) -> Any:
    """A JSON document with its texts in the reader's language; an encoder would take their English."""
    # First what most of a document is: charts have thousands of numbers and names.
    if type(value) in (str, int, float, bool):
        return value
    if isinstance(value, texts.Local):
        return str(value)
    if isinstance(value, dict):
        return {name: translate_document(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [translate_document(part) for part in value]
    return value


texts.install(_translate, localize)
