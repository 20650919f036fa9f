"""Pages in the languages of their readers; what programs read stays English."""

import re
from contextvars import copy_context
from typing import Any

import pytest
from babel.messages.catalog import Message
from django.conf import LazySettings, settings
from django.test import Client

from backend.accounts.models import Scope
from backend.site.language import _language, count_words
from frontend import translations
from tests import factories
from tests.e2e import every_page
from tests.frontend.rows import published

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


def test_numbers_of_messages_have_the_separators_of_the_reader():
    german = copy_context()
    german.run(_language.set, "de")
    message = ("{n} thing", "{n} things", 1234)
    assert count_words(*message) == "1,234 things"
    assert german.run(count_words, *message) == "1.234 things"


@pytest.fixture
def market(db: None) -> None:
    published("dear", 1000.0, "12.5", memory_bytes=8 * 2**30)


@pytest.mark.parametrize(
    ("asked", "language", "words"),
    [
        ("de-AT,de;q=0.9", "de", ("Rangliste", "9.125")),
        ("es-MX", "es", ("Clasificación", "9\u00a0125")),
        ("en-GB", "en", ("Ranking", "9,125")),
        ("fr", "en", ("Ranking", "9,125")),
    ],
)
def test_page_speaks_as_the_browser_asks(client, market, asked, language, words):
    answer = client.get("/offers/?period=month&currency=USD", headers={"Accept-Language": asked})
    text = answer.content.decode()
    assert f'<html lang="{language}">' in text
    assert [one for one in words if one not in text] == []
    assert answer.headers["Content-Language"] == language
    assert "Accept-Language" in answer.headers["Vary"]


def test_choice_of_a_reader_wins_and_leads_back(client, market):
    back = "http://testserver/offers/?currency=EUR"
    answer = client.post("/language/", {"language": "es"}, headers={"Referer": back})
    assert (answer.status_code, answer.url) == (302, back)
    assert '<html lang="es">' in client.get("/", headers={"Accept-Language": "de"}).content.decode()


def test_choice_leads_nowhere_else(client):
    elsewhere = {"language": "de", "next": "https://elsewhere.example/"}
    assert client.post("/language/", elsewhere).url == "/"
    assert client.post("/language/", {"language": "xx"}).url == "/"
    assert '<html lang="en">' in Client().get("/accounts/login/").content.decode()


@pytest.mark.parametrize(
    "path",
    ["/api/v1/rankings.csv?currency=USD", "/api/v1/rankings?currency=USD", "/api/v1/columns"],
)
def test_what_programs_read_stays_english(client, market, path):
    asked = [client.get(path, headers={"Accept-Language": one}) for one in ("de", "en")]
    assert asked[0].content == asked[1].content
    assert asked[0].status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize("language", [code for code, _ in settings.LANGUAGES])
def test_every_page_is_drawn_in_each_language(language, queued, settings: LazySettings):
    settings.PUBLIC_READ = True
    admin = factories.user(role=Scope.ADMIN, is_superuser=True)
    pages = every_page.everything(admin)
    client = Client(headers={"Accept-Language": language})
    client.force_login(admin)
    for path in (one for some in pages.values() for one in some):
        answer = client.get(path)
        assert answer.status_code == 200, path
        text = answer.content.decode()
        if "html" in answer.headers["Content-Type"]:
            assert f'<html lang="{language}">' in text, path
