"""Price of each part of an option, in words: the offer's price and score, or the price typed."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from backend.benchmarks.selectors.scores import Score
from backend.catalog.calc.hardware import monthly_cost
from backend.catalog.calc.hardware_document import hardware_from
from backend.catalog.selectors.price_choice import ON_DEMAND, TERMS
from backend.core import clock
from backend.foundation.errors import InvalidDocument
from backend.scenarios.calc.price_document import BILLINGS, PURCHASE
from backend.scenarios.calc.ready_options import is_example
from backend.scenarios.pages.forms import CURRENCY, ScenarioForm
from backend.scenarios.selectors.offer_matches import OfferMatch, offer_matches, scores_of_offers
from backend.scenarios.selectors.resolving import NamedPrice, prices_by_name
from backend.site import figures, words
from backend.site.language import _

# Parts whose words are looked up at once: each is a search over all offers, at every pause in typing.
MOST_SEARCHED = 4


class ShownMatch(NamedTuple):
    """An offer to choose."""

    slug: str
    name: str
    provider: str
    region: str
    figures: str


@dataclass(frozen=True)
class PartPrice:
    """Text beside the price of a part of the editor."""

    option: int
    part: int
    # Of the offer that it names.
    slug: str = ""
    name: str = ""
    figures: str = ""
    source: str = ""
    # That a typed price counts in place of the offer's.
    instead: str = ""
    is_example: bool = False
    matches: tuple[ShownMatch, ...] = ()
    # Whether words were looked up that name no offer.
    is_searched: bool = False

    @property
    def id(self) -> str:
        """Id of the element that shows it."""
        return f"price-{self.option}-{self.part}"

    @property
    def field(self) -> str:
        """Name of the form's field of the offer."""
        return f"options.{self.option}.parts.{self.part}.price.offer"


def part_prices(
    form: ScenarioForm, document: Mapping[str, Any], workspace_slug: str
) -> dict[str, PartPrice]:
    """By the name of the part in the form; `document` is the one of the form."""
    named = prices_by_name(document, workspace_slug=workspace_slug, today=clock.now().date())
    metric = str((document.get("capacity") or {}).get("metric") or "")
    scores = scores_of_offers((price.offer.pk for price in named.values()), metric) if named else {}
    shown: dict[str, PartPrice] = {}
    searched = 0
    for n, option in enumerate(document["options"]):
        for m, part in enumerate(option["parts"]):
            # The document has no empty lines, so its numbers are not those of the form.
            name = form.row_of(f"options.{n}.parts.{m}")
            at = (int(name.split(".")[1]), m)
            price = part.get("price") or {}
            known = named.get(f"/options/{n}/parts/{m}")
            if known is not None:
                shown[name] = _of_offer(at, known, scores.get(known.offer.pk), price)
            elif price.get("offer") and searched < MOST_SEARCHED:
                searched += 1
                shown[name] = _search(at, price, metric, workspace_slug)
            else:
                is_bought = price.get("billing") == PURCHASE
                cost = _of_hardware(price.get("hardware")) if is_bought else ""
                shown[name] = PartPrice(*at, figures=cost, is_example=is_example(price))
    return shown


def _of_offer(
    at: tuple[int, int], known: NamedPrice, score: Score | None, stated: Mapping[str, Any]
) -> PartPrice:
    typed, listed = stated.get("amount"), known.listed
    instead = ""
    if typed is not None and listed.get("amount") is not None:
        instead = _(
            "Your price {typed} counts instead of the offer’s {listed}.",
            typed=typed,
            listed=_price(listed),
        )
    elif typed is not None:
        instead = _("Your price {typed} counts instead of the offer’s.", typed=typed)
    return PartPrice(
        *at,
        slug=known.offer.slug,
        name=f"{words.provider(known.offer.provider.slug)} {known.offer.name}",
        figures=", ".join(filter(None, (_price(known.used), _score(score)))),
        source=known.assumption["source"],
        instead=instead,
    )


def _search(
    at: tuple[int, int], price: Mapping[str, Any], metric: str, workspace_slug: str
) -> PartPrice:
    term = str(price.get("term") or ON_DEMAND)
    offers = offer_matches(
        str(price["offer"]),
        term=term if term in TERMS else ON_DEMAND,
        currency=str(price.get(CURRENCY) or ""),
        metric=metric,
        workspace_slug=workspace_slug,
        today=clock.now().date(),
    )
    return PartPrice(*at, matches=tuple(map(_match, offers)), is_searched=True)


def _match(match: OfferMatch) -> ShownMatch:
    offer = match.offer
    price = _price(match.price.used) if match.price else _("no price for this payment option")
    return ShownMatch(
        slug=offer.slug,
        name=offer.name,
        provider=words.provider(offer.provider.slug),
        region=offer.region.code if offer.region else "",
        figures=", ".join(filter(None, (price, _score(match.score) or _("not measured")))),
    )


def _price(price: Mapping[str, Any]) -> str:
    """`0.3718 EUR an hour, by the second`."""
    if price.get("billing") == PURCHASE:
        return _of_hardware(price.get("hardware"))
    try:
        amount = Decimal(str(price["amount"]))
    # While one types a price is no number for a moment; the document's reader says so.
    except ArithmeticError:
        return ""
    unit = str(price.get("unit") or "hour")
    billed = BILLINGS.get(str(price.get("billing")), "")
    a_unit = _("an hour") if unit == "hour" else "a month"
    return _(
        "{amount} {currency} {a_unit}, billed {billed}",
        amount=figures.money(amount, unit),
        currency=price.get("currency", ""),
        a_unit=a_unit,
        billed=billed,
    )


def _of_hardware(document: Any) -> str:
    """Monthly cost of a server of one's own; empty for a document that has faults."""
    try:
        cost = monthly_cost(hardware_from(document))
    except InvalidDocument:
        return ""
    return _(
        "{price} {currency} a month for each server",
        price=figures.money(cost.price_per_month, "month"),
        currency=cost.currency,
    )


def _score(score: Score | None) -> str:
    if score is None:
        return ""
    return f"{words.metric(score.metric.key)} {figures.figure(score.summary.value)}"
