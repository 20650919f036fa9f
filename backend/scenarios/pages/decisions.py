"""Charts for deciding between the options of a scenario: trade-offs, odds, what tips the scale."""

from collections.abc import Mapping, Sequence
from typing import Any

from backend.rankings.calc.pareto import pareto_indexes
from backend.scenarios.pages.figures import Option, beside, cost, share
from backend.scenarios.pages.plots import MOST_BARS
from backend.site import figures
from backend.site.language import _
from backend.site.plots import Axis, Mark, Plot


def pareto_plot(options: Sequence[Option], currency: str) -> Plot:
    """Cost against unmet demand, a sign for each option."""
    # One x for all marks: a chart has its x values once, so each option is a mark with a single value.
    ordered = sorted(options, key=cost)
    front = pareto_indexes([(cost(option), option["unserved_share"]) for option in ordered])
    line = {ordered[index]["name"] for index in front}
    marks = [
        Mark(
            option["name"],
            [100 * option["unserved_share"] if option is other else None for other in ordered],
            "dots",
            tone=tone,
        )
        for tone, option in enumerate(ordered)
    ]
    return Plot(
        id="plot-pareto",
        title=_("Cost against unmet demand"),
        x_label=_("cost, {currency}", currency=currency),
        x_kind="linear",
        x=[cost(option) for option in ordered],
        x_text=[
            f"{option['name']}, {figures.money(float(option['cost_total']))}" for option in ordered
        ],
        y=Axis(_("unmet, %")),
        marks=marks,
        extra={
            _("nothing is cheaper and serves as much"): [
                _("yes") if option["name"] in line else _("no") for option in ordered
            ]
        },
        note=_("Down and to the left is better."),
        summary=_("Cost against unmet demand: ")
        + "; ".join(
            f"{beside(option)}, {figures.money(float(option['cost_total']))} {currency}"
            for option in ordered
        )
        + ". "
        + _("Nothing beats {options}.", options=", ".join(sorted(line))),
    )


def odds_plot(options: Sequence[Option]) -> Plot | None:
    """How often each option is the cheapest; None without an uncertainty."""
    known = [option for option in options if option["p_cheapest"] is not None][:MOST_BARS]
    if not known:
        return None
    odds = [100 * option["p_cheapest"] for option in known]
    return Plot(
        id="plot-odds",
        title=_("How often each is the cheapest"),
        x_label="option",
        is_flat=True,
        x_kind="category",
        x=[beside(option) for option in known],
        y=Axis(_("simulations, %"), most=100),
        marks=[Mark(_("cheapest, simulations, %"), odds, "bar")],
        summary=_("Share of the simulations in which an option is the cheapest: ")
        + "; ".join(
            f"{option['name']} {figures.percent(odd / 100)}"
            for option, odd in zip(known, odds, strict=True)
        )
        + ".",
    )


def spread_plot(options: Sequence[Option], currency: str) -> Plot | None:
    """Median cost of each option with its 5th and 95th percentile."""
    known = [option for option in options if option["interval"] is not None][:MOST_BARS]
    if not known:
        return None

    def ends(end: str) -> list[float]:
        return [float(option["interval"][end]) for option in known]

    return Plot(
        id="plot-spread",
        title=_("Cost over the simulations"),
        x_label="option",
        is_flat=True,
        x_kind="category",
        x=[beside(option) for option in known],
        # Up to the ends of the whiskers: the axis would otherwise be made for the medians.
        y=Axis(currency, most=max(ends("p95"))),
        marks=[Mark(_("median"), ends("p50"), "bar", lows=ends("p5"), highs=ends("p95"))],
        range_words=(figures.percent(0.05), figures.percent(0.95)),
        note=_("Whiskers go from the 5th to the 95th percentile."),
        summary=_("Cost over the simulations in {currency}: ", currency=currency)
        + "; ".join(
            _(
                "{option} {median} ({low} to {high})",
                option=row["name"],
                median=figures.money(float(row["interval"]["p50"])),
                low=figures.money(float(row["interval"]["p5"])),
                high=figures.money(float(row["interval"]["p95"])),
            )
            for row in known
        )
        + ".",
    )


def tornado_plot(result: Mapping[str, Any], currency: str) -> Plot | None:
    """Cost of the cheapest option at the low and high end of each input; None without bars."""
    # The domain has them in order of their effect, so the first matter most.
    bars = result["tornado"][:MOST_BARS]
    if not bars:
        return None
    options = result["options"]
    # Results that were frozen before bars named their option have that of the least cost.
    named = bars[0].get("option") or min(options, key=cost)["name"]
    winner = next(option for option in options if option["name"] == named)

    return Plot(
        id="plot-tornado",
        title=_("Which input matters: {winner}", winner=winner["name"]),
        x_label="input",
        x_kind="category",
        x=[bar["input"] for bar in bars],
        # Bars go from the cost as stated, which the dashed line shows, and not from zero.
        y=Axis(currency, is_from_zero=False),
        marks=[
            _end_mark(_("at the low end"), bars, cost(winner), "low"),
            _end_mark(_("at the high end"), bars, cost(winner), "high"),
        ],
        is_flat=True,
        extra={
            _("low end"): [_factor(bar["low"]) for bar in bars],
            _("cheapest there"): [bar["winner_low"] for bar in bars],
            _("high end"): [_factor(bar["high"]) for bar in bars],
            _("cheapest at that end"): [bar["winner_high"] for bar in bars],
        },
        lines=((cost(winner), ""),),
        note=_(
            "Cost of {option} ({unmet} unmet as stated) with one input at its 5th and its 95th"
            " percentile; the dashed line is everything as stated.",
            option=winner["name"],
            unmet=share(winner["unserved_share"]),
        ),
        summary=_("Tornado of {winner} in {currency}: ", winner=winner["name"], currency=currency)
        + "; ".join(_ends_of(bar, winner["name"]) for bar in bars)
        + ".",
    )


def _end_mark(label: str, bars: Sequence[Mapping[str, Any]], start: float, end: str) -> Mark:
    """Bars from the cost as stated to that at one end of each input."""
    costs = [bar[f"cost_{end}"] for bar in bars]
    tone = 0 if end == "low" else 1
    return Mark(label, costs, "span", lows=[start] * len(bars), highs=costs, tone=tone)


def _factor(value: float) -> str:
    return f"× {figures.figure(value)}"


def _ends_of(bar: Mapping[str, Any], winner: str) -> str:
    """The costs at both ends of an input, and who wins there instead."""
    said = _(
        "{input} {low} to {high}",
        input=bar["input"],
        low=figures.money(bar["cost_low"]),
        high=figures.money(bar["cost_high"]),
    )
    others = [index for index in (bar["winner_low"], bar["winner_high"]) if index != winner]
    return said + _(", {option} wins at an end", option=others[0]) if others else said
