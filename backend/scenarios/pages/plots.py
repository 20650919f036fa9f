"""Charts of a scenario over time and over money: data that the page's script draws.

Wherever an amount stands, the demand that is left unserved for it stands beside it.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from backend.scenarios.pages.figures import beside, share
from backend.site import figures
from backend.site.language import _
from backend.site.plots import Axis, Mark, Plot

# Fixed, so that demand and shortage look alike in every chart.
DEMAND_TONE, SERVING_TONE, UNSERVED_TONE = 5, 0, 1
# Options that a chart of lines can distinguish, beside the demand.
MOST_LINES = 5
MOST_BARS = 8
COMPONENTS = ("compute", "egress", "storage", "staff", "fixed", "setup")
Series = Mapping[str, Any]
Result = Mapping[str, Any]


# --- demand over time ---------------------------------------------------------------------------


def demand_plot(series: Series) -> Plot:
    """Demand, and what the servers of the first options carry, in the demand's unit."""
    unit = series["unit"]
    options = series["options"][:MOST_LINES]
    marks = [
        Mark(_("demand, {unit}", unit=unit), series["demand"], is_stepped=True, tone=DEMAND_TONE)
    ]
    marks += [
        Mark(f"{option['name']}, {unit}", option["carried"], is_stepped=True, tone=tone)
        for tone, option in enumerate(options)
    ]
    return _over_time("plot-demand", _("Demand and capacity"), series, marks)


def service_plot(series: Series, index: int) -> Plot:
    """Demand, servers in service and unserved demand of one option."""
    unit, option = series["unit"], series["options"][index]
    marks = [
        Mark(_("demand, {unit}", unit=unit), series["demand"], is_stepped=True, tone=DEMAND_TONE),
        Mark(
            _("carried, {unit}", unit=unit), option["carried"], is_stepped=True, tone=SERVING_TONE
        ),
        Mark(
            _("unmet, {unit}", unit=unit),
            option["unserved"],
            "area",
            is_stepped=True,
            tone=UNSERVED_TONE,
        ),
    ]
    extra = {
        _("servers in service"): [figures.quantity(n) for n in option["serving"]],
        _("servers billed"): [figures.quantity(n) for n in option["running"]],
    }
    title = _("Demand, servers and unmet demand: {option}", option=option["name"])
    return _over_time("plot-served", title, series, marks, extra)


def _over_time(
    name: str,
    title: str,
    series: Series,
    marks: Sequence[Mark],
    extra: Mapping[str, Sequence[str]] | None = None,
) -> Plot:
    times = [dt.datetime.fromisoformat(at) for at in series["t"]]
    others = [(max(v or 0 for v in mark.values), mark.label) for mark in marks[1:]]
    highest, label = max(others)
    return Plot(
        id=name,
        title=title,
        x_label=_("time (UTC)"),
        x_kind="time",
        x=[1000 * at.timestamp() for at in times],
        x_text=[f"{at:%Y-%m-%d %H:%M}" for at in times],
        y=Axis(series["unit"]),
        marks=marks,
        extra=extra or {},
        note=_(
            "Each point is the peak of {interval}.", interval=figures.interval(series["point_s"])
        ),
        summary=_(
            "{title}: steps over time. The demand goes up to {peak} {unit}; the highest of"
            " the other lines is {label} with {highest}.",
            title=title,
            peak=figures.quantity(max(series["demand"])),
            unit=series["unit"],
            label=label,
            highest=figures.quantity(highest),
        ),
    )


# --- the load-duration curve --------------------------------------------------------------------


def duration_plot(series: Series, index: int) -> Plot:
    """Servers of one option in falling order, the base and what comes beyond it as areas."""
    curve, unit = series["load_duration"], series["unit"]
    option = curve["options"][index]
    words = {"servers": _("always on"), "reservations": "reserved"}
    beyond = _("beyond it") if option["base_kind"] else _("as needed")
    marks = [Mark(beyond, _hold_last(option["burst"]), "area", tone=4)]
    if option["base_kind"]:
        marks.insert(
            0, Mark(words[option["base_kind"]], _hold_last(option["base"]), "area", tone=2)
        )
    marks += [
        Mark(
            _("demand, {unit}", unit=unit), _hold_last(curve["demand"]), axis="y2", tone=DEMAND_TONE
        ),
        Mark(
            _("unmet, {unit}", unit=unit),
            _hold_last(option["unserved"]),
            axis="y2",
            tone=UNSERVED_TONE,
        ),
    ]
    base, peak = option["base"][0], option["base"][0] + option["burst"][0]
    return Plot(
        id="plot-duration",
        title=_("Load-duration curve: {option}", option=option["name"]),
        x_label=_("share of the time, %"),
        x_kind="linear",
        x=[*(100 * at for at in curve["share"]), 100],
        y=Axis(_("servers")),
        y2=Axis(_("demand, {unit}", unit=unit)),
        marks=marks,
        is_stacked=True,
        note=_(
            "Sorted from the busiest to the quietest moment: the width shows how long each "
            "server is needed. Wide ones are cheaper by the month, narrow ones by the "
            "second."
        ),
        summary=_(
            "Load-duration curve of {option}: up to {peak} servers, of which {base} are the base.",
            option=option["name"],
            peak=figures.quantity(peak),
            base=figures.quantity(base),
        ),
    )


def _hold_last(values: Sequence[float]) -> list[float]:
    """Values up to 100 % of the time: the last one holds to the end."""
    return [*values, values[-1]]


# --- money --------------------------------------------------------------------------------------


