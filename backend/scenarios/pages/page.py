"""The page of a scenario: figures of each option, charts, what was assumed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from backend.core.work import calculation, most_steps
from backend.foundation.attributions import attributions
from backend.foundation.documents.model import every_field
from backend.foundation.errors import InvalidDocument
from backend.scenarios.calc.conclusion import conclude
from backend.scenarios.calc.document import ScenarioDocument
from backend.scenarios.calc.price_document import UNITS_OF_BILLINGS
from backend.scenarios.calc.ready_options import options_with_examples
from backend.scenarios.calc.regimes import PRICES, regimes
from backend.scenarios.calc.work import ADVICE, MOST_MAP_WORK, check_map_work, coarsen
from backend.scenarios.models import Scenario
from backend.scenarios.pages import decisions, plots
from backend.scenarios.pages.figures import (
    currency_of,
    horizon_words,
    is_shorter_than_a_month,
    mark_options,
    share,
    step_words,
    value_text,
)
from backend.scenarios.pages.span import DEFAULT_SPAN, SPANS, series_of_worst_span
from backend.scenarios.selectors.scenarios import (
    Simulated,
    scenario_by_slug,
    scenario_series,
    simulate_document,
)
from backend.site import figures
from backend.site.language import _
from backend.site.plots import MOST_POINTS, Plot

MOST_COMPARED = 8
PRICED = frozenset({"amount", "currency", "unit", "billing"})
TONES = 6


def result_context(scenario: Scenario, *, option: str, span: str) -> dict[str, Any]:
    """Everything that the page shows; InvalidDocument where the scenario has no result."""
    outcome = scenario_outcome(scenario)
    result, currency = outcome.result, currency_of(outcome)
    options = result["options"]
    shown = mark_options(options, outcome)
    index = _option_index(option, shown)
    # Once for the whole page: each call simulates.
    series = scenario_series(scenario, most_points=MOST_POINTS)
    # A word that no longer exists comes from an old link, which still deserves a page.
    span = span if span in SPANS else DEFAULT_SPAN
    near = series_of_worst_span(scenario, series, index, span)
    return {
        "result": result,
        "currency": currency,
        "options": shown,
        "chosen": index,
        "chosen_name": options[index]["name"],
        "spans": SPANS.items(),
        "span": span,
        "over_time": [plots.service_plot(near, index), plots.duration_plot(series, index)],
        "conclusion": conclude(
            result,
            currency,
            horizon_words(outcome.resolved),
            outcome.resolved.get("price_per_unserved_unit_hour"),
            options_with_examples(outcome.resolved),
        ),
        "is_extrapolated": is_shorter_than_a_month(outcome.resolved),
        "remarks": outcome.resolved["demand"].get("remarks") or (),
        "money": _money(result, series, index, currency),
        "deciding": deciding(result, currency),
        "has_spread": any(option["interval"] for option in options),
        "has_contract": any(option.get("contract") for option in options),
        "assumed": assumption_rows(scenario, outcome),
        "attributions": attributions(assumption["source"] for assumption in result["assumptions"]),
    }


def _money(
    result: Mapping[str, Any], series: Mapping[str, Any], index: int, currency: str
) -> list[Plot]:
    """The charts of what is paid; a single month has nothing to show over time."""
    money = [plots.cost_plot(result, currency)]
    if len(series["months"]) > 1:
        money += [plots.months_plot(series, index), plots.cash_plot(series)]
    return money


def scenario_outcome(scenario: Scenario) -> Simulated:
    """Result and plain document, of a frozen one as they were."""
    # A frozen one is never calculated anew: the catalog and the arithmetic have changed since.
    if scenario.result is None or scenario.resolved is None:
        return simulate_document(scenario.document, workspace_slug=scenario.workspace.slug)
    return Simulated(scenario.result, scenario.resolved, scenario.data_version or 0)


def deciding(result: Mapping[str, Any], currency: str) -> list[Plot]:
    """The charts for choosing between the options."""
    options = result["options"]
    plots_made = [
        _unmet_plot(options, currency),
        decisions.odds_plot(options),
        decisions.spread_plot(options, currency),
        decisions.tornado_plot(result, currency),
    ]
    return [plot for plot in plots_made if plot is not None]


def _unmet_plot(options: Sequence[Mapping[str, Any]], currency: str) -> Plot | None:
    """Cost against unmet demand; None where no option leaves any."""
    is_any_unmet = any(option["unserved_share"] for option in options)
    return decisions.pareto_plot(options, currency) if is_any_unmet else None


def _option_index(chosen: str, options: Sequence[Mapping[str, Any]]) -> int:
    """The option that an address names by its number, else the cheapest."""
    if chosen.isascii() and chosen.isdecimal() and len(chosen) < 4 and int(chosen) <= len(options):
        return max(1, int(chosen)) - 1
    return next((n for n, option in enumerate(options) if option["is_cheapest"]), 0)


# --- assumptions --------------------------------------------------------------------------------


# Fields of a document that assume nothing.
NAMES = frozenset({"/schema", "/name"})


def assumption_rows(scenario: Scenario, outcome: Simulated) -> list[dict[str, Any]]:
    """The ledger: what was assumed, the prices, what the document states, defaults with sources."""
    document = scenario.document
    rows = [{**assumption, "is_stated": False} for assumption in outcome.result["assumptions"]]
    rows += list(_prices(outcome.resolved))
    names = {row["name"] for row in rows}
    kinds = _kinds(document)
    for path, field in every_field(ScenarioDocument):
        if (
            path in NAMES
            or "*" in path
            or field.model is not None
            or field.element is not None
            or path.count("/") > 2
        ):
            continue
        value = _at(document, path)
        is_stated = value is not None and not isinstance(value, list | dict) and field.name != "csv"
        is_idle = bool(field.value.when) and not kinds.intersection(field.value.when)
        if is_idle or field.name in names or not (is_stated or field.default is not None):
            continue
        rows.append(
            {
                "name": path.removeprefix("/").replace("/", ", ").replace("_", " "),
                "value": value if is_stated else str(field.default),
                "unit": field.value.unit,
                "source": str(field.value.meaning)
                + (
                    ""
                    if is_stated
                    else _(
                        ". Not stated: the default. {source}", source=field.value.source
                    ).rstrip()
                ),
                "is_stated": is_stated,
            }
        )
    return rows


def _prices(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The price of each part, as it is calculated with."""
    for option in document["options"]:
        for part in option["parts"]:
            price = part["price"]
            if price.get("amount") is None:
                continue
            terms = {name: value for name, value in price.items() if name not in PRICED}
            more = ", ".join(
                f"{name.replace('_', ' ')} {value_text(value)}" for name, value in terms.items()
            )
            yield {
                "name": _(
                    "price, {option}, {role}", option=option["name"], role=part.get("role", "all")
                ),
                "value": price["amount"],
                "unit": f"{price.get('currency', '')}/{UNITS_OF_BILLINGS[price['billing']]}",
                "source": _("billed {price}", price=price["billing"]).replace("_", " ")
                + (more and f"; {more}"),
                "is_stated": True,
            }


