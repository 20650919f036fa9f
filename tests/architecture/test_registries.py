"""Dotted paths in registries are strings to every tool; here each one is loaded."""

from importlib import import_module

import pytest

from workers.remote.registry import MACHINES


@pytest.mark.parametrize("path", sorted(MACHINES.values()))
def test_driver_loads_when_named_in_the_registry(path):
    module, _, name = path.partition(":")
    assert callable(getattr(import_module(module), name))
