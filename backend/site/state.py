"""The state of the ranking page is its URL: links that change one thing and keep the rest."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from backend.catalog.selectors.price_choice import MACHINE
from backend.core.rest.table import ColumnType
from backend.rankings.selectors.columns import COLUMN, COLUMNS
from backend.rankings.selectors.parameters import (
    BASIS_ALIASES,
    PARAMETER,
    PARAMETERS,
    Role,
    idle_parameters,
)
from backend.rankings.selectors.query import DEFAULTS as QUERY_DEFAULTS
from backend.rankings.selectors.views import shorten_params
from backend.site import columns, words
from backend.site.language import _, lazy

Params = dict[str, list[str]]

# Choices of the form above the table; of the other parameters each has a chip.
SELECTORS = {parameter.name for parameter in PARAMETERS if parameter.role is Role.SELECTOR}
QUESTION = {parameter.name for parameter in PARAMETERS if parameter.role is Role.QUESTION}
ARRANGEMENT = {
    *(parameter.name for parameter in PARAMETERS if parameter.role is Role.ARRANGEMENT),
    "page",
    "per_page",
    "view",
    "format",
    "dialect",
    "o",
}
# Parameters whose defaults on pages are not those of the API: addresses always state them.
STATED = ("metric", "period", "currency", "available")
ANY = "any"
DEFAULTS = {**QUERY_DEFAULTS, "cols": ",".join(columns.STANDARD), "measured": ANY, "available": ANY}
# The parameter that states how much of a part of the basis there is.
AMOUNTS = {parameter.part: parameter.name for parameter in PARAMETERS if parameter.part}
# Columns whose values are words and not a choice of the form above.
CATEGORIES = {column.name for column in COLUMNS if column.is_category} - SELECTORS
LISTS = {
    "o",
    *(parameter.name for parameter in PARAMETERS if parameter.is_list),
    *CATEGORIES,
    *(f"{name}!" for name in CATEGORIES),
}
# What a saved view means that does not state them.
API_DEFAULTS = {name: [DEFAULTS[name]] for name in STATED}
_YES, _NO = lazy("yes"), lazy("no")
BOOLEANS = {"1": _YES, "true": _YES, "yes": _YES, "0": _NO, "false": _NO, "no": _NO}


def clean(given: Mapping[str, Sequence[str]]) -> Params:
    """Parameters that say something: no empties, no defaults, lists joined by commas."""
    params: Params = {}
    for name, values in given.items():
        said = [value.strip() for value in values if value.strip()]
        if not _is_of_alternatives(name):
            # The ranking takes the last of a repeated value; links and units must state that one.
            said = said[-1:]
        if name in LISTS:
            parts = [part.strip() for value in said for part in value.split(",")]
            said = [",".join(dict.fromkeys(part for part in parts if part))] if parts else []
        # One address for one list: the same code in small letters would be another one for every cache.
        if name == "currency":
            said = [code.upper() for code in said]
        if name == "sort" and said:
            said = [_clean_order(said[-1])]
        # Every price includes the machine with its automatic discounts, so naming it says nothing.
        if name == "basis" and said:
            unsaid = {MACHINE, *BASIS_ALIASES}
            extras = [part for part in said[0].split(",") if part not in unsaid]
            said = [",".join(extras)]
        # Defaults are left out: one ranking has one address, which is short and is cached once.
        if any(said) and (name in STATED or said != [DEFAULTS.get(name)]):
            params[name] = said
    return _without_idle_parts(params)


def _is_of_alternatives(name: str) -> bool:
    """True if several values of a parameter count, all of them."""
    if name in LISTS:
        return True
    # Conditions on a column are alternatives; of a parameter that chooses, only one can hold.
    return name not in PARAMETER and name.removesuffix("!") in COLUMN


def _clean_order(sort: str) -> str:
    """An order without the keys that change nothing: each column counts where it stands first."""
    # Each link would else grow by a key, and an address can be made as long as a server takes.
    keys = dict.fromkeys(key.strip() for key in sort.split(",") if key.strip())
    first = {key.removeprefix("-"): key for key in reversed(keys)}
    return ",".join(key for key in keys if first[key.removeprefix("-")] == key)


def _without_idle_parts(params: Params) -> Params:
    idle = idle_parameters(lambda name: values(params, name))
    return {name: given for name, given in params.items() if name not in idle}


def known(params: Params) -> Params:
    """The parameters that mean something; for the others the ranking gives a warning."""
    return {
        name: values
        for name, values in params.items()
        if name in PARAMETER or name in ARRANGEMENT or words.parameter(name)[0] in COLUMN
    }


def change(params: Params, **changes: str | None) -> Params:
    """The parameters after the changes; None takes a parameter out."""
    merged = {**params, **{k: [v] for k, v in changes.items() if v is not None}}
    for name, new in changes.items():
        if new is None or (name not in STATED and [new] == [DEFAULTS.get(name)]):
            merged.pop(name, None)
    return merged


def encode(params: Params) -> str:
    """Query string with its `?`; empty without parameters."""
    # These three may stand unescaped in a query (RFC 3986, 3.4), and addresses are read by people.
    text = urlencode(params, doseq=True, safe=",!:")
    return f"?{text}" if text else ""


def query(params: Params, **changes: str | None) -> str:
    """Query string (with its `?`) after the changes; None takes a parameter out."""
    return encode(change(params, **changes))


def pairs(names: Container[str], params: Params) -> list[tuple[str, str]]:
    """Name and value of each hidden input that a form needs to pass on the named parameters."""
    return [(name, value) for name in params if name in names for value in params[name]]


def value(params: Params, name: str) -> str:
    """The value in force: given, or the default, or empty."""
    return params.get(name, [DEFAULTS.get(name, "")])[0]


def values(params: Params, name: str) -> list[str]:
    """The alternatives of a list in force."""
    return [part for text in params.get(name, []) for part in text.split(",") if part]


def cost(params: Params) -> str:
    """Unit of a price: currency per period, or the currency alone for a purchase."""
    currency = value(params, "currency")
    is_once = value(params, "term") == "purchase"
    return currency if is_once else f"{currency}/{value(params, 'period')}"


# --- chips ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chip:
    """An applied filter in words, and the URL without it."""

    label: str
    value: str
    url: str


def _chip_text(params: Params, name: str, column: str) -> str:
    if name == "basis":
        return parts_words(params)
    if name == "weights":
        return mix(params)
    if name == "tax_rate":
        return words.ratio(value(params, name))
    texts = params[name]
    if (column in COLUMN and COLUMN[column].kind is ColumnType.BOOLEAN) or name == "measured":
        return ", ".join(str(BOOLEANS.get(text.lower(), text)) for text in texts)
    if column in CATEGORIES:
        return ", ".join(str(words.category(column, value)) for value in values(params, name))
    return ", ".join(texts)


def parts_words(params: Params) -> str:
    """Parts of prices, in words: `machine + disk 500 GB + traffic 1,000 GB a month`."""
    parts = values(params, "basis")
    said = [] if "list" in parts else ["machine"]
    for part in parts:
        amount = value(params, AMOUNTS.get(part, ""))
        said.append(words.basis_part(part, amount))
    return " + ".join(said)


def mix(params: Params) -> str:
    """A weighted mix in words: `CPU, all threads ×2, Memory bandwidth ×1, against m5.large`."""
    parts = [part.partition(":") for part in values(params, "weights")]
    said = [f"{words.metric(key)} ×{weight or '1'}" for key, _, weight in parts]
    base = value(params, "base")
    return ", ".join([*said, *([_("against {base}", base=base)] if base else [])])


# --- links ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Heading:
    """Head of a sortable column: link, direction in force, place among the keys."""

    url: str
    # The key to send as `also`: the column after the present keys, or turned round in place.
    also: str
    direction: str
    ordinal: int | None

    @property
    def is_first_key(self) -> bool:
        """True if rows are sorted by this column before all others."""
        return self.ordinal == 1


@dataclass(frozen=True)
class SortKey:
    """A key of the order in words, with the links that turn it round and take it out."""

    name: str
    label: str
    is_descending: bool
    turn_url: str
    without_url: str


@dataclass(frozen=True)
class Address:
    """A page's path with its parameters; with a view, links state only what differs from it."""

    path: str
    params: Params
    view: str = ""
    # Parameters of the saved view, cleaned.
    kept: Params = field(default_factory=dict)

    def url(self, **changes: str | None) -> str:
        """The address after the changes; None takes a parameter out."""
        params = change(self.params, **changes)
        if self.view:
            params = shorten_params(params, self.kept, self.view)
        return self.path + encode(params)

    def chips(self) -> list[Chip]:
        """The filters in force, each with the link that takes it away."""
        chips = []
        for name in self.params:
            if name in SELECTORS | ARRANGEMENT or (name in PARAMETER and PARAMETER[name].owner):
                continue
            column, label, sign = words.parameter(name)
            text = _chip_text(self.params, name, column)
            parts = [parameter.name for parameter in PARAMETERS if parameter.owner == name]
            if name == "available":
                chips.append(_availability_chip(self, text))
                continue
            # The amounts of a basis mean nothing without it, and the page of a longer list is
            # another one.
            gone = dict.fromkeys([name, *parts, "page"])
            chips.append(Chip(label, f"{sign}{text}", self.url(**gone)))
        return chips

    def without_filters(self) -> str:
        """URL that keeps the selectors and the order, and nothing that has a chip."""
        gone = [name for name in self.params if name not in SELECTORS | ARRANGEMENT]
        return self.url(**dict.fromkeys([*gone, "page"]))

    def toggle(self, switch: Mapping[str, str]) -> tuple[bool, str]:
        """True if a ready-made filter is in force, and the URL that turns it on, or off again."""
        is_on = all(self.params.get(name) == [text] for name, text in switch.items())
        changes: dict[str, str | None] = dict.fromkeys(switch) if is_on else {**switch}
        return is_on, self.url(**changes, page=None)

    def heading(self, column: str) -> Heading:
        """Head of one column: a click sorts by it, a second click the other way round."""
        keys = sort_keys(self.params)
        names = [name for name, _ in keys]
        ordinal = names.index(column) + 1 if column in names else None
        # The first click shows the best: the highest of scores, the lowest of prices.
        first = COLUMN[column].is_descending_first
        if ordinal is None:
            alone = also = _key(column, is_descending=first)
            return Heading(self.url(sort=alone, page=None), also, "", None)
        is_descending = keys[ordinal - 1][1]
        turned = _key(column, is_descending=not is_descending)
        alone = turned if ordinal == 1 else _key(column, is_descending=first)
        direction = "descending" if is_descending else "ascending"
        return Heading(self.url(sort=alone, page=None), turned, direction, ordinal)

    def sorting(self) -> list[SortKey]:
        """The keys of the order, the foremost first."""
        keys = sort_keys(self.params)
        return [
            SortKey(
                name=name,
                label=COLUMN[name].label,
                is_descending=is_descending,
                turn_url=self._sort_link([*keys[:n], (name, not is_descending), *keys[n + 1 :]]),
                without_url=self._sort_link([*keys[:n], *keys[n + 1 :]]),
            )
            for n, (name, is_descending) in enumerate(keys)
        ]

    def _sort_link(self, keys: Iterable[tuple[str, bool]]) -> str:
        joined = ",".join(_key(name, is_descending=down) for name, down in keys)
        return self.url(sort=joined or None, page=None)


def _availability_chip(address: Address, text: str) -> Chip:
    """Chip of the default that leaves offers out: taking it away shows them, and the other way
    round."""
    if address.params["available"] == [ANY]:
        return Chip(_("No longer sold"), _("listed too"), address.url(available="TRUE", page=None))
    return Chip(COLUMN["available"].label, text, address.url(available=ANY, page=None))


def sort_keys(params: Params) -> list[tuple[str, bool]]:
    """Columns of the order in force and whether descending, the foremost first."""
    keys = [key.strip() for key in value(params, "sort").split(",") if key.strip()]
    return [(key.removeprefix("-"), key.startswith("-")) for key in keys]


def with_key(sort: str, added: str) -> str:
    """An order with one key more at its end, or turned round where its column is one already."""
    keys = [key for key in sort.split(",") if key]
    names = [key.removeprefix("-") for key in keys]
    column = added.removeprefix("-")
    if column in names:
        keys[names.index(column)] = added
        return ",".join(keys)
    return ",".join([*keys, added])


def _key(name: str, *, is_descending: bool) -> str:
    return f"-{name}" if is_descending else name


def chips(params: Params, path: str) -> list[Chip]:
    """The filters in force on a page that no view was opened on."""
    return Address(path, params).chips()
