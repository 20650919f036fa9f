"""Values of the documents of scenarios, and the limits that several of them share."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

from backend.catalog.calc.hardware_document import HardwareDocument, hardware_from
from backend.foundation.documents.model import Document, json_schema
from backend.foundation.documents.values import (
    DAY_S,
    PLAIN,
    Float,
    JsonSchema,
    Number,
    Text,
    Value,
    WholeNumberOr,
    Word,
    decimal,
    exact,
    fault,
    fault_at,
)
from backend.foundation.errors import InvalidDocument
from backend.foundation.texts import text as _
from backend.money.pricing.billing.lifetimes import CALENDAR, THIRTY_DAYS
from backend.scenarios.calc.traces import MOST_POINTS

OWN = _("our assumption")
HOUR, MONTH = "hour", "month"
PEAK, OPTIMAL = "peak", "optimal"
MOST_UNITS = "1000000000000"
MOST_MONEY = "1000000000"
MOST_SERVERS = 1_000_000
MOST_OPTIONS = 300
MOST_SEED = 2**32 - 1
ZERO = Fraction(0)
UNIT = _("unit of the demand")
CV = _("coefficient of variation")


@dataclass(frozen=True)
class Seconds(Float):
    """A duration of at most a month."""

    unit: str = "s"
    high: str | None = str(31 * DAY_S)


@dataclass(frozen=True)
class UnitNumber(Number):
    """Units, or servers, in a window."""

    def read(self, value: Any) -> Any:
        return decimal(super().read(value))


@dataclass(frozen=True)
class AmountNumber(Number):
    """An amount in the currency of the document."""

    unit: str = _("currency")
    high: str | None = MOST_MONEY


@dataclass(frozen=True)
class Ratio(Number):
    """A share of a whole."""

    unit: str = _("ratio")
    high: str | None = "1"


@dataclass(frozen=True)
class Convention(WholeNumberOr):
    """Definition of a month."""

    low: int = 1
    high: int = 8784
    words: tuple[str, ...] = (CALENDAR, THIRTY_DAYS)
    editor: ClassVar[str] = "convention"

    def _fault(self, value: Any) -> Any:
        return fault(f"{str(value)[:40]!r} is not calendar, 30d or a number of hours")


@dataclass(frozen=True)
class Count(WholeNumberOr):
    """Servers that are always on."""

    high: int = MOST_SERVERS
    words: tuple[str, ...] = (PEAK, OPTIMAL)
    editor: ClassVar[str] = "count"


@dataclass(frozen=True)
class Currency(Text):
    """A three-letter code."""

    def read(self, value: Any) -> str:
        code = super().read(value)
        if not (len(code) == 3 and code.isascii() and code.isalpha()):
            raise fault(f"{code!r} is not a three-letter code")
        return code.upper()


@dataclass(frozen=True)
class Weekdays(Value):
    """Days of the week, 0 = Monday."""

    editor: ClassVar[str] = "days"

    def read(self, value: Any) -> frozenset[int]:
        days = value if isinstance(value, list | tuple) and 1 <= len(value) <= 7 else (None,)
        if any(isinstance(d, bool) or not isinstance(d, int) or not 0 <= d <= 6 for d in days):
            raise fault("a list of days from 0 (Monday) to 6 is needed")
        return frozenset(days)

    def schema(self) -> JsonSchema:
        day = {"type": "integer", "minimum": 0, "maximum": 6}
        return {"type": "array", "items": day, "minItems": 1, "maxItems": 7}


@dataclass(frozen=True)
class FactorList(Value):
    """`count` factors, one an hour or weekday."""

    count: int = 0
    editor: ClassVar[str] = "numbers"

    def read(self, value: Any) -> tuple[float, ...]:
        if not isinstance(value, list | tuple) or len(value) != self.count:
            raise fault(f"a list of {self.count} to {self.count} is needed")
        factors = [exact(each) for each in value]
        known = tuple(float(each) for each in factors if each is not None and each >= 0)
        if len(known) != self.count:
            raise fault(f"{self.count} numbers from 0 on are needed")
        return known

    def schema(self) -> JsonSchema:
        count = self.count
        return {"type": "array", "items": PLAIN, "minItems": count, "maxItems": count}


@dataclass(frozen=True)
class Points(Value):
    """[time, value] pairs, which are read when all else is right: there may be millions."""

    def read(self, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise fault(f"a list of 1 to {MOST_POINTS} is needed")
        return value

    def schema(self) -> JsonSchema:
        return pairs({"type": "string", "format": "date-time"}, PLAIN)


@dataclass(frozen=True)
class Remarks(Value):
    """Sentences on a recording."""

    most: int = 50
    editor: ClassVar[str] = "remarks"

    def read(self, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list | tuple) or len(value) > self.most:
            raise fault(f"a list of at most {self.most} texts is needed")
        return tuple(Text(most=500).read(each) for each in value)

    def schema(self) -> JsonSchema:
        return {"type": "array", "items": Text(most=500).schema(), "maxItems": self.most}


@dataclass(frozen=True)
class Csv(Value):
    """`timestamp,value` lines."""

    editor: ClassVar[str] = "points"

    def read(self, value: Any) -> str:
        if not isinstance(value, str):
            raise fault("text is needed")
        return value

    def schema(self) -> JsonSchema:
        return {"type": "string", "minLength": 1}


@dataclass(frozen=True)
class Tiers(Value):
    """Prices by what is used: [up to, price] with growing bounds, the last null."""

    editor: ClassVar[str] = "pairs"

    def read(self, value: Any) -> tuple[tuple[Fraction | None, Fraction], ...]:
        if not isinstance(value, list | tuple) or len(value) > 50:
            raise fault("a list of 0 to 50 is needed")
        tiers: list[tuple[Fraction | None, Fraction]] = []
        for index, pair in enumerate(value):
            first, second = pair_of(pair)
            upper, price = exact(first), exact(second)
            lower = tiers[-1][0] if tiers else ZERO
            is_last = index == len(value) - 1
            is_upper_right = (first is None) == is_last and (
                is_last or (upper is not None and lower is not None and upper > lower)
            )
            if price is None or price < 0 or not is_upper_right:
                detail = "[up_to_gb, price] with growing bounds is needed, the last bound null"
                raise fault_at((index, detail))
            tiers.append((upper, price))
        return tuple(tiers)

    def schema(self) -> JsonSchema:
        return pairs({**PLAIN, "type": ["string", "number", "null"]}, PLAIN)


@dataclass(frozen=True)
class ShareTiers(Value):
    """[cumulative share of the month, factor] pairs, the last share 1."""

    editor: ClassVar[str] = "pairs"

    def read(self, value: Any) -> tuple[tuple[Fraction, Fraction], ...]:
        if not isinstance(value, list | tuple) or not 1 <= len(value) <= 20:
            raise fault("a list of 1 to 20 is needed")
        shares: list[tuple[Fraction, Fraction]] = []
        for index, pair in enumerate(value):
            share, factor = (exact(each) for each in pair_of(pair))
            lower = shares[-1][0] if shares else ZERO
            if share is None or factor is None or not lower < share <= 1 or factor < 0:
                detail = "[cumulative share, factor] with growing shares is needed"
                raise fault_at((index, detail))
            shares.append((share, factor))
        if shares[-1][0] != 1:
            raise fault("the last share must be 1")
        return tuple(shares)

    def schema(self) -> JsonSchema:
        return pairs(PLAIN, PLAIN)


class AfterDocument(Document):
    """Price of an hour or month of a server once a term has ended."""

    amount: Annotated[Fraction, AmountNumber(_("Price of the unit"), is_above=True)]
    currency: Annotated[str, Currency(_("Currency of the price"))] = ""
    unit: Annotated[
        str, Word(_("What the amount is for; that of the price"), choices=(HOUR, MONTH))
    ] = ""
    billing: Annotated[
        str, Word(_("By the second, or by the share of a month"), choices=("per_second", "monthly"))
    ] = ""


@dataclass(frozen=True)
class AfterPrice(Value):
    """An amount, or an object with one."""

    editor: ClassVar[str] = "after"

    def read(self, value: Any) -> AfterDocument:
        if not isinstance(value, Mapping):
            AmountNumber(is_above=True).read(value)
            value = {"amount": value}
        try:
            return AfterDocument.read(value)
        except InvalidDocument as error:
            raise fault_at(*error.errors) from None

    def schema(self) -> JsonSchema:
        return {"anyOf": [PLAIN, json_schema(AfterDocument)]}


@dataclass(frozen=True)
class OwnHardware(Value):
    """The document of own hardware."""

    missing: str = "the document of own hardware is needed"

    def read(self, value: Any) -> HardwareDocument:
        try:
            return hardware_from(value)
        except InvalidDocument as error:
            raise fault_at(*error.errors) from None

    def schema(self) -> JsonSchema:
        return json_schema(HardwareDocument)


def pair_of(value: Any) -> tuple[Any, Any]:
    """Both of a pair, or twice None."""
    is_pair = isinstance(value, list | tuple) and len(value) == 2
    return (value[0], value[1]) if is_pair else (None, None)


def pairs(first: JsonSchema, second: JsonSchema) -> JsonSchema:
    """The schema of a list of pairs."""
    pair = {"type": "array", "prefixItems": [first, second], "minItems": 2, "maxItems": 2}
    return {"type": "array", "minItems": 1, "items": pair}