def _kinds(document: Mapping[str, Any]) -> set[str]:
    """The kinds of demand and policy in force: fields of others do not count."""
    said = (document.get(of) or {} for of in ("demand", "policy"))
    return {str(price.get("kind") or "perfect") for price in said}


def _at(values: Any, path: str) -> Any:
    for name in path.removeprefix("/").split("/"):
        values = values.get(name) if isinstance(values, Mapping) else None
    return values


# --- the break-even map --------------------------------------------------------------------------


def map_context(scenario: Scenario) -> dict[str, Any]:
    """Which option is the cheapest at other prices and shapes; InvalidDocument for one
    that has none or is too large."""
    outcome = scenario_outcome(scenario)
    most = most_steps(MOST_MAP_WORK)
    document, step_s = coarsen(outcome.resolved, lambda document: check_map_work(document, most))
    steps = check_map_work(document, most)
    with calculation(steps, advice=ADVICE) as check:
        # The check ends it within the caller's time, between two simulations.
        lines = regimes(document, check)
    tones = {option["name"]: n % TONES for n, option in enumerate(outcome.result["options"])}
    currency = currency_of(outcome)
    rows = [
        {
            "head": figures.quantity(row.peak_to_mean),
            "is_stated": row.is_stated,
            "cells": [
                {
                    "option": cell.option,
                    "tone": tones[cell.option],
                    "cost": figures.money(float(cell.cost)),
                    "unmet": share(cell.unserved_share) if cell.unserved_share else "",
                    "is_stated": row.is_stated and factor == 1,
                }
                for factor, cell in zip(PRICES, row.cells, strict=True)
            ],
        }
        for row in lines
    ]
    heads = [figures.quantity(float(factor)) for factor in PRICES]
    return {
        "heads": heads,
        "rows": rows,
        "currency": currency,
        "coarser": None if step_s is None else step_words(step_s),
        "examples": options_with_examples(outcome.resolved),
    }


# --- several scenarios --------------------------------------------------------------------------


def comparison(slugs: Sequence[str], *, workspace_slug: str) -> dict[str, Any]:
    """The options of several scenarios, side by side; what has no result is explained in words."""
    lines: list[dict[str, Any]] = []
    problems = (
        [_("At most {most} are compared.", most=MOST_COMPARED)]
        if len(slugs) > MOST_COMPARED
        else []
    )
    currencies: set[str] = set()
    for slug in slugs[:MOST_COMPARED]:
        scenario = scenario_by_slug(workspace_slug, slug)
        if scenario is None:
            name = slug[:80].replace("\0", "\N{REPLACEMENT CHARACTER}")
            problems.append(_("No scenario is called {name}.", name=name))
            continue
        try:
            outcome = scenario_outcome(scenario)
        except InvalidDocument as error:
            problems.append(
                _("{name} has no result any more: {error}", name=scenario.name, error=error)
            )
            continue
        currencies.add(currency_of(outcome))
        lines += [
            {**option, "scenario": scenario, "currency": currency_of(outcome)}
            for option in mark_options(outcome.result["options"], outcome)
        ]
    named = [  # a month's cost, for the horizons need not be of one length
        {
            **line,
            "name": f"{line['scenario'].name}: {line['name']}",
            "cost_total": line["cost_per_month"],
        }
        for line in lines
    ]
    plot = None
    # Amounts in different currencies are not put on one axis.
    if len(currencies) == 1:
        plot = _unmet_plot(named, _("{currency} per month", currency=currencies.pop()))
    return {"lines": lines, "problems": problems, "plot": plot}
