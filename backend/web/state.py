"""The state of the ranking page is its URL: links that change one thing and keep the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from backend.rankings.selectors import COLUMNS_V1
from backend.web import words

Params = dict[str, list[str]]

# Choices of the form above the table; every other parameter is a filter and gets a chip.
SELECTORS = {"metric", "period", "currency", "term", "hours_per_month"}
ARRANGEMENT = {"sort", "page", "per_page", "cols", "weights", "view", "basis", "format", "dialect"}
DEFAULTS = {
    "metric": "cmips_score",
    "period": "hour",
    "currency": "USD",
    "term": "on_demand",
    "hours_per_month": "730",
    "sort": "-value_per_cost",
    "page": "1",
    "per_page": "50",
}
LISTS = ("provider", "kind")


@dataclass(frozen=True)
class Chip:
    """One applied filter in words, and the URL without it."""

    label: str
    value: str
    url: str


def cleaned(given: Mapping[str, Sequence[str]]) -> Params:
    """Parameters that say something: no empties, no defaults, lists joined by commas."""
    params: Params = {}
    for name, values in given.items():
        words_given = [value.strip() for value in values if value.strip()]
        if name in LISTS:
            parts = [part for value in words_given for part in value.split(",") if part]
            words_given = [",".join(dict.fromkeys(parts))] if parts else []
        if name == "currency":
            words_given = [code.upper() for code in words_given]
        if words_given and words_given != [DEFAULTS.get(name)]:
            params[name] = words_given
    return params


def known(params: Params) -> Params:
    """The parameters that mean something; for the others the ranking gives a warning."""
    return {
        name: values
        for name, values in params.items()
        if name in SELECTORS | ARRANGEMENT | {"q", "as_of", "measured"}
        or words.parameter(name)[0] in COLUMNS_V1
    }


def query(params: Params, **changes: str | None) -> str:
    """Query string (with its `?`) after the changes; None takes a parameter out."""
    merged = {**params, **{k: [v] for k, v in changes.items() if v is not None}}
    for name, value in changes.items():
        if value is None or [value] == [DEFAULTS.get(name)]:
            merged.pop(name, None)
    encoded = urlencode(merged, doseq=True, safe=",")
    return f"?{encoded}" if encoded else ""


def value(params: Params, name: str) -> str:
    """The value in force: given, or the default, or empty."""
    return params.get(name, [DEFAULTS.get(name, "")])[0]


def cost(params: Params) -> str:
    """What a price is counted in: currency per period, or the currency alone for a purchase."""
    currency = value(params, "currency")
    is_once = value(params, "term") == "purchase"
    return currency if is_once else f"{currency}/{value(params, 'period')}"


def _in_words(name: str, text: str) -> str:
    if name == "provider":
        return ", ".join(words.provider(slug) for slug in text.split(","))
    if name == "kind":
        return ", ".join(words.kind(kind) for kind in text.split(","))
    return text


def chips(params: Params, path: str) -> list[Chip]:
    """The filters in force, each with the link that takes it away."""
    found = []
    for name, values in params.items():
        if name in SELECTORS | ARRANGEMENT:
            continue
        column, label, sign = words.parameter(name)
        text = ", ".join(_in_words(column, one) for one in values)
        url = path + query(params, **{name: None, "page": None})
        found.append(Chip(label, f"{sign}{text}", url))
    return found


def without_filters(params: Params, path: str) -> str:
    """URL that keeps the selectors and the order, and no filter."""
    kept = {k: v for k, v in params.items() if k in SELECTORS | ARRANGEMENT and k != "page"}
    return path + query(kept)


@dataclass(frozen=True)
class Heading:
    """What the head of a sortable column needs: link, direction in force, place among the keys."""

    url: str
    direction: str
    ordinal: int | None

    @property
    def is_first_key(self) -> bool:
        """Whether rows are sorted by this column before all others."""
        return self.ordinal == 1


def heading(params: Params, path: str, column: str, *, is_descending_first: bool) -> Heading:
    """Head of one column: a click sorts by it, a second click the other way round."""
    keys = value(params, "sort").split(",")
    names = [key.removeprefix("-") for key in keys]
    ordinal = names.index(column) + 1 if column in names else None
    direction = ""
    descending_next = is_descending_first
    if ordinal is not None:
        is_descending = keys[ordinal - 1].startswith("-")
        direction = "descending" if is_descending else "ascending"
        descending_next = not is_descending if ordinal == 1 else is_descending_first
    target = ("-" if descending_next else "") + column
    return Heading(path + query(params, sort=target, page=None), direction, ordinal)
