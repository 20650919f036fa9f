"""Filters and tags of the pages; the wording and rounding are in words.py and figures.py."""

from decimal import Decimal
from typing import Any

from django import template
from django.template.base import FilterExpression, Parser, Token
from django.utils.html import format_html, format_html_join, json_script
from django.utils.safestring import SafeString

from backend.benchmarks.selectors.runs import STAGES
from backend.scenarios.pages import figures as scenario_figures
from backend.site import figures, words
from backend.site.language import translate_document

register = template.Library()
# The functions themselves, so that a template cannot round in another way than the code does.
register.filter("figure", figures.figure)
register.filter("money", figures.money)
register.filter("plain", figures.plain)
register.filter("quantity", figures.quantity)
register.filter("duration", figures.duration)
register.filter("size", figures.size)
register.filter("shown_value", scenario_figures.value_text)
register.filter("interval", figures.interval)
register.filter("bounds", figures.bounds)
register.filter("measure", figures.measure)
register.filter("price", figures.price)
register.filter("provider", words.provider)
register.filter("term", words.term)
register.filter("kind", words.kind)
register.filter("price_state", words.price_state)
register.filter("campaign_state", words.campaign_state)
register.filter("run_name", words.run_name)


@register.filter
def amount(text: Any, period: str = "month") -> str:
    """A decimal string as an amount of a period; empty for what is none."""
    return figures.money(Decimal(text), period) if text else ""


@register.filter
def price_text(price: Any) -> str:
    """A stored price exactly as it was stated, with currency and period."""
    return figures.quote(price.amount, price.currency, price.unit)


@register.filter
def state(code: str) -> str:
    return str(STAGES.get(code, code)).capitalize()


@register.filter
def reason(code: str) -> str:
    """Sentence for a failure reason."""
    return words.REASONS.get(code, code)


@register.filter
def spaced(code: str) -> str:
    """A code as words: not_offered → not offered."""
    return str(code).replace("_", " ")


@register.filter
def percent(ratio: Any) -> str:
    """Ratio 0 to 1 as percent with one decimal; empty for what is no number."""
    # A template hands on what is missing as an empty text.
    return figures.percent(ratio) if isinstance(ratio, int | float) else ""


@register.filter
def ratio_percent(ratio: Decimal) -> str:
    """A stored ratio, as a tax rate, in percent."""
    return figures.percent(float(ratio), words.RATE_DECIMALS)


@register.filter
def share(ratio: Any) -> str:
    """Ratio 0 to 1 as percent that is never rounded to nothing; empty for what is no number."""
    return scenario_figures.share(ratio) if isinstance(ratio, int | float) else ""


@register.filter
def flags(codes: str | list[str]) -> SafeString:
    listed = codes.split() if isinstance(codes, str) else codes
    shown = map(words.flag, listed)
    return format_html_join(
        " ",
        '<span class="mark {}" title="{}">{}</span>',
        ((tone, hint, label) for label, tone, hint in shown),
    )


@register.simple_tag
def provider_name(slug: str) -> SafeString:
    return format_html(
        '<span class="swatch provider-{}" aria-hidden="true"></span> {}', slug, words.provider(slug)
    )


@register.simple_tag
def heads(words: str, *, are_numbers: bool = False) -> SafeString:
    """Heads of a table's columns, their words separated by commas."""
    # scope: a screen reader says the head of the column before each cell.
    markup = '<th scope="col" class="number">{}</th>' if are_numbers else '<th scope="col">{}</th>'
    return format_html_join("", markup, ((word.strip(),) for word in words.split(",")))


@register.filter
def page_json(document: Any, element_id: str) -> SafeString:
    """A document for the page's scripts, in the reader's language."""
    return json_script(translate_document(document), element_id)


class LaterNode(template.Node):
    """Content between `later` and `endlater`; within another one it is already late enough."""

    def __init__(self, nodes: template.NodeList, at_once: FilterExpression | None) -> None:
        self.nodelist = nodes
        self.at_once = at_once

    def render(self, context: template.Context) -> SafeString:
        if context.get("_is_later") or (self.at_once and self.at_once.resolve(context)):
            return self.nodelist.render(context)
        with context.push(_is_later=True):
            return format_html(
                '<noscript class="later">{}</noscript>', self.nodelist.render(context)
            )


@register.tag
def later(parser: Parser, token: Token) -> LaterNode:
    """{% later %} or {% later unless is_open %}: what is closed at first or lies far below.

    A script draws it after the first paint (frontend/src/js/lib/later.js); without scripts it is
    there at once.
    """
    match token.split_contents()[1:]:
        case []:
            at_once = None
        case ["unless", given]:
            at_once = parser.compile_filter(given)
        case _:
            raise template.TemplateSyntaxError("later takes nothing, or unless and a variable")
    nodes = parser.parse(["endlater"])
    parser.delete_first_token()
    return LaterNode(nodes, at_once)


@register.filter
def get(mapping: dict[str, Any], key: str) -> Any:
    """Value under a key, None where there is none."""
    return mapping.get(key)
