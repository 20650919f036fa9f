"""Dotted paths in registries are strings to every tool; here each one is loaded."""

from importlib import import_module

import pytest

from workers.probes.registry import PROBES
from workers.registry import CLOUDS, DRIVERS, MACHINES


@pytest.mark.parametrize("slug", sorted(DRIVERS))
def test_driver_loads_when_named_in_the_registry(slug):
    module, _, name = DRIVERS[slug].partition(":")
    assert getattr(import_module(module), name).is_launching == (slug in CLOUDS)
    assert (slug in CLOUDS) != (slug in MACHINES)


@pytest.mark.parametrize("name", sorted(name for name in PROBES if PROBES[name].parser))
def test_parser_loads_when_a_probe_names_it(name):
    module, _, function = PROBES[name].parser.partition(":")
    assert callable(getattr(import_module(module), function))
    assert PROBES[name].name == name


def test_only_packages_has_no_parser():
    assert [name for name in PROBES if not PROBES[name].parser] == ["packages"]
    assert PROBES["packages"].parse("nothing to do", "install") == ()
