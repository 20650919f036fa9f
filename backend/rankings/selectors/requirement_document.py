"""The document of a requirement as it goes over the wire (schema 1), read strictly.

Amounts are decimal strings, or JSON numbers that were read as Decimal; zero and null are no demand.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from backend.catalog.models import Kind
from backend.common.rest.parameters import LARGEST_EXPONENT
from backend.domain.errors import InvalidDocument
from backend.domain.pricing.quoted import MOST_DECIMALS
from backend.rankings.selectors.query import RANKING_METRICS

FIELDS = (
    "targets",
    "ram_gib",
    "disk_gb",
    "egress_gb_per_month",
    "hours_per_month",
    "max_servers",
    "kinds",
    "currency",
    "mixed",
    "filters",
    "limit",
)
SIZES = ("ram_gib", "disk_gb", "egress_gb_per_month")
MOST_AMOUNT = Decimal(10) ** 15
MOST_TARGETS = 12
MOST_SERVERS = 100_000
LIMIT, MOST_LIMIT = 25, 250
_SHOWN = 40
_NUMBER = re.compile(r"[+-]?[0-9]{1,40}(?:\.[0-9]{1,40})?")

Params = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Asked:
    """A requirement as asked for; amounts above zero, None and missing keys are no demand.

    `params` are the ranking parameters, hours and currency among them where they are given.
    """

    targets: Mapping[str, Decimal] = field(default_factory=dict)
    ram_gib: Decimal | None = None
    disk_gb: Decimal | None = None
    egress_gb_per_month: Decimal | None = None
    max_servers: int | None = None
    kinds: tuple[str, ...] = ()
    mixed: bool = False
    limit: int = LIMIT
    params: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    """Names of `params` that are fields of the document, not of its filters."""


def asked_from(document: object) -> Asked:
    """What a document asks for.

    Raises InvalidDocument with every field that is unknown, of another type or outside its range.
    """
    if not isinstance(document, Mapping):
        raise InvalidDocument([("", "an object is needed")])
    reader = _Reader(document)
    params = reader.filters()
    hours = reader.amount("/hours_per_month", document.get("hours_per_month"))
    own = {"hours_per_month": hours and format(hours, "f"), "currency": reader.currency()}
    given = {name: (text,) for name, text in own.items() if text}
    asked = Asked(
        targets=reader.targets(),
        **{name: reader.amount(f"/{name}", document.get(name)) for name in SIZES},
        max_servers=reader.whole("max_servers", MOST_SERVERS),
        kinds=reader.kinds(),
        mixed=reader.flag("mixed"),
        limit=reader.whole("limit", MOST_LIMIT) or LIMIT,
        params={**params, **given},
        own=frozenset(given),
    )
    is_empty = not asked.targets and not any(getattr(asked, name) for name in SIZES)
    if is_empty and not reader.errors:
        reader.errors["/targets"] = "a target, or an amount of memory, disk or traffic, is needed"
    if reader.errors:
        raise InvalidDocument(sorted(reader.errors.items()))
    return asked


class _Reader:
    """Reads the fields; `errors` holds what is wrong by JSON pointer."""

    def __init__(self, document: Mapping[Any, Any]) -> None:
        self.document = document
        self.errors = {
            f"/{_escaped(str(name))}": "unknown field" for name in document if name not in FIELDS
        }

    def targets(self) -> dict[str, Decimal]:
        found: dict[str, Decimal] = {}
        targets = self._object("targets")
        for name, value in targets.items():
            place = f"/targets/{_escaped(str(name))}"
            if not name:
                self.errors["/targets"] = "the metric of an amount is needed"
            elif name not in RANKING_METRICS:
                self.errors[place] = f"{str(name)[:_SHOWN]!r} is not a metric that ranks"
            elif amount := self.amount(place, value):
                found[name] = amount
        if len(found) > MOST_TARGETS:
            self.errors["/targets"] = f"{len(found)} targets are more than {MOST_TARGETS}"
        return found

    def amount(self, place: str, value: object) -> Decimal | None:
        """A number above zero; None for zero, null and what is wrong."""
        number = _number(value)
        if value is None or number == 0:
            return None
        if number is None:
            self.errors[place] = f"{str(value)[:_SHOWN]!r} is not a decimal number"
        elif not 0 < number <= MOST_AMOUNT:
            self.errors[place] = f"{str(value)[:_SHOWN]} is not from 0 to 10^15"
        elif -int(number.as_tuple().exponent) > MOST_DECIMALS:
            self.errors[place] = f"more than {MOST_DECIMALS} decimals"
        else:
            return number
        return None

    def whole(self, name: str, most: int) -> int | None:
        value = self.document.get(name)
        number = None if isinstance(value, str) else self.amount(f"/{name}", value)
        if isinstance(value, str) or (number and (number != int(number) or number > most)):
            self.errors[f"/{name}"] = f"a whole number up to {most} is needed"
            return None
        return None if number is None else int(number)

    def flag(self, name: str) -> bool:
        value = self.document.get(name)
        if value is not None and not isinstance(value, bool):
            self.errors[f"/{name}"] = "true or false is needed"
        return value is True

    def kinds(self) -> tuple[str, ...]:
        values = self.document.get("kinds")
        if values is None:
            return ()
        if not isinstance(values, (list, tuple)):
            self.errors["/kinds"] = "a list is needed"
            return ()
        for index, value in enumerate(values):
            if value not in Kind.values:
                shown = str(value)[:_SHOWN]
                self.errors[f"/kinds/{index}"] = f"{shown!r} is not one of {', '.join(Kind.values)}"
        return tuple(dict.fromkeys(value for value in values if value in Kind.values))

    def currency(self) -> str:
        """The code as given; the parameters judge it."""
        value = self.document.get("currency")
        if value is None or (isinstance(value, str) and value.strip()):
            return value or ""
        self.errors["/currency"] = "a three-letter code is needed"
        return ""

    def filters(self) -> dict[str, tuple[str, ...]]:
        found = {}
        for name, value in self._object("filters").items():
            place = f"/filters/{_escaped(str(name))}"
            values = value if isinstance(value, (list, tuple)) else [value]
            texts = self._texts(place, [one for one in values if one is not None])
            found[str(name)] = tuple(texts)
        return found

    def _object(self, name: str) -> Mapping[Any, Any]:
        value = self.document.get(name)
        if value is None or isinstance(value, Mapping):
            return value or {}
        self.errors[f"/{name}"] = "an object is needed"
        return {}

    def _texts(self, place: str, values: Iterable[object]) -> list[str]:
        texts = []
        for value in values:
            if isinstance(value, bool):
                texts.append("1" if value else "0")
            elif isinstance(value, (str, int)):
                texts.append(str(value))
            elif isinstance(value, Decimal):
                texts.append(_plain(value))
            else:
                self.errors[place] = "text or a number is needed"
                texts.append("")
        return texts


def _number(value: object) -> Decimal | None:
    """The finite number that a value says, of a size that can be handled; None for another."""
    is_number = isinstance(value, (int, Decimal)) and not isinstance(value, bool)
    is_text = isinstance(value, str) and _NUMBER.fullmatch(value.strip())
    if not is_number and not is_text:
        return None
    number = Decimal(value.strip() if isinstance(value, str) else value)  # type: ignore[arg-type]
    return number if number.is_finite() and abs(number.adjusted()) <= LARGEST_EXPONENT else None


def _plain(number: Decimal) -> str:
    return format(number, "f") if abs(number.adjusted()) <= LARGEST_EXPONENT else str(number)


def _escaped(name: str) -> str:
    return name[:_SHOWN].replace("~", "~0").replace("/", "~1")


def document_from(params: Params) -> dict[str, Any]:
    """The document that parameters of an address stand for; what is no field of it is a filter.

    `target` is metric:amount, or a metric whose amount is the value of `amount` in the same place;
    several, also separated by commas.
    """
    last = {name: values[-1].strip() for name, values in params.items() if values}
    document: dict[str, Any] = {
        name: last[name] for name in FIELDS if last.get(name) and name not in {"targets", "filters"}
    }
    kinds = [part.strip() for value in params.get("kinds", ()) for part in value.split(",")]
    document["kinds"] = [kind for kind in kinds if kind]
    if "mixed" in document:
        words = {"1": True, "true": True, "on": True, "0": False, "false": False}
        document["mixed"] = words.get(document["mixed"].lower(), document["mixed"])
    for name in ("max_servers", "limit"):
        text = document.get(name, "")
        if text.isascii() and text.isdigit() and len(text) <= len(str(MOST_SERVERS)):
            document[name] = int(text)
    document["targets"] = dict(target_pairs(params))
    document["filters"] = {
        name: [value for value in values if value.strip()]
        for name, values in params.items()
        if name not in {*FIELDS, "target", "amount"}
    }
    return document


def target_pairs(params: Params) -> list[tuple[str, str]]:
    """(metric, amount) of each target as typed; a metric without an amount is left out."""
    amounts = list(params.get("amount", ()))
    pairs = []
    for place, value in enumerate(params.get("target", ())):
        beside = amounts[place].strip() if place < len(amounts) else ""
        for part in value.split(","):
            metric, colon, amount = (word.strip() for word in part.partition(":"))
            if colon or beside:
                pairs.append((metric, amount if colon else beside))
    return pairs
