"""The editor's page: pictures of loads, options to add, the fields, and their result."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from backend.benchmarks.services.current_data import current_stamp
from backend.rankings.selectors.coverage import metrics_scored
from backend.rankings.selectors.default_metric import default_metric
from backend.rankings.selectors.ranking import query_from, ranking
from backend.scenarios.calc.ready_options import READY_OPTIONS
from backend.scenarios.calc.shapes import SHAPES, LoadShape, outline, reshape, shape_of
from backend.scenarios.pages.edits import calculate
from backend.scenarios.pages.form_shown import ShownForm
from backend.scenarios.pages.forms import ScenarioForm
from backend.scenarios.pages.outlines import Outline, outline_of
from backend.scenarios.pages.part_prices import part_prices
from backend.scenarios.pages.preview import Preview, preview
from backend.site import figures, words
from backend.site.language import _


class ShapeCard(NamedTuple):
    """A shape to choose, as a picture."""

    shape: LoadShape
    outline: Outline
    is_chosen: bool


class BestOffer(NamedTuple):
    """The leader of the ranking."""

    slug: str
    name: str
    figures: str


def editor_context(form: ScenarioForm, workspace_slug: str, *, is_refused: bool) -> dict[str, Any]:
    """The form in its steps with what was typed calculated; a refusal has reported its errors."""
    typed = calculate(form)
    # A document that is made anew would forget what was reported of the last one.
    shown = Preview(form.refused) if is_refused else preview(typed, workspace_slug)
    document = typed.stated
    shape = shape_of(document.get("demand") or {})
    return {
        "form": form,
        "stated": document,
        "shown": ShownForm(form, shape, part_prices(typed, document, workspace_slug)),
        "shapes": _shape_cards(document, shape),
        "ready": READY_OPTIONS.values(),
        "best": best_offer(document, workspace_slug),
        "preview": shown,
    }


def _shape_cards(document: Mapping[str, Any], chosen: LoadShape | None) -> list[ShapeCard]:
    unit = str((document.get("demand") or {}).get("unit") or "")
    cards = []
    for shape in SHAPES.values():
        is_chosen = shape is chosen
        # The chosen shape with the numbers that were typed, the others with numbers of their own.
        levels = outline(document if is_chosen else reshape(document, shape), shape.days)
        cards.append(ShapeCard(shape, outline_of(levels, unit), is_chosen))
    return cards


def best_offer(document: Mapping[str, Any], workspace_slug: str) -> BestOffer | None:
    """The offer with the most score for the money on demand, by the metric of the capacity, else by
    that of the ranking's page; None where none is ranked."""
    scored = metrics_scored()
    # A new installation without any figure has no ranking to lead.
    if not scored:
        return None
    stamp = current_stamp()
    stated = str((document.get("capacity") or {}).get("metric") or "")
    metric = stated if stated in scored else default_metric(stamp, workspace_slug)
    # What can still be bought, as on the ranking itself.
    query, _errors = query_from({"metric": [metric], "available": ["TRUE"]})
    ranked = ranking(query, workspace_slug=workspace_slug, stamp=stamp)
    row = next((row for row in ranked.rows if row.rank is not None), None)
    if row is None:
        return None
    price = _(
        "{price} {currency} an hour", price=figures.money(row.price, "hour"), currency=row.currency
    )
    score = f"{words.metric(metric)} {figures.figure(row.score)}"
    return BestOffer(
        row.offer_id, f"{words.provider(row.provider)} {row.offer}", f"{price}, {score}"
    )
