"""The requirements page: what is needed, and the cheapest whole servers that reach it."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from backend.accounts.services.acting import workspace_slug
from backend.benchmarks.services.current_data import current_stamp
from backend.catalog.selectors.data_version import DataStamp
from backend.catalog.selectors.rates import currencies
from backend.foundation.attributions import attributions
from backend.foundation.errors import InvalidDocument
from backend.rankings.calc.requirement_document import MOST_LIMIT, SIZES, RequirementDocument
from backend.rankings.pages.requirements.forms import RequirementForm
from backend.rankings.pages.requirements.lines import (
    conclusion,
    failure_groups,
    fleet_lines,
    headings,
)
from backend.rankings.selectors.coverage import licences_of, metrics_scored
from backend.rankings.selectors.default_metric import default_metric
from backend.rankings.selectors.requirement_document import FIELDS, document_from, target_pairs
from backend.rankings.selectors.requirements import RequirementAnswer, requirement_answered
from backend.site import state
from backend.site.access import readable
from backend.site.basis import basis_words
from backend.site.language import lazy
from backend.site.price_age import price_banner
from backend.site.typed_parameters import read_number, read_numbers

OWN = (*FIELDS, "target", "amount")
EXAMPLES = (
    (
        lazy("8 vCPUs and 32 GiB in Europe, on one server"),
        "?vcpu=8&ram_gib=32&region_group=europe&max_servers=1",
    ),
    (
        lazy("1,000,000 CoreMark and 256 GiB, types mixed"),
        "?target=coremark_score:1000000&ram_gib=256&max_servers=20&mixed=1",
    ),
)
COMPARED = 6


@readable
@require_safe
def requirements_page(request: HttpRequest) -> HttpResponse:
    """The form with what was typed; fleets and failures, or what is wrong beside its field."""
    given, unread = read_numbers(dict(request.GET.lists()))
    given, unread_amounts = _with_amounts(given)
    unread_filters = {name: detail for name, detail in unread if name not in OWN}
    filters = state.clean(
        {n: values for n, values in given.items() if n not in OWN and n not in unread_filters}
    )
    own = {name: given[name] for name in OWN if name in given}
    unread_fields = [(f"/{n}", detail) for n, detail in unread if n in OWN] + unread_amounts
    stamp, slug = current_stamp(), workspace_slug(request)
    errors: list[tuple[str, str]] = []
    answer = None
    # Without any demand the page is an empty form and not an error.
    if target_pairs(own) or any("".join(own.get(name, [])).strip() for name in SIZES):
        answer, errors = _answer(slug, stamp, own, filters)
    if unread_fields:
        # The document's reader takes 1.000 for one, so its answer is not what was asked.
        pointers = {pointer for pointer, _ in unread_fields}
        answer = None
        errors = [*unread_fields, *((at, why) for at, why in errors if at not in pointers)]
    errors = [*errors, *((f"/filters/{name}", detail) for name, detail in unread_filters.items())]
    wrong = {field.removeprefix("/filters/") for field, _ in errors}
    kept = {name: values for name, values in filters.items() if name not in wrong}
    form = RequirementForm(
        {**kept, **own},
        currencies=sorted(currencies()),
        scored=metrics_scored(),
        metric=default_metric(stamp, slug),
        errors=errors,
    )
    address = _canonical(own)
    context = {
        "form": form,
        "hidden": state.pairs(kept.keys() - {"term"}, kept),
        "chips": _chips(request.path, kept, address),
        "examples": [(text, request.path + query) for text, query in EXAMPLES],
        "answer": answer,
    }
    if answer is not None:
        context |= _results(answer, {**address, **kept}, request.path)
    return render(request, "requirements/page.html", context)


def _with_amounts(given: state.Params) -> tuple[state.Params, list[tuple[str, str]]]:
    """The amounts of targets as decimals, and what is wrong with those that are none."""
    amounts, errors = [], []
    for position, text in enumerate(given.get("amount", ())):
        try:
            amounts.append(read_number(text))
        except ValueError as error:
            amounts.append(text)
            metric = next(iter(given.get("target", ())[position:]), "")
            errors.append((f"/targets/{metric}", str(error)))
    return {**given, "amount": amounts} if amounts else given, errors


def _answer(
    workspace_slug: str, stamp: DataStamp, own: state.Params, filters: state.Params
) -> tuple[RequirementAnswer | None, list[tuple[str, str]]]:
    """The answer, and what is wrong: filters in error filter nothing, without a demand there is
    no answer."""
    try:
        document = RequirementDocument.read(document_from({**filters, **own}))
        return requirement_answered(document, workspace_slug=workspace_slug, stamp=stamp), []
    except InvalidDocument as error:
        errors = error.errors
    names = {field.removeprefix("/filters/") for field, _ in errors}
    if not names <= filters.keys():
        return None, errors
    kept = {name: values for name, values in filters.items() if name not in names}
    # Once more without the filters in error, as the ranking leaves those out that it cannot read.
    answer, more = _answer(workspace_slug, stamp, own, kept)
    return answer, [*errors, *more]


def _canonical(own: state.Params) -> state.Params:
    """The document's parameters that say something, its targets in one."""
    pairs = ",".join(f"{metric}:{amount}" for metric, amount in target_pairs(own))
    joined = {**own, "target": [pairs], "amount": []}
    said = {name: [v for v in values if v.strip()] for name, values in joined.items()}
    return {name: values for name, values in said.items() if values}


def _chips(path: str, filters: state.Params, own: state.Params) -> list[state.Chip]:
    """The filters in force, each with the link that takes it away and keeps the requirement."""
    query = state.encode(own).removeprefix("?")
    chips = []
    for chip in state.chips(filters, path):
        joint = "&" if "?" in chip.url else "?"
        chips.append(state.Chip(chip.label, chip.value, f"{chip.url}{joint}{query}"))
    return chips


def _results(answer: RequirementAnswer, params: state.Params, path: str) -> dict[str, Any]:
    rows = [row for line in answer.fleets for row, _ in line.servers]
    # A type may stand in several fleets; the comparison takes each once.
    best = list(dict.fromkeys(row.offer_id for row in rows))[:COMPARED]
    without_limit = {name: values for name, values in params.items() if name != "limit"}
    selectors = {n: v for n, v in params.items() if n in state.SELECTORS}
    # The comparison is of one metric: that of the first target.
    for metric in list(answer.asked.targets)[:1]:
        selectors.setdefault("metric", [metric])
    is_more = len(answer.fleets) < min(answer.fleet_count, MOST_LIMIT)
    return {
        "conclusion": conclusion(answer),
        "fleets": fleet_lines(answer),
        "headings": headings(answer),
        "groups": failure_groups(answer),
        "age": price_banner(rows),
        "basis": [state.parts_words(params), *basis_words(params, rows)],
        "currency": answer.query.currency,
        "exports": {
            kind: reverse("api:requirements") + f".{kind}{state.encode(params)}"
            for kind in ("csv", "xlsx", "json")
        },
        "more_url": path + state.encode({**without_limit, "limit": [str(MOST_LIMIT)]})
        if is_more
        else "",
        "compare_url": reverse("compare") + state.encode({**selectors, "o": [",".join(best)]})
        if len(best) > 1
        else "",
        "best_gap": _gap(answer),
        "attributions": attributions(licences_of(answer.asked.targets)),
    }


def _gap(answer: RequirementAnswer) -> float | None:
    """How far below the first fleet a cheaper one could be, as a ratio; None: none can be."""
    if answer.floor is None or not answer.fleets:
        return None
    return float(1 - answer.floor / answer.fleets[0].cost_per_month)