def cost_plot(result: Result, currency: str) -> Plot:
    """Cost of each option by its components."""
    options = result["options"][:MOST_BARS]
    stack = _stack(
        "plot-cost",
        _("Cost by component"),
        [beside(option) for option in options],
        [option["breakdown"] for option in options],
        currency,
    )
    return replace(stack, x_label="option", is_flat=True)


def months_plot(series: Series, index: int) -> Plot:
    """Additions of each month to the bill of one option, by components."""
    rows = [(row["month"], row["options"][index]) for row in series["months"]]
    # Rounded up: one group too many would not fit.
    size = -(-len(rows) // MOST_BARS)
    groups = [rows[n : n + size] for n in range(0, len(rows), size)]
    # The worst of a group, not its mean: a month of outages must not vanish in a good quarter.
    shares = [share(max(option["unserved_share"] for _, option in group)) for group in groups]
    is_unmet = any(option["unserved_share"] for _, option in rows)
    words = _("Below each month: what stays unmet")
    spans = [_span(group[0][0], group[-1][0]) for group in groups]
    stack = _stack(
        "plot-months",
        _("Cost by month: {option}", option=rows[0][1]["name"]),
        [
            _("{span}, {unmet} unmet", span=span, unmet=unmet)
            for span, unmet in zip(spans, shares, strict=True)
        ]
        if is_unmet
        else spans,
        [_sums([option["breakdown"] for _, option in group]) for group in groups],
        series["currency"],
    )
    note = f"{words}." if size == 1 else _("{words} in the worst of them.", words=words)
    return replace(
        stack,
        x_label="month",
        note=note if is_unmet else "",
        x_text=[
            _("{first} to {last}", first=group[0][0], last=group[-1][0])
            if size > 1
            else group[0][0]
            for group in groups
        ],
        extra={**stack.extra, _("unmet"): shares},
    )


def _span(first: str, last: str) -> str:
    """Months as short lines: `Jan 2026`, or `Jan 2026, to Mar 2026`."""
    return (
        _month(first)
        if first == last
        else _("{first}, to {last}", first=_month(first), last=_month(last))
    )


def _month(text: str) -> str:
    return f"{dt.date.fromisoformat(f'{text}-01'):%b %Y}"


def _sums(breakdowns: Sequence[Mapping[str, str]]) -> dict[str, float]:
    return {name: sum(float(breakdown[name]) for breakdown in breakdowns) for name in COMPONENTS}


def _stack(
    name: str,
    title: str,
    heads: Sequence[str],
    amounts: Sequence[Mapping[str, Any]],
    currency: str,
) -> Plot:
    used = [part for part in COMPONENTS if any(float(amount[part]) for amount in amounts)] or [
        "compute"
    ]
    whole = [sum(float(amount[part]) for part in COMPONENTS) for amount in amounts]
    return Plot(
        id=name,
        title=title,
        x_label="",
        x_kind="category",
        x=heads,
        y=Axis(currency, most=max(whole)),
        marks=[
            Mark(
                part,
                [float(amount[part]) for amount in amounts],
                "bar",
                tone=COMPONENTS.index(part),
            )
            for part in used
        ],
        is_stacked=True,
        extra={_("total, {currency}", currency=currency): [figures.money(cost) for cost in whole]},
        summary=_("{title}, stacked bars in {currency}: ", title=title, currency=currency)
        + "; ".join(
            f"{head} {figures.money(cost)}" for head, cost in zip(heads, whole, strict=True)
        )
        + ".",
    )


def cash_plot(series: Series) -> Plot:
    """Payments by the end of each month, and with the cost of leaving then."""
    currency = series["currency"]
    options = [option["name"] for option in series["cash"][0]["options"]][:MOST_LINES]
    marks, extra = [], {}
    for index, name in enumerate(options):
        months = [row["options"][index] for row in series["cash"]]
        paid = [float(month["paid"]) for month in months]
        left = [float(month["paid"]) + float(month["exit"]) for month in months]
        marks.append(Mark(_("{name}, paid", name=name), paid, tone=index))
        # An option that may be left at any time owes nothing.
        if left != paid:
            marks.append(
                Mark(_("{name}, paid and owed on leaving", name=name), left, "dots", tone=index)
            )
        extra[f"{name}, unmet"] = [share(month["unserved_share"]) for month in months]
    last = series["cash"][-1]["options"][: len(options)]
    return Plot(
        id="plot-cash",
        title=_("Money spent, and exit cost"),
        x_label=_("by the end of the month"),
        x_kind="time",
        x=_month_ends(series),
        x_text=[row["month"] for row in series["cash"]],
        y=Axis(currency),
        marks=marks,
        extra=extra,
        note=_(
            "From the first day to the end of each month. Rings: including early-termination costs."
        ),
        summary=_(
            "Money spent by the end of each month in {currency}. At the end: ", currency=currency
        )
        + "; ".join(f"{beside(option)}, {figures.money(float(option['paid']))}" for option in last)
        + ".",
    )


def _month_ends(series: Series) -> list[float]:
    """Ends of the months in milliseconds; the last is that of the horizon."""
    last = dt.datetime.fromisoformat(series["t"][-1]) + dt.timedelta(seconds=series["point_s"])
    ends = []
    for row in series["cash"]:
        # In months since year 0, so that December leads on to January.
        year, month = divmod(12 * int(row["month"][:4]) + int(row["month"][5:]), 12)
        # The last month may be cut off by the end of the horizon.
        ends.append(min(dt.datetime(year, month + 1, 1, tzinfo=dt.UTC), last))
    return [1000 * end.timestamp() for end in ends]
