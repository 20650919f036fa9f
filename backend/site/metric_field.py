"""The choice of a metric: our own first, of others those that any offer has a figure for."""

from collections.abc import Iterable, Set
from typing import Any

from django import forms

from backend.measure.metrics import METRICS, OWN_METRICS
from backend.site import words
from backend.site.language import _

Group = tuple[str, list[tuple[str, str]]]


def metrics_offered(scored: Set[str], chosen: Iterable[str]) -> list[str]:
    """Keys worth a choice, in their order: ours, those with figures, and what is chosen anyway."""
    # Of the others there are many without a single figure, whose ranking would be empty.
    offered = OWN_METRICS | scored | set(chosen)
    return [key for key in METRICS if key in offered]


class MetricSelect(forms.Select):
    """A menu of metrics in groups: those without any figure stand last and lead nowhere."""

    def __init__(self, scored: Set[str], chosen: str) -> None:
        super().__init__(choices=metric_groups(scored, chosen))
        self.without_data = METRICS.keys() - scored - {chosen}

    def create_option(self, name: str, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        option = super().create_option(name, value, *args, **kwargs)
        if value in self.without_data:
            option["attrs"]["disabled"] = True
        return option


def metric_groups(scored: Set[str], chosen: str) -> list[Group]:
    """The choices of a select in groups; a value that is no metric is offered by its own name."""
    keys = metrics_offered(scored, [chosen])
    with_data = [key for key in keys if key in scored or key == chosen]
    groups = [
        (_("Measured by our probes"), [key for key in with_data if key in OWN_METRICS]),
        (_("From other suites"), [key for key in with_data if key not in OWN_METRICS]),
        ("", [chosen] if chosen not in METRICS else []),
        (_("No data yet"), [key for key in keys if key not in with_data]),
    ]
    return [(label, [(key, words.metric(key)) for key in of]) for label, of in groups if of]
