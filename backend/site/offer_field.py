"""A field for one offer, which suggests offers while a part of a name is typed."""

from typing import Any

from django.urls import reverse_lazy

from backend.site.forms import text
from backend.site.language import lazy

# The id of the list that a page with such a field has.
SUGGESTIONS = "offer-names"


def offer_field(label: str, *, required: bool = True, help_text: str = "") -> Any:
    """Takes the identifier of an offer, or a name that only one has; its page loads htmx."""
    return text(
        label,
        required=required,
        help_text=help_text,
        list=SUGGESTIONS,
        spellcheck="false",
        placeholder=lazy("Search by type, provider or region"),
        **{
            "hx-get": reverse_lazy("offer-names"),
            # A short rest after the last key: one search for a word, not one for each letter.
            "hx-trigger": "input changed delay:300ms",
            "hx-target": f"#{SUGGESTIONS}",
            "hx-swap": "innerHTML",
        },
    )
