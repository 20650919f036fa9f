"""The storage page: who gets what of shared links, what disks make an array, empty channels."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from backend.domain.conclusions import Conclusion
from backend.domain.facts import JOBS, SERVERS
from backend.web.shared import state
from backend.web.shared.access import readable
from backend.web.storage.examples import EXAMPLES
from backend.web.storage.fields import Given
from backend.web.storage.forms import ArrayForm, MemoryForm
from backend.web.storage.lines import (
    array_document,
    array_summary,
    chain_document,
    conclusion,
    flow_lines,
    level_lines,
    lines_of_measurements,
    link_lines,
    memory_summary,
    memory_warnings,
    module_lines,
    shares_by_source,
    space_lines,
    speed_sources,
    summary,
)
from backend.web.storage.link_forms import LinksForm
from backend.web.storage.market import Market, best_by, with_disk
from backend.web.storage.plots import level_plots, links_plot

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "links": LinksForm.names,
    "arrays": tuple(ArrayForm.base_fields),
    "memory": tuple(MemoryForm.base_fields),
}
# What offers are ranked by beside the part; arrays lead to offers by their space.
METRIC_OF = {"links": "net_tcp_bits_per_s", "memory": "memory_bandwidth_bytes_per_s"}


@readable
@require_safe
def storage_page(request: HttpRequest) -> HttpResponse:
    """Three forms in one address: each keeps what the others were sent with."""
    given = {name: request.GET.getlist(name) for name in request.GET}
    own = {
        section: {name: given[name] for name in names if name in given}
        for section, names in SECTIONS.items()
    }
    # A section that the address does not state shows its first example: an empty page explains nothing.
    stated = {section: own[section] or EXAMPLES[section][0][1] for section in SECTIONS}
    known = {name for names in SECTIONS.values() for name in names}
    calculated = {
        "links": _links(stated["links"]),
        "arrays": _arrays(stated["arrays"], own, request.path),
        "memory": _memory(stated["memory"]),
    }
    # What the address states is unfolded, else the first part: three calculators at once are a wall.
    opened = {name for name in SECTIONS if own[name]} or {next(iter(SECTIONS))}
    for name in opened:
        calculated[name] |= {"is_open": True, "market": _market(request, name, calculated[name])}
    parts = {name: part | _around(name, own, request.path) for name, part in calculated.items()}
    # What was stated comes before the examples.
    in_order = sorted(parts.values(), key=lambda part: bool(part["is_example"]))
    context = {
        **parts,
        "unknown": sorted(given.keys() - known),
        "conclusion": _conclusion(in_order),
        "speeds": speed_sources(),
        "seen": shares_by_source(),
        "jobs": JOBS,
        "servers": SERVERS,
    }
    return render(request, "storage/page.html", context)


def _market(request: HttpRequest, section: str, part: Mapping[str, Any]) -> Market | None:
    """Offers' figures for it; None of an array that was not calculated."""
    if section in METRIC_OF:
        return best_by(request, METRIC_OF[section])
    estimate = part.get("estimate")
    return with_disk(request, estimate.capacity.usable_bytes) if estimate else None


def _conclusion(parts: Sequence[Mapping[str, Any]]) -> Conclusion | None:
    """None where the first part is wrong: an example's sentence would pass for its result."""
    said = [part["summary"] for part in parts if "summary" in part]
    return conclusion(said) if "summary" in parts[0] else None


def _around(section: str, own: Mapping[str, Given], path: str) -> dict[str, Any]:
    """Where a section's form leads to, what it carries along, and its examples."""
    others = {
        n: list(v) for key, params in own.items() if key != section for n, v in params.items()
    }
    return {
        "action": f"{path}#{section}",
        "hidden": [(name, value) for name, values in others.items() for value in values],
        "examples": [
            (label, _address(path, {**others, **example}, section))
            for label, example in EXAMPLES[section]
        ],
        "is_example": not own[section],
    }


def _address(path: str, params: Given, section: str) -> str:
    query = state.encode({name: list(values) for name, values in params.items()})
    return f"{path}{query}#{section}"


def _links(given: Given) -> dict[str, Any]:
    form = LinksForm(given)
    chain = form.solve()
    if chain is None:
        return {"form": form}
    links = link_lines(chain)
    asked = [line.cleaned_data["asks"] for line in form.flows]
    flows = flow_lines(chain, links, [None if value is None else float(value) for value in asked])
    return {
        "form": form,
        "summary": summary(links, flows),
        "links": links,
        "flows": flows,
        "move": form.total.cleaned_data["move"],
        "document": json.dumps(chain_document(chain, form.transfer_bytes), indent=1),
        "plot": links_plot(chain, links, flows) if links else None,
    }


def _arrays(given: Given, own: Mapping[str, Given], path: str) -> dict[str, Any]:
    form = ArrayForm(given)
    solved = form.solve()
    if solved is None:
        return {"form": form}
    array, estimate = solved
    others = {n: v for key, params in own.items() if key != "arrays" for n, v in params.items()}

    def url_of(**changes: str) -> str:
        # What other sections were sent with stays in the link: a click must not empty them.
        changed = {**others, **given, **{name: [value] for name, value in changes.items()}}
        return _address(path, changed, "arrays")

    levels = level_lines(array, form.used_ratio, form.rules, url_of)
    label = next(level.label for level in levels if level.key == array.level)
    return {
        "form": form,
        "array": array,
        "summary": array_summary(label, array, estimate),
        "estimate": estimate,
        "space": space_lines(estimate),
        "measured": lines_of_measurements(
            estimate, form.measured("seen_read"), form.measured("seen_write")
        ),
        "levels": levels,
        "document": json.dumps(array_document(array, form.used_ratio, form.generation), indent=1),
        "plots": level_plots(levels),
    }


def _memory(given: Given) -> dict[str, Any]:
    form = MemoryForm(given)
    solved = form.solve()
    if solved is None:
        return {"form": form}
    memory, population = solved
    return {
        "form": form,
        "memory": memory,
        "summary": memory_summary(population),
        "population": population,
        "warnings": memory_warnings(memory, population),
        "modules": module_lines(memory, population),
    }
