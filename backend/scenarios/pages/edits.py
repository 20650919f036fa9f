"""Buttons of the editor that change what is typed: a shape, an option more or less, an offer."""

import re
from collections.abc import Mapping
from typing import Any

from django.http import QueryDict

from backend.scenarios.calc.ready_options import READY_OPTIONS, with_option
from backend.scenarios.calc.shapes import SHAPES, reshape
from backend.scenarios.pages.forms import CURRENCY, ScenarioForm
from backend.scenarios.selectors.offer_matches import is_own_hardware, offer_names

# Offers that an address may name.
MOST_NAMED = 6
# The name of a field of the form and a slug: nothing else may be written to by the button.
PICK = re.compile(r"(options\.\d{1,2}\.parts\.[01]\.price\.)offer=([-\w]{1,120})")


def edit(data: QueryDict, workspace_slug: str) -> ScenarioForm:
    """The form with what was typed, after the change that its button asks for."""
    texts = {name: str(text) for name, text in data.items()}
    if match := PICK.fullmatch(texts.get("pick", "")):
        return ScenarioForm(_pick_offer(texts, match[1], match[2]))
    if texts.get("remove", "").isdecimal():
        start = f"options.{texts['remove']}."
        # The document is made anew without the line, so the lines below it move up.
        texts = {name: text for name, text in texts.items() if not name.startswith(start)}
        return _open_form(ScenarioForm(texts).document())
    form = ScenarioForm(data)
    if shape := SHAPES.get(texts.get("shape", "")):
        return _open_form(reshape(form.document(), shape))
    if ready := READY_OPTIONS.get(texts.get("add", "")):
        currency = texts.get(CURRENCY) or "USD"
        return _open_form(with_option(form.document(), ready.title, ready.parts, currency))
    if slug := texts.get("offer", "").replace("\0", ""):
        named = offer_names([slug], workspace_slug).get(slug, slug)
        return _open_form(with_offer(form.document(), slug, named, texts.get(CURRENCY, "")))
    return form


def document_of_address(
    document: Mapping[str, Any], asked_of: QueryDict, offers: Mapping[str, str]
) -> dict[str, Any]:
    """The document with the shape of an address, and its options instead of those of a template;
    `offers` has names by slug."""
    currency = asked_of.get("currency", "")[:3].upper()
    asked = dict(document)
    if shape := SHAPES.get(asked_of.get("shape", "")):
        asked = reshape(asked, shape)
    known = [READY_OPTIONS[key] for key in asked_of.getlist("add") if key in READY_OPTIONS]
    if known or offers:
        asked["options"] = []
    servers = asked_of.get("servers", "")
    count = int(servers) if servers.isascii() and servers.isdecimal() and len(servers) < 7 else 0
    for slug, name in offers.items():
        asked = with_offer(asked, slug, name, currency, count=count or None)
    if count and offers:
        asked = _scale_windows(asked, count)
    for template in known:
        asked = with_option(asked, template.title, template.parts, currency or "USD")
    return asked


def with_offer(
    document: Mapping[str, Any],
    slug: str,
    name: str,
    currency: str,
    *,
    term: str = "",
    count: int | None = None,
) -> dict[str, Any]:
    """The document with an option of the servers of an offer."""
    price = {"offer": slug, **({CURRENCY: currency} if currency else {})}
    price |= {"term": term} if term else {}
    part: dict[str, Any] = {"role": "all", "price": price}
    if count is not None:
        part["count"] = count
    elif is_own_hardware(slug):
        # Own servers are bought for the peak; they do not come and go.
        part["count"] = "peak"
    return with_option(document, name, (part,), currency)


def _scale_windows(document: Mapping[str, Any], servers: int) -> dict[str, Any]:
    """The document with its windows scaled so that the highest level needs so many servers."""
    demand = dict(document.get("demand") or {})
    levels = [window["level"] for window in demand.get("windows") or ()]
    highest = max([*levels, demand.get("base") or 0], default=0)
    if not highest:
        return dict(document)

    def scaled(level: float) -> int:
        return -(-int(level) * servers // int(highest))

    demand["base"] = scaled(demand.get("base") or 0)
    demand["windows"] = [{**w, "level": scaled(w["level"])} for w in demand.get("windows") or ()]
    return {**document, "demand": demand}


def _pick_offer(texts: Mapping[str, str], price: str, slug: str) -> dict[str, str]:
    """The offer in a part, priced as the catalog has it."""
    kept = {
        name: text
        for name, text in texts.items()
        # What was typed for another price must not count for this one; the term still holds.
        if not name.startswith(price) or name == f"{price}term"
    }
    return kept | {f"{price}offer": slug}


def _open_form(document: Mapping[str, Any]) -> ScenarioForm:
    return calculate(ScenarioForm(document=document))


def calculate(form: ScenarioForm) -> ScenarioForm:
    """The form itself where something was typed, else one in which the document was."""
    if form.is_bound:
        return form
    # Bound, since only a bound form is calculated.
    return ScenarioForm({name: form[name].value() or "" for name in form.fields})
