"""The storage page: who gets what of shared links, what disks make an array, empty channels."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from backend.calculators.calc.presets import EFFICIENCIES, PRESETS
from backend.calculators.pages import arrays, links, memory
from backend.calculators.pages.examples import EXAMPLES
from backend.calculators.pages.fields import MB, Given
from backend.calculators.pages.market import Market, best_by, with_disk
from backend.foundation.facts import JOBS, SERVERS
from backend.rankings.calc.conclusions import Certainty, Conclusion
from backend.site import state
from backend.site.access import readable

SECTIONS: Mapping[str, tuple[str, ...]] = {
    "links": links.LinksForm.names,
    "arrays": tuple(arrays.ArrayForm.base_fields),
    "memory": tuple(memory.MemoryForm.base_fields),
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

    def address(section: str, params: Given) -> str:
        # What other sections were sent with stays in the link: a click must not empty them.
        kept = _of_others(section, own) | {name: list(values) for name, values in params.items()}
        return f"{request.path}{state.encode(kept)}#{section}"

    def array_address(changes: Mapping[str, str]) -> str:
        changed = {name: [value] for name, value in changes.items()}
        return address("arrays", {**stated["arrays"], **changed})

    parts = {
        "links": links.calculate(stated["links"]),
        "arrays": arrays.calculate(stated["arrays"], array_address),
        "memory": memory.calculate(stated["memory"]),
    }
    # What the address states is unfolded, else the first part: three calculators at once are a wall.
    opened = {name for name in SECTIONS if own[name]} or {next(iter(SECTIONS))}
    for name, part in parts.items():
        if name in opened:
            part |= {"is_open": True, "market": _market(request, name, part)}
        part |= {
            "action": f"{request.path}#{name}",
            "hidden": [
                (param, value)
                for param, values in _of_others(name, own).items()
                for value in values
            ],
            "examples": [(label, address(name, example)) for label, example in EXAMPLES[name]],
            "is_example": not own[name],
        }
    known = {name for names in SECTIONS.values() for name in names}
    context = {
        **parts,
        "unknown": sorted(given.keys() - known),
        "conclusion": _conclusion(parts),
        "speeds": [(each.label, each.bytes_per_s / MB, each.source) for each in PRESETS.values()],
        "seen": [
            arrays.Measured(
                each.label,
                each.expected_bytes_per_s / MB,
                each.measured_bytes_per_s / MB,
                each.source,
            )
            for each in EFFICIENCIES.values()
        ],
        "jobs": JOBS,
        "servers": SERVERS,
    }
    return render(request, "storage/page.html", context)


def _of_others(section: str, own: Mapping[str, Given]) -> dict[str, list[str]]:
    """Parameters that the other sections were sent with."""
    return {
        name: list(values)
        for other, params in own.items()
        if other != section
        for name, values in params.items()
    }


def _market(request: HttpRequest, section: str, part: Mapping[str, Any]) -> Market | None:
    """Offers' figures for it; None of an array that was not calculated."""
    if section in METRIC_OF:
        return best_by(request, METRIC_OF[section])
    estimate = part.get("estimate")
    return with_disk(request, estimate.capacity.usable_bytes) if estimate else None


def _conclusion(parts: Mapping[str, Mapping[str, Any]]) -> Conclusion | None:
    """The first part of the page that was calculated, the others below it."""
    # What was stated comes before the examples.
    in_order = sorted(parts.values(), key=lambda part: bool(part["is_example"]))
    # None where the first part is wrong: an example's sentence would pass for its result.
    if "summary" not in in_order[0]:
        return None
    first, *others = (f"{part['summary']}." for part in in_order if "summary" in part)
    return Conclusion(first, Certainty.CLEAR, " ".join(others))
