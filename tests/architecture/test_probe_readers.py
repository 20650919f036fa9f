"""The parsers that read a kept text again are those that read it first."""

import pytest

from backend.domain.parsing import ParsedSample
from backend.domain.parsing.probes import READERS
from workers.remote.probes.registry import PROBES


def test_every_probe_of_a_run_can_be_read_again():
    assert set(READERS) == set(PROBES)


@pytest.mark.parametrize("name", PROBES)
def test_probe_is_read_again_with_the_same_arguments(name, monkeypatch):
    probe = PROBES[name]
    if not probe.parser:
        assert READERS[name]("text", "variant") == []
        return
    calls = []

    def parse(*positional, **named):
        calls.append((positional, named))
        return [ParsedSample("m", "v", 1.0, "u")]

    monkeypatch.setattr(probe.parser.replace(":", "."), parse)
    variants = [one.variant for one in probe.series] or ["read_qd4_jobs2"]
    for variant in variants:
        calls.clear()
        probe.parse("text", variant)
        READERS[name]("text", variant)
        assert calls[0] == calls[1]
