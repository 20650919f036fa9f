"""The charts of where the machines of a bill could go."""

from backend.bills.calc.elsewhere import Alternative
from backend.bills.calc.swings import Input, Swing
from backend.bills.pages.shown import TARGETS, cheapest
from backend.bills.selectors.elsewhere import Elsewhere
from backend.site import figures
from backend.site.language import _
from backend.site.plots import Axis, Mark, Plot

MOST_SWINGS = 8


def targets_plot(answer: Elsewhere) -> Plot | None:
    """Cost of each target with its bounds, beside today; None where nothing can be compared."""
    if not answer.alternatives:
        return None
    shown = sorted(answer.alternatives, key=lambda alternative: alternative.cost)
    costs = [swing.cost for swing in shown]
    return Plot(
        id="plot-targets",
        title=_("Today and elsewhere"),
        x_label=_("option"),
        x_kind="category",
        x=[TARGETS[alternative.target] for alternative in shown],
        is_flat=True,
        y=Axis(
            _("{currency} per month", currency=answer.currency),
            most=max(answer.today, *(alternative.p95 for alternative in shown)),
        ),
        marks=[
            Mark(
                _("cost"),
                costs,
                "bar",
                lows=[alternative.p5 for alternative in shown],
                highs=[alternative.p95 for alternative in shown],
            )
        ],
        range_words=(figures.percent(0.05), figures.percent(0.95)),
        lines=((answer.today, _("today")),),
        note=_("The dashed line is today’s cost; whiskers show the 90% range."),
        summary=_(
            "Bars of the cost a month: today {today}; ",
            today=figures.plain(round(answer.today)),
        )
        + "; ".join(
            f"{TARGETS[alternative.target]} {figures.plain(round(alternative.cost))} "
            f"({figures.plain(round(alternative.p5))} – {figures.plain(round(alternative.p95))})"
            for alternative in shown
        )
        + ".",
    )


def swing_words(swing: Swing) -> str:
    """The input in words."""
    match swing.input:
        case Input.SCORE:
            return _("score of {name}", name=swing.name)
        case Input.PRICE:
            return _("price of {name}", name=swing.name)
        case Input.STAFF:
            return _("staff per server")
        case Input.SPARES:
            return _("spare servers")


def _end(swing: Swing, value: float) -> str:
    is_factor = swing.input in {Input.PRICE, Input.STAFF}
    return f"× {figures.figure(value)}" if is_factor else figures.figure(value)


def swings_plot(answer: Elsewhere) -> Plot | None:
    """Inputs of the cheapest target's cost; None where there is none, or nothing moves it."""
    best: Alternative | None = cheapest(answer)
    if best is None or not best.swings:
        return None
    shown = best.swings[:MOST_SWINGS]
    ends = {
        _("at the low end"): [swing.cost_low for swing in shown],
        _("at the high end"): [swing.cost_high for swing in shown],
    }
    return Plot(
        id="plot-swings",
        title=_("What it depends on: {target}", target=TARGETS[best.target]),
        x_label=_("input"),
        x_kind="category",
        x=[swing_words(swing) for swing in shown],
        # Bars go from the cost as it is, which the dashed line shows, and not from zero.
        y=Axis(_("{currency} per month", currency=answer.currency), is_from_zero=False),
        marks=[
            Mark(label, costs, "span", lows=[best.cost] * len(costs), highs=costs, tone=tone)
            for tone, (label, costs) in enumerate(ends.items())
        ],
        is_flat=True,
        extra={
            _("low end"): [_end(swing, swing.low) for swing in shown],
            _("high end"): [_end(swing, swing.high) for swing in shown],
        },
        lines=((best.cost, ""),),
        note=_(
            "One input at its low and at its high end: scores at the ends of their 95% "
            "intervals, prices 10% and staff 50% up and down, a spare server more and "
            "fewer."
        ),
        summary=_("Cost a month at both ends of each input: ")
        + "; ".join(
            f"{swing_words(swing)} {figures.plain(round(swing.cost_low))} – "
            f"{figures.plain(round(swing.cost_high))}"
            for swing in shown
        )
        + ".",
    )
