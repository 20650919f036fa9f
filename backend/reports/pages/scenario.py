"""The sheet of a scenario: its options, what was demanded, and what was assumed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from backend.foundation.attributions import attributions
from backend.reports.pages.sheet import Sheet, SheetColumn, bar, bar_chart, bar_words, some
from backend.scenarios.calc.conclusion import conclude
from backend.scenarios.calc.ready_options import options_with_examples
from backend.scenarios.models import Scenario
from backend.scenarios.pages.figures import (
    cost,
    currency_of,
    horizon_words,
    mark_options,
    share,
    value_text,
)
from backend.scenarios.pages.page import assumption_rows
from backend.scenarios.selectors.scenarios import Simulated
from backend.site import figures
from backend.site.language import _

MOST_OPTIONS = 10


def scenario_sheet(scenario: Scenario, outcome: Simulated) -> Sheet:
    """The options, those first that serve the demand, each time the cheapest first."""
    result, currency = outcome.result, currency_of(outcome)
    span = horizon_words(outcome.resolved)
    options = mark_options(result["options"], outcome)
    # Those that serve too little come last however cheap they are.
    shown = sorted(options, key=lambda option: (option["is_short"], cost(option)))[:MOST_OPTIONS]
    price_per_unserved = outcome.resolved.get("price_per_unserved_unit_hour")
    return Sheet(
        conclusion=conclude(
            result, currency, span, price_per_unserved, options_with_examples(outcome.resolved)
        ),
        chart=_chart(shown, currency, span),
        columns=[
            SheetColumn(_("Option"), 2.6),
            SheetColumn(
                _("Cost, {currency} in {span}", currency=currency, span=span), 1.9, is_number=True
            ),
            SheetColumn(_("Cost, {currency} per month", currency=currency), 1.4, is_number=True),
            SheetColumn(_("Unmet demand"), 1.2, is_number=True),
            SheetColumn(_("Servers at most"), 1.1, is_number=True),
            SheetColumn(_("Use"), 0.9, is_number=True),
            SheetColumn(_("Notes"), 2.2),
        ],
        rows=[_row(option) for option in shown],
        facts=list(_facts(scenario, outcome, len(shown))),
    )


def _chart(options: Sequence[Mapping[str, Any]], currency: str, span: str) -> dict[str, Any]:
    bars = [bar(option["name"], cost(option), _spread(option)) for option in options]
    summary = _(
        "Bars of the cost of each option in {currency}, lower is better: {said}.",
        currency=currency,
        said=bar_words(bars),
    )
    # From the 5th to the 95th percentile.
    interval = _("90% range")
    return bar_chart(_("Cost in {span}", span=span), currency, bars, summary, interval=interval)


def _spread(option: Mapping[str, Any]) -> tuple[float, float] | None:
    spread = option["interval"]
    return (float(spread["p5"]), float(spread["p95"])) if spread else None


def _row(option: Mapping[str, Any]) -> list[str]:
    spread = _spread(option)
    use = option["utilisation"]
    contract = option.get("contract")
    notes = [
        _(
            "expected cost {cost}",
            cost=figures.money(float(contract["expected_cost"])),
        )
        if contract
        else "",
        "cheapest" if option["is_cheapest"] else "",
        _("insufficient capacity") if option["is_short"] else "",
        _("cheapest in {share} of the simulations", share=figures.percent(option["p_cheapest"]))
        if option["p_cheapest"] is not None
        else "",
    ]
    return [
        option["name"],
        figures.money(cost(option))
        + (f"\n{figures.money(spread[0])} – {figures.money(spread[1])}" if spread else ""),
        figures.money(float(option["cost_per_month"])),
        share(option["unserved_share"]),
        figures.quantity(option["peak_servers"]),
        _("none") if use is None else figures.percent(use),
        ", ".join(filter(None, notes)),
    ]


def _facts(scenario: Scenario, outcome: Simulated, shown: int) -> Iterator[tuple[str, str]]:
    result, demand = outcome.result, outcome.result["demand"]
    mean, peak, hours = (figures.quantity(demand[key]) for key in ("mean", "peak", "unit_hours"))
    yield (
        _("Demand"),
        _(
            "{mean} on average, {peak} at the peak, {hours} unit-hours in {span}",
            mean=mean,
            peak=peak,
            hours=hours,
            span=horizon_words(outcome.resolved),
        ),
    )
    if len(result["options"]) > shown:
        yield (
            _("Options"),
            _("{shown} of {count} shown", shown=shown, count=len(result["options"])),
        )
    rows = assumption_rows(scenario, outcome)
    sources = result["assumptions"]
    prices = [row for row in rows if row["name"].startswith("price, ")]
    known = {*(source["name"] for source in sources), "currency"}
    others = [
        row
        for row in rows
        # How long it is stands in the sentence.
        if row not in prices and row["name"] not in known and not row["name"].startswith("horizon,")
    ]
    yield _("Prices"), some([_row_words(price) for price in prices])
    if sources:
        yield (
            _("Sources and limits"),
            some([f"{_row_words(source)} ({source['source']})" for source in sources]),
        )
    for attribution in attributions(source["source"] for source in sources):
        yield attribution.figures, attribution.text
    for words, is_stated in ((_("Stated"), True), (_("Assumed"), False)):
        said = [_row_words(row) for row in others if row["is_stated"] == is_stated]
        if said:
            yield words, some(said)
    if any(option["interval"] for option in result["options"]):
        yield (
            _("Ranges"),
            _("from the 5th to the 95th percentile of the simulations of all uncertain inputs"),
        )
    yield (
        _("Calculation"),
        _(
            "input {sha256}, engine {version}",
            sha256=result["input_sha256"][:12],
            version=result["engine_version"],
        ),
    )


def _row_words(row: Mapping[str, Any]) -> str:
    name = row["name"].removeprefix("price, ").replace("_", " ")
    return " ".join(filter(None, (name, value_text(row["value"]), row["unit"])))
