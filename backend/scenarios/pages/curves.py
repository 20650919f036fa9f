"""Cost against load as pictures, and in words which option is the cheapest from where to where."""

from collections.abc import Iterator
from typing import NamedTuple

from backend.scenarios.calc.cost_curves import CostCurve, CostLine
from backend.scenarios.pages.figures import currency_of, horizon_words, step_words
from backend.scenarios.pages.plots import MOST_LINES
from backend.scenarios.selectors.scenarios import Simulated, scenario_curves
from backend.site import figures
from backend.site.language import _
from backend.site.plots import Axis, Mark, Plot


class ShownCurve(NamedTuple):
    """A picture, and what it says of each option."""

    plot: Plot
    sentences: list[str]


class _Words(NamedTuple):
    """How the values of a curve read."""

    title: str
    axis: str
    # After a number, in a sentence.
    unit: str
    note: str
    # From a value of the curve to what is shown.
    factor: float


def visible_curves(outcome: Simulated) -> tuple[list[ShownCurve], str]:
    """The curves of a result and, where they are drawn in coarser steps than it, the length of
    those; InvalidDocument for one that is too large to calculate."""
    currency, span = currency_of(outcome), horizon_words(outcome.resolved)
    unit = str(outcome.resolved["demand"].get("unit", "units"))
    shown = []
    curves, step_s = scenario_curves(outcome.resolved)
    for curve in curves:
        # A day of one step has no hours to vary.
        if len(curve.at) > 1:
            words = _words(curve, unit)
            shown.append(
                ShownCurve(_plot(curve, words, currency, span), list(_sentences(curve, words)))
            )
    return shown, "" if step_s is None else step_words(step_s)


def _words(curve: CostCurve, unit: str) -> _Words:
    if curve.value == "load":
        return _Words(
            title=_("Cost against load"),
            axis=_("highest demand, {unit}", unit=unit),
            unit=unit,
            note=_(
                "The load grows or shrinks as a whole; its peak is {peak} {unit} as stated.",
                peak=figures.quantity(curve.peak),
                unit=unit,
            ),
            factor=curve.peak,
        )
    return _Words(
        title=_("Cost against hours a day at the peak"),
        axis=_("hours a day at the peak"),
        unit=_("hours a day"),
        note=_(
            "The peak of {peak} {unit} lasts so long each day, the lowest level the rest.",
            peak=figures.quantity(curve.peak),
            unit=unit,
        ),
        factor=1.0,
    )


def _plot(curve: CostCurve, words: _Words, currency: str, span: str) -> Plot:
    # The sentences below name all of them.
    lines = curve.lines[:MOST_LINES]
    return Plot(
        id=f"plot-{curve.value.replace('_', '-')}",
        title=words.title,
        x_label=words.axis,
        x_kind="linear",
        x=[float(at) * words.factor for at in curve.at],
        y=Axis(_("{currency} in {span}", currency=currency, span=span)),
        marks=[Mark(line.option, _costs(line)) for line in lines],
        note=_(
            "{note} A line is missing where the option does not serve the demand.", note=words.note
        ),
        summary=f"{words.title}: " + " ".join(_sentences(curve, words)),
    )


def _costs(line: CostLine) -> list[float | None]:
    pairs = zip(line.costs, line.serves, strict=True)
    # A cheap option that serves too little would otherwise be the lowest line.
    return [float(cost) if is_serving else None for cost, is_serving in pairs]


def _sentences(curve: CostCurve, words: _Words) -> Iterator[str]:
    """A sentence for each option, in the order of the stretches, then those that never win."""
    last = curve.stretches[-1]
    for stretch in curve.stretches:
        low, high = (
            f"{figures.quantity(float(end) * words.factor)}" for end in (stretch.low, stretch.high)
        )
        whole = stretch.low == curve.at[0] and stretch is last
        if whole:
            where = _("everywhere from {low} to {high} {unit}", low=low, high=high, unit=words.unit)
        elif stretch.low == curve.at[0]:
            where = _("below {high} {unit}", high=high, unit=words.unit)
        elif stretch is last:
            # Where the curve ends is not where the option ceases to win, so the bound is said.
            where = _(
                "above {low} {unit} (checked up to {high})", low=low, unit=words.unit, high=high
            )
        else:
            where = _("from {low} to {high} {unit}", low=low, high=high, unit=words.unit)
        if stretch.option is None:
            yield _("No option serves the demand {where}.", where=where)
        else:
            yield _("“{option}” is the cheapest {where}.", option=stretch.option, where=where)
    for line in curve.lines:
        if line.never is not None:
            yield _(
                "“{option}” is never the cheapest: {value}.",
                option=line.option,
                value=str(line.never).partition(": ")[2],
            )
