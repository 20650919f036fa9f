"""Two runs against each other, for gates on a regression: of the command line and of the API."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Any

from backend.benchmarks.calc.regression import HARDWARE, SOFTWARE, differing
from backend.benchmarks.calc.run_changes import MetricChange, RunChange, metric_change, overall
from backend.benchmarks.models import Run, RunState, Source
from backend.benchmarks.selectors.history import run_values
from backend.measure.metrics import METRICS, between_instance_cv

# The loss that counts unless another one is asked about.
LEAST_LOSS_RATIO = 0.05


class NotCompared(StrEnum):
    """Why a metric of two runs is not compared."""

    NOT_BEFORE = auto()
    NOT_AFTER = auto()
    DISTURBED_BEFORE = auto()
    DISTURBED_AFTER = auto()
    DISTURBED_BOTH = auto()
    OTHER_VARIANT = auto()


@dataclass(frozen=True)
class RunComparison:
    """Changes of the later of two runs; `differences` are those of host, profile and machine.

    `left_out` are metrics that were asked for or measured in both, without repeats that compare.
    """

    before: Run
    after: Run
    metrics: list[MetricChange]
    left_out: list[str]
    differences: list[str]
    outcome: RunChange

    @property
    def gate(self) -> tuple[RunChange, str]:
        """Outcome of a gate, with its reason.

        A run that broke off measured something, but nobody knows under which conditions.
        """
        unfinished = [run for run in (self.before, self.after) if run.state != RunState.DONE]
        if unfinished:
            return RunChange.UNCLEAR, ", ".join(f"{run.pk} is {run.state}" for run in unfinished)
        why = [metric.metric for metric in self.metrics if metric.outcome == self.outcome]
        if self.outcome == RunChange.UNCLEAR:
            why = [*why, *self.left_out] or ["no metric was measured in both"]
        return self.outcome, "" if self.outcome == RunChange.FINE else ", ".join(why)

    def document(self) -> dict[str, Any]:
        """As the command prints it and the API answers it."""
        gated, why = self.gate
        return {
            "before": str(self.before.pk),
            "after": str(self.after.pk),
            "outcome": self.outcome.name.lower(),
            "exit_code": gated.value,
            "why": why,
            "differences": self.differences,
            "left_out": self.left_out,
            "metrics": [
                {**vars(metric), "outcome": metric.outcome.name.lower()} for metric in self.metrics
            ],
        }


def run_comparison(
    before: Run, after: Run, *, least_loss_ratio: float, metrics: Collection[str] = ()
) -> RunComparison:
    """Every metric that both runs measured without disturbance, or those of `metrics` among them.

    Of a metric's variants the one that ranks is compared: each further one would be one more chance
    of a false alarm. A metric that is left out leaves unclear what would else be fine.
    """
    values = run_values([before, after])
    both = {
        key: next(
            (
                variant
                for variant in metric.ranking_variants
                if (before.pk, key, variant) in values and (after.pk, key, variant) in values
            ),
            None,
        )
        for key, metric in METRICS.items()
        if not metrics or key in metrics
    }
    chosen = {key: variant for key, variant in both.items() if variant is not None}
    offer = after.offer
    compared = [
        metric_change(
            METRICS[key],
            variant,
            values[before.pk, key, variant],
            values[after.pk, key, variant],
            # Two machines of a type differ by themselves; for one and the same nothing has to be
            # allowed.
            cv=0.0
            if before.host_id == after.host_id
            else between_instance_cv(METRICS[key], offer.vcpu_kind, offer.kind),
            # The more metrics are compared, the likelier one of them looks changed by chance.
            count=len(chosen),
            least_loss_ratio=least_loss_ratio,
        )
        for key, variant in chosen.items()
    ]
    left_out = sorted((set(metrics) or _metrics_of(before) & _metrics_of(after)) - set(chosen))
    outcome = overall(compared)
    if outcome == RunChange.FINE and left_out:
        outcome = RunChange.UNCLEAR
    return RunComparison(before, after, compared, left_out, _differences(before, after), outcome)


def _metrics_of(run: Run) -> set[str]:
    """Metrics of which the run has any figure that ranks, disturbed or not."""
    series = run.samples.filter(source=Source.MEASURED).values_list("metric", "variant")
    return {
        key
        for key, variant in series
        if key in METRICS and variant in METRICS[key].ranking_variants
    }


def _differences(before: Run, after: Run) -> list[str]:
    """Differences between the two other than the machine's speed."""
    return [
        f"{name}: {difference} → {other}"
        for name, difference, other in run_differences(before, after)
    ]


def run_differences(before: Run, after: Run) -> list[tuple[str, Any, Any]]:
    """Name and both values of host, profile, parameters and machine facts that differ."""
    given = [
        ("host", before.host.name, after.host.name),
        ("peer", before.peer_id, after.peer_id),
        ("profile", before.profile, after.profile),
        ("parameters", before.parameters, after.parameters),
    ]
    stated = [(name, old, other) for name, old, other in given if old != other]
    return [*stated, *differing(before.environment, after.environment, (*HARDWARE, *SOFTWARE))]


def metrics_left_out(before: Run, after: Run) -> list[tuple[str, NotCompared]]:
    """Each metric that either run has and that is not compared, and why."""
    values = run_values([before, after])
    counted = [{key for pk, key, _ in values if pk == run.pk} for run in (before, after)]
    measured = [_metrics_of(run) for run in (before, after)]
    left_out = []
    for key in sorted(measured[0] | measured[1]):
        lacking = [key not in each for each in measured]
        disturbed = [key not in each for each in counted]
        if any(lacking):
            left_out.append((key, NotCompared.NOT_BEFORE if lacking[0] else NotCompared.NOT_AFTER))
        elif all(disturbed):
            left_out.append((key, NotCompared.DISTURBED_BOTH))
        elif any(disturbed):
            why = NotCompared.DISTURBED_BEFORE if disturbed[0] else NotCompared.DISTURBED_AFTER
            left_out.append((key, why))
        elif not any(
            {(run.pk, key, variant) for run in (before, after)} <= values.keys()
            for variant in METRICS[key].ranking_variants
        ):
            left_out.append((key, NotCompared.OTHER_VARIANT))
    return left_out
