"""Origin of a chart in its saved picture."""

from typing import Any

from django import template

from backend.catalog.selectors.data_version import data_stamp
from backend.core import clock

register = template.Library()


@register.simple_tag(takes_context=True)
def picture_footer(context: dict[str, Any]) -> str:
    """Day and data version: the page's `data_version`, else the present one, read once a request."""
    request = context["request"]
    # A page may have a dozen charts, and each would read the version again.
    if not hasattr(request, "picture_footer"):
        number = context.get("data_version") or data_stamp().number
        request.picture_footer = f"Rackrate, {clock.now().date()}, data version {number}"
    return str(request.picture_footer)
