"""Probes as data, one entry each: its series with their commands, its parser, metrics and programs,
in which profiles it runs and what charts call it. Profiles, forms, plans, the reading of results
and of archives are made from these tables.

How long and how often a run measures, and what a person may set, is in backend.measure.profiles.
"""

import re
from collections.abc import Container, Mapping
from dataclasses import replace
from types import MappingProxyType

from backend.measure.probes.cpu import CPU_PROBES, LASTING_PROBES, WORK_PROBES
from backend.measure.probes.disk import DISK_PROBES
from backend.measure.probes.host import HOST_PROBES, INVENTORY, PACKAGES
from backend.measure.probes.network import NETWORK, NETWORK_PROBES
from backend.measure.probes.series import RENTED, Probe, ProbeSeries

__all__ = [
    "CHOICES",
    "INVENTORY",
    "NETWORK",
    "PACKAGES",
    "PROBES",
    "RENTED",
    "ProbeSeries",
    "probes_to_measure",
    "series_of",
]

_ROUND = (*HOST_PROBES, *CPU_PROBES, *WORK_PROBES, *DISK_PROBES, *LASTING_PROBES, *NETWORK_PROBES)
# In the order of a round. The inventory always comes first, once.
PROBES: Mapping[str, Probe] = MappingProxyType({probe.name: probe for probe in _ROUND})
# The probes that people choose from.
CHOICES = tuple(name for name in PROBES if name not in {INVENTORY, PACKAGES})
_CELL = re.compile(r"(read|write)_qd([0-9]{1,4})_jobs([0-9]{1,4})")


def probes_to_measure(chosen: Container[str]) -> list[str]:
    """The chosen probes in the order of a round, without those that are part of another one."""
    return [it for it in CHOICES if it in chosen and PROBES[it].part_of not in chosen]


def series_of(probe: str, variant: str) -> ProbeSeries:
    """The series, of a grid its one test; KeyError for a pair that does not exist."""
    cell = _CELL.fullmatch(variant)
    for series in PROBES[probe].series:
        if series.is_grid and cell is not None and cell[1] == series.variant:
            return _cell(series, variant, depth=cell[2], jobs=cell[3])
        if not series.is_grid and series.variant == variant:
            return series
    raise KeyError((probe, variant))


def _cell(series: ProbeSeries, variant: str, *, depth: str, jobs: str) -> ProbeSeries:
    words = {"{depth}": str(int(depth)), "{jobs}": str(int(jobs))}
    command = tuple(words.get(word, word) for word in series.command)
    return replace(series, variant=variant, command=command)
