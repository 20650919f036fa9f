"""Preview in the editor while one types: costs with what is unserved, and the first chart."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from backend.core.work import WorkRefused
from backend.foundation.errors import InvalidDocument
from backend.scenarios.calc.ready_options import options_with_examples
from backend.scenarios.pages.figures import (
    currency_of,
    horizon_words,
    is_shorter_than_a_month,
    mark_options,
)
from backend.scenarios.pages.forms import ScenarioForm
from backend.scenarios.pages.plots import demand_plot
from backend.scenarios.pages.span import first_week
from backend.scenarios.selectors.scenarios import simulate_document
from backend.site.language import _

# Points of the chart: what follows one's typing is small.
MOST_SHOWN = 120


class Preview(NamedTuple):
    """The result as the page shows it, or what is wrong: (name of a field or empty, words)."""

    errors: Sequence[tuple[str, str]] = ()
    result: Mapping[str, Any] | None = None
    # When to ask again, where others are calculating.
    wait_s: float | None = None


def preview(form: ScenarioForm, workspace_slug: str) -> Preview:
    """Quick result of the typed document; refusals also stand in the form."""
    # A copy: the form goes on with all that was stated.
    document = dict(form.document())
    # Draws multiply the work by their number, which would not be done before the next key.
    is_spread = document.pop("uncertainty", None) is not None
    try:
        simulation = simulate_document(document, workspace_slug=workspace_slug)
        series = first_week(document, MOST_SHOWN, workspace_slug=workspace_slug)
    except InvalidDocument as error:
        return Preview(form.report(error))
    except WorkRefused as error:
        refusal = ("", _("Not calculated: {detail}.", detail=error.detail))
        return Preview([refusal], wait_s=error.wait)
    shown = {
        "lines": mark_options(simulation.result["options"], simulation),
        "plot": demand_plot(series),
        "currency": currency_of(simulation),
        "span": horizon_words(simulation.resolved),
        # The cost of a month then goes beyond the time that was calculated.
        "is_extrapolated": is_shorter_than_a_month(simulation.resolved),
        "has_examples": bool(options_with_examples(simulation.resolved)),
        # Uncertainty is left for the result page.
        "is_without_spread": is_spread,
    }
    return Preview(result=shown)
