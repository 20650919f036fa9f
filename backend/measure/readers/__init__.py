"""Parsers of what measuring tools print: pure, strict, text in and samples out.

Every parser raises ProbeError for output that is unknown, truncated or impossible. None of them
ever answers zero, NaN or infinity for a value that could not be read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ParsedSample:
    """A number of one metric. `flags` mark conditions under which it must not rank as it is."""

    metric: str
    variant: str
    value: float
    unit: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
