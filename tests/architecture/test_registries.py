"""Dotted paths in registries are strings to every tool; here each one is loaded."""

from importlib import import_module

import pytest

from workers.remote.probes.registry import PROBES
from workers.remote.registry import MACHINES


@pytest.mark.parametrize("path", sorted(MACHINES.values()))
def test_driver_loads_when_named_in_the_registry(path):
    module, _, name = path.partition(":")
    assert callable(getattr(import_module(module), name))


@pytest.mark.parametrize("name", sorted(name for name in PROBES if PROBES[name].parser))
def test_parser_loads_when_a_probe_names_it(name):
    module, _, function = PROBES[name].parser.partition(":")
    assert callable(getattr(import_module(module), function))
    assert PROBES[name].name == name


def test_only_packages_has_no_parser():
    assert [name for name in PROBES if not PROBES[name].parser] == ["packages"]
    assert PROBES["packages"].parse("nothing to do", "install") == ()
