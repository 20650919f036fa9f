"""Reads what a probe printed in a run once more, from its name alone."""

from collections.abc import Callable, Mapping

from backend.domain.errors import ProbeError
from backend.domain.parsing import (
    ParsedSample,
    cmips,
    dd,
    fio,
    inventory,
    memory,
    network,
    small_files,
    sustained,
)

STDERR_MARK = "\n--- stderr ---\n"
"""Between what a command printed and what it complained of, in the text that is kept."""


def _inventory(text: str, _variant: str) -> list[ParsedSample]:
    inventory.parse(text)
    return []


READERS: Mapping[str, Callable[[str, str], list[ParsedSample]]] = {
    "packages": lambda _text, _variant: [],
    "inventory": _inventory,
    "cmips": lambda text, variant: cmips.parse(text, variant=variant),
    "memory": lambda text, _variant: memory.parse(text),
    "dd": lambda text, _variant: dd.parse(text),
    "small_files": lambda text, _variant: small_files.parse(text),
    "fio": lambda text, _variant: fio.parse(text),
    "fio_matrix": lambda text, _variant: fio.parse(text, prefix="matrix"),
    "sustained": lambda text, _variant: sustained.parse(text),
    "network": lambda text, _variant: network.parse(text),
}


def output_of(raw: str) -> str:
    """What the command itself printed."""
    return raw.partition(STDERR_MARK)[0]


def reread(probe: str, variant: str, raw: str) -> list[ParsedSample]:
    """The samples that a kept text holds for today's parsers; none of the inventory.

    Raises ProbeError, also for a probe that this version does not know.
    """
    if probe not in READERS:
        raise ProbeError(probe, "this version does not know the probe")
    return READERS[probe](output_of(raw), variant)
