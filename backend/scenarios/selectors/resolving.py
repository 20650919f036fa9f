"""Prices and capacities from the catalog instead of the offers that a document names.

A price `{"offer": slug, "term": …}` or `{"price_observation": id}` becomes a plain one, billed as
its provider bills; whatever else stands beside it wins. With `capacity: {"metric",
"units_per_score"}` each part that names an offer carries its score times the units. What is left
is a document that the domain reads.
"""

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.catalog.models import Offer, PriceObservation
from backend.catalog.selectors.current_prices import best_prices, prices_by_id
from backend.catalog.selectors.data_version import data_version
from backend.catalog.selectors.offers import offers_visible
from backend.catalog.selectors.price_choice import (
    BASES,
    ON_DEMAND,
    TERMS,
    PriceBasis,
    PriceChoice,
)
from backend.catalog.selectors.rates import rate_table
from backend.foundation.errors import InvalidDocument, InvalidValue
from backend.scenarios.calc.document import ScenarioDocument
from backend.scenarios.selectors.capacities import capacities_put
from backend.scenarios.selectors.quoted import (
    Exchange,
    OfferQuote,
    assumption_of,
    at_list_price,
    discount_left_out,
    is_rate_assumed,
    plain_price,
    rate_assumed,
)

OFFER, OBSERVATION, TERM, CURRENCY = "offer", "price_observation", "term", "currency"
NAMED = (OFFER, OBSERVATION)
DOLLAR = "USD"
# Stands for a price or score that is not known while the rest of its document is read.
STAND_IN = {"amount": "1", "unit": "hour", "billing": "per_second"}
SLUG = re.compile(r"[-a-zA-Z0-9_]{1,120}")

Assumption = dict[str, str]


class Resolved(NamedTuple):
    """A document without offers, what replaced them, and the state of the data."""

    document: Any
    assumptions: tuple[Assumption, ...]
    data_version: int


@dataclass
class CatalogPart:
    """A part whose price comes from the catalog."""

    pointer: str
    part: dict[str, Any]
    price: Mapping[str, Any]
    """As stated."""
    beside: list[Any]
    """All parts of its option."""
    quote: OfferQuote | None = None


def resolve(
    document: object, *, workspace_slug: str = DEFAULT_WORKSPACE, today: dt.date
) -> Resolved:
    """The document as the domain reads it.

    Raises InvalidDocument for an offer, term, price or score that is not known, by JSON pointer;
    any other fault of the document is left to the domain.
    """
    # Before the prices are read: should they change meanwhile, the result counts as older than it
    # is, never as newer.
    version = data_version()
    opened, entries = _open_document(document)
    faults: dict[str, str] = {}
    assumptions: list[Assumption] = []
    if entries:
        _quote(entries, workspace_slug, faults)
        into = Exchange(_currency(opened, entries), rate_table(today), today)
        assumptions += _price_parts(entries, into, faults)
        assumptions += _beside_commitments(entries)
    if isinstance(opened, dict):
        offers = {p.pointer: (p.part, p.quote.offer) for p in entries if p.quote is not None}
        capacities_put(opened, offers, faults, assumptions, workspace_slug=workspace_slug)
    if faults:
        raise InvalidDocument(sorted((_other_faults(opened, entries) | faults).items()))
    return Resolved(opened, tuple(assumptions), version)


@dataclass(frozen=True)
class NamedPrice:
    """The price of a part that names an offer or an observation, in the document's currency."""

    offer: Offer
    choice: PriceChoice
    listed: Mapping[str, Any]
    """The plain price as the catalog has it."""
    used: Mapping[str, Any]
    """The plain price that is calculated with: what the part states beside the name wins."""
    assumption: Assumption


def prices_by_name(
    document: object, *, workspace_slug: str = DEFAULT_WORKSPACE, today: dt.date
) -> dict[str, NamedPrice]:
    """Each price that a name stands for, by JSON pointer of its part; without those at fault."""
    opened, entries = _open_document(document)
    if not entries:
        return {}
    _quote(entries, workspace_slug, {})
    into = Exchange(_currency(opened, entries), rate_table(today), today)
    prices = {}
    for entry in entries:
        if entry.quote is None:
            continue
        try:
            beside = _beside(entry.price)
            listed = plain_price(entry.quote, {}, into)
            used = plain_price(entry.quote, beside, into) if beside else listed
            assumption = assumption_of(entry.quote, into)
        except InvalidValue:
            continue
        prices[entry.pointer] = NamedPrice(
            entry.quote.offer, entry.quote.choice, listed, used, assumption
        )
    return prices


