"""Repeats of a run gathered by metric and variant, and the charts that they are drawn as."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from backend.benchmarks.models import Sample
from backend.measure.stats import repeats_that_count
from backend.site import figures
from backend.site.language import _
from backend.site.plots import Axis, Mark, Plot, Values


@dataclass(frozen=True)
class RepeatSpread:
    """The repeats of one variant: those that count, and all that nobody left out."""

    samples: Sequence[Sample]
    shown: Sequence[Sample]

    @property
    def values(self) -> list[float]:
        return [sample.value for sample in self.samples]

    @property
    def middle(self) -> float:
        return float(median(self.values))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the repeat in the middle."""
        middle = self.middle
        # A real repeat and not a mean of several: its parameters belong together.
        nearest = min(self.samples, key=lambda s: abs(s.value - middle))
        return dict(nearest.parameters)


Spreads = Mapping[tuple[str, str], RepeatSpread]


def spreads(samples: Iterable[Sample]) -> dict[tuple[str, str], RepeatSpread]:
    """Samples by metric and variant, where a person left any in."""
    groups: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        if not sample.excluded_reason:
            groups.setdefault((sample.metric, sample.variant), []).append(sample)
    return {key: RepeatSpread(repeats_that_count(group)[0], group) for key, group in groups.items()}


def bars(
    label: str,
    spread: Sequence[RepeatSpread | None],
    tone: int,
    scale: figures.UnitScale | None = None,
) -> Mark:
    """Bars of medians; whiskers from the lowest to the highest where a test was repeated."""
    shown = scale.shown if scale else float
    # A whisker of a single value would look like certainty.
    is_repeated = any(s and len(s.samples) > 1 for s in spread)
    return Mark(
        label,
        [shown(s.middle) if s else None for s in spread],
        kind="bar",
        lows=[shown(min(s.values)) if s else None for s in spread] if is_repeated else None,
        highs=[shown(max(s.values)) if s else None for s in spread] if is_repeated else None,
        tone=tone,
    )


def over_time(
    lines: Mapping[str, Mapping[float, float | None]],
    scale: figures.UnitScale,
    *,
    id: str,  # noqa: A002  (the plot's own word)
    title: str,
    note: str,
) -> Plot | None:
    x = sorted({t for line in lines.values() for t in line})
    if len(x) < 2:
        return None
    marks = [Mark(label, [scale.shown(line.get(t)) for t in x]) for label, line in lines.items()]
    peaks = ", ".join(
        _("{label} up to {most}", label=m.label, most=figures.figure(most(m.values))) for m in marks
    )
    return Plot(
        id=id,
        title=title,
        x_label=_("seconds since the start"),
        x_kind="linear",
        x=x,
        y=Axis(scale.unit),
        marks=marks,
        summary=_(
            "Lines over {seconds} seconds, in {unit}: {peaks}.",
            seconds=figures.quantity(round(x[-1])),
            unit=scale.unit,
            peaks=peaks,
        ),
        note=note,
    )


def most(values: Values) -> float:
    return max((value for value in values if value is not None), default=0.0)
