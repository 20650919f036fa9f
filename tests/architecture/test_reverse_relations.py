"""No app reads the rows of an app above it through the name that a relation has on its own models."""

import ast

import pytest
from django.apps import apps

from tests.architecture import sources
from tests.architecture.sources import ROOT

# Calls that take the name of a relation as a string.
BY_NAME = {"Avg", "Count", "F", "Max", "Min", "Sum", "prefetch_related", "select_related"}


def reverse_names():
    """(app that is pointed at, name of the relation there) of every relation between two apps."""
    return {
        (field.related_model._meta.app_label, field.remote_field.get_accessor_name())
        for model in apps.get_models()
        if model.__module__.startswith("backend.")
        for field in model._meta.local_fields
        if field.is_relation and field.related_model._meta.app_label != model._meta.app_label
    }


def is_use(node, name):
    if isinstance(node, ast.Attribute):
        return node.attr == name
    if isinstance(node, ast.keyword):
        return (node.arg or "").startswith(f"{name}__")
    if isinstance(node, ast.Call):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        strings = [one.value for one in node.args if isinstance(one, ast.Constant)]
        return called in BY_NAME and name in strings
    return isinstance(node, ast.Constant) and str(node.value).startswith(f"{name}__")


def is_used(nodes, name):
    return any(is_use(node, name) for node in nodes)


@pytest.mark.parametrize(
    "source",
    [
        "account.resources.count()",
        'Count("resources")',
        "rows.filter(resources__state=1)",
        'rows.values("resources__state")',
    ],
)
def test_use_of_a_relation_is_seen(source):
    assert is_used(ast.walk(ast.parse(source)), "resources")


def test_no_app_names_a_relation_of_an_app_above():
    names = reverse_names()
    assert ("accounts", "resources") in names
    faults = [
        f"{path.relative_to(ROOT)}: {name}"
        for app, name in sorted(names)
        for path in sources.files(f"backend/{app}")
        if "pages" not in path.parts and is_used(sources.nodes(path), name)
    ]
    assert faults == []