def _other_faults(opened: Any, entries: Iterable[CatalogPart]) -> dict[str, str]:
    """Further faults of a document, as if the offers that are at fault had a price."""
    for entry in entries:
        if entry.part.get("price") is entry.price:
            entry.part["price"] = {**STAND_IN, CURRENCY: _currency(opened, entries)}
        if entry.part.get("capacity") is None:
            entry.part["capacity"] = STAND_IN["amount"]
    try:
        ScenarioDocument.read(opened)
    except InvalidDocument as error:
        return dict(error.errors)
    return {}


def _open_document(document: object) -> tuple[Any, list[CatalogPart]]:
    """A copy of the document as deep as it will be changed, and the parts to be changed."""
    if not isinstance(document, Mapping) or not isinstance(document.get("options"), list):
        return document, []
    # The document is the caller's, perhaps a stored row's: it must stay as it is.
    opened = {**document, "options": list(document["options"])}
    entries: list[CatalogPart] = []
    for n, option in enumerate(opened["options"]):
        if isinstance(option, Mapping) and isinstance(option.get("parts"), list):
            parts = [dict(part) if isinstance(part, Mapping) else part for part in option["parts"]]
            opened["options"][n] = {**option, "parts": parts}
            entries += _entries(f"/options/{n}/parts", parts)
    return opened, entries


def _entries(pointer: str, parts: list[Any]) -> Iterator[CatalogPart]:
    for m, part in enumerate(parts):
        price = part.get("price") if isinstance(part, dict) else None
        if isinstance(price, Mapping) and any(name in price for name in NAMED):
            yield CatalogPart(f"{pointer}/{m}", part, price, parts)


def _beside(price: Mapping[str, Any]) -> dict[str, Any]:
    """Statements of a person beside the offer."""
    return {k: v for k, v in price.items() if k not in {*NAMED, TERM, CURRENCY} and v is not None}


def _currency(document: Mapping[str, Any], entries: Iterable[CatalogPart]) -> str:
    """The one currency of a document: as stated by any price, else as all are quoted, else USD."""
    for option in document["options"]:
        parts = option.get("parts") if isinstance(option, Mapping) else None
        for part in parts if isinstance(parts, list) else ():
            price = part.get("price") if isinstance(part, Mapping) else None
            stated = price.get(CURRENCY) if isinstance(price, Mapping) else None
            if isinstance(stated, str) and len(stated) == 3:
                return stated.upper()
    quoted = {entry.quote.choice.currency for entry in entries if entry.quote}
    return quoted.pop() if len(quoted) == 1 else DOLLAR


def _price_parts(
    entries: Iterable[CatalogPart], into: Exchange, faults: dict[str, str]
) -> list[Assumption]:
    """Puts a plain price into each part that has a quote; what the prices rest on, each once."""
    assumptions: list[Assumption] = []
    for entry in entries:
        if entry.quote is None:
            continue
        try:
            beside = _beside(entry.price)
            entry.part["price"] = plain_price(entry.quote, beside, into)
            made = [assumption_of(entry.quote, into)]
            made += [rate_assumed(entry.quote)] if is_rate_assumed(entry.quote, beside) else []
        except InvalidValue as error:
            faults[f"{entry.pointer}/price/{error.field}"] = error.detail
        else:
            assumptions += [assumption for assumption in made if assumption not in assumptions]
    return assumptions


def _beside_commitments(entries: Iterable[CatalogPart]) -> list[Assumption]:
    """Bills what runs beside a commitment by the second, without a discount for sustained use.

    How the discount falls on the hours that a commitment leaves is not calculated.
    """
    changed: dict[str, Assumption] = {}
    for entry in entries:
        price = entry.part["price"]
        is_beside = entry.part.get("role") == "burst" and any(
            isinstance(part, dict)
            and isinstance(part.get("price"), Mapping)
            and part["price"].get("billing") == "reserved"
            for part in entry.beside
        )
        if is_beside and entry.quote and price.get("billing") == "sustained_use":
            slug = entry.quote.offer.slug
            entry.part["price"] = at_list_price(price)
            changed[slug] = discount_left_out(slug)
    return list(changed.values())


# --- prices of offers and observations ------------------------------------------------------------


