"""Probes: series with their commands, parser, metrics and programs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from backend.measure.readers import ParsedSample
from backend.measure.readers.inventory import HostFacts

EVERY_PROFILE = ("quick", "standard", "full")
FROM_STANDARD = ("standard", "full")
FULL_ONLY = ("full",)
GENERAL_ONLY = ("general",)
# The parameter that every run on a machine that is rented for it has, and no other run.
RENTED = "purchase_model"


@dataclass(frozen=True)
class ProbeSeries:
    """A variant of a probe, repeated. Placeholders in the command are the plan's values; one
    that stands for a list becomes as many words."""

    variant: str
    """Without a hyphen, which separates the parts of a result's file name."""
    command: tuple[str, ...]
    expected_s: str
    """Seconds of one repeat: numbers and names of plan values, with a plus between them."""
    timeout_s: str
    metric: str
    """The metric whose repeats end the series when their interval is narrow enough."""
    is_once: bool = False
    """True if one repeat is all, whatever the profile says."""
    is_grid: bool = False
    """True if it stands for one test at each queue depth with each number of jobs."""
    needed_parameter: str = ""
    """Left out unless the run has this parameter."""
    profiles: tuple[str, ...] = EVERY_PROFILE
    chart_label: str = ""
    """Its line in the chart of throughput over time; without one it has none."""


@dataclass(frozen=True)
class Probe:
    """A tool with its series."""

    name: str
    version: str
    series: tuple[ProbeSeries, ...]
    parser: Callable[..., Sequence[ParsedSample] | HostFacts] | None
    """Text → samples; None where the output is evidence only."""
    metrics: tuple[str, ...]
    needs: tuple[str, ...]
    """Native programs that it runs, beside the runner's own scripts."""
    io: Literal["", "disk", "network"] = ""
    """Work of the kernel for it, in threads and interrupts that count as foreign."""
    is_tool: bool = False
    """True if it runs a program of the host, which may be missing there."""
    part_of: str = ""
    """The probe that measures the same figures among others: a run of both takes them from it."""
    is_parsed_by_variant: bool = False
    """True if the output alone does not say which series it is of."""

    @property
    def variants(self) -> tuple[str, ...]:
        return tuple(series.variant for series in self.series)

    def parse(self, text: str, variant: str) -> Sequence[ParsedSample] | HostFacts:
        """Samples of one output, host facts of the inventory; raises ProbeError."""
        if self.parser is None:
            return ()
        return (
            self.parser(text, variant=variant) if self.is_parsed_by_variant else self.parser(text)
        )
