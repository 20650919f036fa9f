"""The plan of a run to its end: the one that it began with, as it is stored beside it.

The registry of probes and the profiles change with an upgrade; a run that measures meanwhile is
judged by what it set out to do.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from backend.measure.probes import PROBES, series_of
from backend.measure.stats import StoppingRule
from workers.remote.bounds import MAX_STEPS, RunBounds
from workers.remote.probes.plan import Plan

Pair = tuple[str, str]


@dataclass(frozen=True)
class PinnedPlan:
    """The parts of a plan that count once the runner has it."""

    metrics: Mapping[Pair, str]
    """Metric of each series (probe, variant) whose repeats may end it."""
    rule: Mapping[Pair, StoppingRule]
    time_cap_s: float
    expected_s: float
    likely_s: float
    deadline_s: float
    versions: Mapping[str, str]
    """Version of each probe, with its parser."""
    hashes: Mapping[str, str] = field(default_factory=dict)
    """File on the target → sha256: programs and scripts."""
    step_count: int = MAX_STEPS

    @classmethod
    def of(cls, planned: Plan) -> "PinnedPlan":
        return cls(
            metrics={pair: series_of(*pair).metric for pair in planned.series},
            rule=dict(planned.rule),
            time_cap_s=planned.profile.time_cap_s,
            expected_s=planned.expected_s,
            likely_s=planned.likely_s,
            deadline_s=planned.deadline_s,
            versions={probe: PROBES[probe].version for probe, _, _ in planned.steps},
            step_count=len(planned.steps),
        )

    def document(self) -> dict[str, Any]:
        """As JSON."""
        rules = {
            pair: [rule.min_repeats, rule.max_repeats, rule.half_width_ratio]
            for pair, rule in self.rule.items()
        }
        return {
            "series": [[*pair, metric, rules.get(pair)] for pair, metric in self.metrics.items()],
            "time_cap_s": self.time_cap_s,
            "expected_s": self.expected_s,
            "likely_s": self.likely_s,
            "deadline_s": self.deadline_s,
            "versions": dict(self.versions),
            "hashes": dict(self.hashes),
            "step_count": self.step_count,
        }

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> "PinnedPlan":
        """From what `document` gave."""
        series = document["series"]
        return cls(
            **{name: value for name, value in document.items() if name != "series"},
            metrics={(probe, variant): metric for probe, variant, metric, _ in series},
            rule={
                (probe, variant): StoppingRule(*rule) for probe, variant, _, rule in series if rule
            },
        )

    @property
    def bounds(self) -> RunBounds:
        """How much the host may send, nothing counted yet."""
        return RunBounds.of(self.step_count, self.deadline_s)

    @property
    def probe_changes(self) -> list[str]:
        """Probes that are of another version now, each with both."""
        now = {name: probe.version for name, probe in PROBES.items()}
        return [
            f"{name} was begun as version {began} and is read as {now.get(name, 'unknown')}"
            for name, began in self.versions.items()
            if now.get(name) != began
        ]