def _quote(entries: Iterable[CatalogPart], workspace_slug: str, faults: dict[str, str]) -> None:
    """The quote of each part; what is not known is a fault."""
    by_term: dict[str, list[tuple[CatalogPart, str]]] = {}
    by_id: list[tuple[CatalogPart, UUID]] = []
    for entry in entries:
        pointer = f"{entry.pointer}/price"
        if OFFER in entry.price and OBSERVATION in entry.price:
            faults[f"{pointer}/{OBSERVATION}"] = "one of offer and price_observation is enough"
        elif OBSERVATION in entry.price:
            if (observation_id := _uuid(entry.price[OBSERVATION])) is None:
                faults[f"{pointer}/{OBSERVATION}"] = "the id of a price is needed"
            else:
                by_id.append((entry, observation_id))
        else:
            slug, term = entry.price[OFFER], entry.price.get(TERM) or ON_DEMAND
            if not isinstance(slug, str) or not slug.strip():
                faults[f"{pointer}/{OFFER}"] = "the slug of an offer is needed"
            elif not isinstance(term, str) or term not in TERMS:
                faults[f"{pointer}/{TERM}"] = f"{str(term)[:40]!r} is not one of {', '.join(TERMS)}"
            else:
                by_term.setdefault(term, []).append((entry, slug))
    _by_offer(by_term, workspace_slug, faults)
    _by_observation(by_id, workspace_slug, faults)


def _by_offer(
    by_term: Mapping[str, list[tuple[CatalogPart, str]]],
    workspace_slug: str,
    faults: dict[str, str],
) -> None:
    # What is no slug names no offer, and PostgreSQL would refuse a NUL in it.
    slugs = {slug for named in by_term.values() for _, slug in named if SLUG.fullmatch(slug)}
    offers = {o.slug: o for o in offers_visible(workspace_slug).filter(slug__in=slugs)}
    ids = [offer.pk for offer in offers.values()]
    # A savings plan is stated as a discount on the price without a commitment.
    terms = {*by_term, *([ON_DEMAND] if any(t.startswith("savings") for t in by_term) else ())}
    # A query for each term and none for each part: a document may name hundreds of offers.
    choices = {term: best_prices(PriceBasis(term=term), ids) for term in terms}
    ids_of_prices = [c.observation_id for of in choices.values() for c in of.values()]
    kept = _observation_facts(ids_of_prices)
    for term, named in by_term.items():
        for entry, slug in named:
            offer = offers.get(slug)
            choice = choices[term].get(offer.pk) if offer else None
            if offer is None:
                faults[f"{entry.pointer}/price/{OFFER}"] = f"no offer is called {slug[:120]!r}"
            elif choice is None:
                detail = f"no {term} price of {slug} is known"
                # Where no term was stated there is no such field to show the fault at.
                faults[f"{entry.pointer}/price/{TERM if term != ON_DEMAND else OFFER}"] = detail
            else:
                listed = choices.get(ON_DEMAND, {}).get(offer.pk)
                entry.quote = OfferQuote(offer, choice, *kept[choice.observation_id], listed)


def _by_observation(
    named: list[tuple[CatalogPart, UUID]], workspace_slug: str, faults: dict[str, str]
) -> None:
    if not named:
        return
    prices = prices_by_id((pk for _, pk in named), workspace_slug)
    offers = offers_visible(workspace_slug).in_bulk([price.offer_id for price in prices.values()])
    kept = _observation_facts(prices)
    for entry, pk in named:
        choice = prices.get(pk)
        if choice is None:
            detail = f"no published price has the id {pk}"
            faults[f"{entry.pointer}/price/{OBSERVATION}"] = detail
        elif choice.basis not in BASES:
            detail = f"the price includes more than the machine: {choice.basis}"
            faults[f"{entry.pointer}/price/{OBSERVATION}"] = detail
        else:
            entry.quote = OfferQuote(offers[choice.offer_id], choice, *kept[pk])


def _observation_facts(
    price_ids: Iterable[UUID],
) -> dict[UUID, tuple[Mapping[str, Any] | None, str]]:
    """Document of own hardware, and source, of observations."""
    rows = PriceObservation.objects.filter(pk__in=list(price_ids))
    read = rows.values_list("pk", "hardware__document", "source")
    return {pk: (document, source) for pk, document, source in read}


def _uuid(value: object) -> UUID | None:
    try:
        return UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None
