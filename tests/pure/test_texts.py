"""Texts for people: English as data, the reader's language as text."""

import json
import pickle

import pytest

from backend.foundation import texts
from backend.foundation.texts import join_texts, number, text

GERMAN = {
    "{name} costs {amount}.": "{name} kostet {amount}.",
    "the cheapest": "das billigste",
}


@pytest.fixture
def german(monkeypatch):
    monkeypatch.setattr(texts, "_translate", texts._translate)
    monkeypatch.setattr(texts, "_localize", texts._localize)
    texts.install(
        lambda message: GERMAN.get(message, message),
        lambda shown: shown.translate({ord("."): ",", ord(","): "."}),
    )


def sentence():
    return text("{name} costs {amount}.", name=text("the cheapest"), amount=number("1,234.50"))


@pytest.mark.usefixtures("german")
def test_text_is_english_as_data_and_translated_as_text():
    said = sentence()
    assert said == "the cheapest costs 1,234.50."
    assert json.dumps([said]) == '["the cheapest costs 1,234.50."]'
    assert str(said) == f"{said}" == "das billigste kostet 1.234,50."


@pytest.mark.usefixtures("german")
def test_joined_texts_are_translated_each():
    said = join_texts("; ", (text("the cheapest"), number("0.5"), "cx22"))
    assert said == "the cheapest; 0.5; cx22"
    assert str(said) == "das billigste; 0,5; cx22"
    assert text("{list}", list=said) == "the cheapest; 0.5; cx22"


@pytest.mark.usefixtures("german")
@pytest.mark.parametrize("said", [sentence(), join_texts(" ", [sentence(), "and more"])])
def test_text_that_was_kept_is_still_translated(said):
    kept = pickle.loads(pickle.dumps(said))
    assert kept == said
    assert str(kept) == str(said) != said


def test_text_stays_english_without_a_translator(monkeypatch):
    monkeypatch.setattr(texts, "_translate", str)
    monkeypatch.setattr(texts, "_localize", str)
    assert str(sentence()) == sentence()
