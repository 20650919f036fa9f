"""Preview in the editor while one types: costs with what is unserved, and the first chart."""

from typing import Any, NamedTuple

from backend.common.work import WorkRefused
from backend.domain.errors import InvalidDocument
from backend.domain.scenarios.ready_options import options_with_examples
from backend.scenarios.selectors.scenarios import Simulated, simulate_document
from backend.web.scenarios.figures import (
    currency_of,
    horizon_words,
    is_shorter_than_a_month,
    mark_options,
)
from backend.web.scenarios.forms import ScenarioForm
from backend.web.scenarios.plots import demand_plot
from backend.web.scenarios.span import first_week
from backend.web.shared.language import _
from backend.web.shared.plots import Plot

# Points of the chart: what follows one's typing is small.
MOST_SHOWN = 120


class Preview(NamedTuple):
    """The result and its chart, or what is wrong: (name of a field or empty, words)."""

    result: dict[str, Any] | None
    plot: Plot | None
    errors: list[tuple[str, str]]
    currency: str = ""
    simulation: Simulated | None = None
    # When to ask again, where others are calculating.
    wait_s: float | None = None
    # Whether the document asks for uncertainty, which is left for the result page.
    is_without_spread: bool = False

    @property
    def lines(self) -> list[dict[str, Any]]:
        return (
            mark_options(self.simulation.result["options"], self.simulation)
            if self.simulation
            else []
        )

    @property
    def span(self) -> str:
        return horizon_words(self.simulation.resolved) if self.simulation else ""

    @property
    def is_extrapolated(self) -> bool:
        """True where the cost of a month goes beyond the time that was calculated."""
        return self.simulation is not None and is_shorter_than_a_month(self.simulation.resolved)

    @property
    def has_examples(self) -> bool:
        return self.simulation is not None and bool(options_with_examples(self.simulation.resolved))


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
        return Preview(None, None, form.report(error))
    except WorkRefused as error:
        refusal = ("", _("Not calculated: {detail}.", detail=error.detail))
        return Preview(None, None, [refusal], wait_s=error.wait)
    return Preview(
        simulation.result,
        demand_plot(series),
        [],
        currency_of(simulation),
        simulation,
        is_without_spread=is_spread,
    )
