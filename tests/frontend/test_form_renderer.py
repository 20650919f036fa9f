"""Lists to choose from are made once for all who see the same."""

import pytest
from django import forms
from django.core.cache import caches
from django.forms.renderers import get_default_renderer
from django.template import Template
from django.utils import translation

from backend.foundation.texts import text
from backend.site import language

CHOICES = [("", text("Remove")), ("a", "<b>"), ("c", "C")]


class Shown(forms.Form):
    one = forms.ChoiceField(choices=CHOICES, required=False)
    other = forms.CharField(required=False)


@pytest.fixture
def rendered(monkeypatch):
    """Names of the templates that were rendered."""
    names = []
    render = Template.render

    def noted(self, context):
        names.append(self.name)
        return render(self, context)

    monkeypatch.setattr(Template, "render", noted)
    caches["fields"].clear()
    yield names
    caches["fields"].clear()


def test_select_is_made_once_for_the_same_choice(rendered):
    first = str(Shown({"one": "a"})["one"])
    count = len(rendered)
    assert str(Shown({"one": "a"})["one"]) == first
    assert len(rendered) == count > 0
    assert '<option value="a" selected>&lt;b&gt;</option>' in first
    assert '<option value="c" selected>' in str(Shown({"one": "c"})["one"])


def test_select_of_rows_is_known_by_what_it_shows(rendered):
    class Row:
        """As Django's value of a choice from a table: no `repr` of its own."""

        def __init__(self, key):
            self.key = key

        def __repr__(self):
            return "<Row at the same address>"

        def __str__(self):
            return self.key

    def shown(key):
        return forms.Select(choices=[(Row(key), "alike")]).render(
            "one", None, renderer=get_default_renderer()
        )

    assert ('value="1"' in shown("1"), 'value="2"' in shown("2")) == (True, True)


def test_select_is_in_the_language_of_its_reader(rendered):
    english = str(Shown()["one"])
    chosen = language._language.set("de")
    try:
        with translation.override("de"):
            german = str(Shown()["one"])
    finally:
        language._language.reset(chosen)
    assert (">Remove<" in english, ">Entfernen<" in german) == (True, True)


def test_field_to_write_in_is_not_kept(rendered):
    for words in ("one", "two"):
        assert f'value="{words}"' in str(Shown({"other": words})["other"])
    assert caches["fields"]._cache == {}
