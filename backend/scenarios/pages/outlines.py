"""Small pictures of a load, drawn on the server."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from backend.scenarios.calc.shapes import outline
from backend.scenarios.calc.templates import TEMPLATES, Template
from backend.site import figures
from backend.site.language import _

WIDTH, HEIGHT = 168, 44
MARGIN = 2
MOST_DAYS = 7


class Outline(NamedTuple):
    """Paths of a line and of the area below it in a box of WIDTH × HEIGHT, and the levels."""

    line: str
    area: str
    words: str


def outline_of(levels: Sequence[float], unit: str) -> Outline:
    """The picture of levels at equal distances; empty for none."""
    if not levels:
        return Outline("", "", "")
    low, high = min(levels), max(levels)
    # A load of nothing has no height to scale by.
    if not high:
        return Outline(f"M0 {HEIGHT - MARGIN}H{WIDTH}", "", f"0 {unit}")
    step = WIDTH / len(levels)
    drawn, before = "", None
    for index, level in enumerate(levels):
        y = round(HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * level / high, 1)
        # Only where the level changes: a week of minutes would be ten thousand points of SVG.
        if y != before:
            x = round(index * step, 1)
            drawn += f"M0 {y}" if before is None else f"H{x}V{y}"
            before = y
    drawn += f"H{WIDTH}"
    ends = [figures.quantity(round(level, 2)) for level in (low, high)]
    span = ends[1] if ends[0] == ends[1] else _("{first} to {last}", first=ends[0], last=ends[1])
    named = unit.removesuffix("s") if span == "1" else unit
    return Outline(drawn, f"{drawn}V{HEIGHT}H0Z", f"{span} {named}")


class TemplateCard(NamedTuple):
    """A template to begin from, with the picture of its load."""

    template: Template
    outline: Outline


# Templates belong to the program and never change while it runs.
@cache
def template_cards() -> tuple[TemplateCard, ...]:
    """Every template, in the order in which they are shown."""
    return tuple(TemplateCard(template, _of_template(template)) for template in TEMPLATES.values())


def _of_template(template: Template) -> Outline:
    days = min(int(template.document["horizon"].get("days", MOST_DAYS)), MOST_DAYS)
    return outline_of(outline(template.document, days), template.document["demand"]["unit"])
