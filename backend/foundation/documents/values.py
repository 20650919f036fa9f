"""Values of a document's fields: how each is read, its range, and how it is described to people.

A value stands in the annotation of a field: `Annotated[Fraction, Number("Price of the unit")]`.
"""

import datetime as dt
import re
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from backend.foundation.decimals import PATTERN, read_decimal
from backend.foundation.printable import NOT_TEXT
from backend.foundation.time_zones import region_zone

JsonSchema = dict[str, Any]

DAY_S = 86_400
MOST = 10**18
MOST_TEXT = 200
# Characters of a field's name that an error repeats.
MOST_NAME = 60
# Patterns of JSON Schema are not anchored by themselves.
NUMBER = f"^{PATTERN}$"
CLOCK = r"^([01][0-9]|2[0-4]):[0-5][0-9](:[0-5][0-9])?$"
PLAIN: JsonSchema = {"type": ["string", "number"], "pattern": NUMBER}
_CLOCK = re.compile(r"([01][0-9]|2[0-4]):([0-5][0-9])(?::([0-5][0-9]))?")


def fault(detail: str) -> PydanticCustomError:
    """A fault of a value, in words for people."""
    return PydanticCustomError("fault", "{detail}", {"detail": detail})


def escape_pointer(name: object) -> str:
    """A name within a JSON pointer (RFC 6901)."""
    # A name of megabytes is repeated in every error, also in logs.
    return str(name)[:MOST_NAME].replace("~", "~0").replace("/", "~1")


def fault_at(*faults: tuple[int | str, str]) -> ValidationError:
    """Faults of parts of a value: pairs of index, or JSON pointer, and words."""
    lines = [
        InitErrorDetails(type=fault(detail), loc=_loc(location), input=None)
        for location, detail in faults
    ]
    return ValidationError.from_exception_data("value", lines)


def _loc(location: int | str) -> tuple[int | str, ...]:
    if isinstance(location, int):
        return (location,)
    # In this order (RFC 6901, section 4): ~01 is the text ~1, not a slash.
    return tuple(each.replace("~1", "/").replace("~0", "~") for each in location.split("/")[1:])


@dataclass(frozen=True)
class Value:
    """Any value. Numbers of ranges are decimal strings."""

    meaning: str = ""
    unit: str = ""
    label: str = ""
    """In the editor; empty where the editor has no such field."""
    when: tuple[str, ...] = ()
    """Kinds that know the field; empty = all."""
    source: str = ""
    """Who stands for the default."""
    is_derived: bool = False
    """True if the default follows from other fields."""
    stand_in: str | None = None
    """Value where the model's default is None, as a document would state it."""
    is_needed: bool = False
    """Needed although the model has a default; beside `when`, needed by these kinds."""
    needed_with: tuple[str, ...] = ()
    """Kinds that need a field which others know as well; "" stands for no known kind."""
    is_nullable: bool = False
    """True if null leaves out an object; other fields may always be null."""
    missing: str = "a value is needed"
    editor: ClassVar[str] = "text"
    """How the editor writes it."""

    def read(self, value: Any) -> Any:
        """The value, or a fault."""
        raise AssertionError

    def schema(self) -> JsonSchema:
        """Its JSON Schema, without words."""
        raise AssertionError

    def written(self, default: Any) -> Any:
        """A default as the document would state it; None where it cannot be stated shortly."""
        return default if isinstance(default, str | int) else None

    @property
    def description(self) -> str:
        """Meaning, unit, kinds and source in one line."""
        is_word = "/" in self.unit or " " not in self.unit
        unit = f"in {self.unit}" if self.unit and is_word else self.unit
        kinds = f"only with {', '.join(self.when)}" if self.when else ""
        return "; ".join(part for part in (self.meaning, unit, kinds, self.source) if part)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchema:
        words = self.description
        return {**self.schema(), **({"description": words} if words else {})}


@dataclass(frozen=True)
class Object(Value):
    """An object with fields of its own."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return handler(source)

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchema:
        return {**handler(core), "description": self.description}


@dataclass(frozen=True)
class Many(Value):
    """A list of `low` to `high` values."""

    low: int = 0
    high: int = 1000

    def read(self, value: Any) -> Any:
        if not isinstance(value, list | tuple) or not self.low <= len(value) <= self.high:
            raise fault(f"a list of {self.low} to {self.high} is needed")
        return value

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.read, handler(source))

    def schema(self) -> JsonSchema:
        return {"type": "array", **self._bounds()}

    def _bounds(self) -> JsonSchema:
        return {"maxItems": self.high} | ({"minItems": self.low} if self.low else {})

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchema:
        return {**handler(core), **self._bounds(), "description": self.description}


@dataclass(frozen=True)
class Version(Value):
    """The number of the document's schema, 1."""

    missing: str = "1 is needed"

    def read(self, value: Any) -> Any:
        # 1.0 and true are equal to 1 and harmless.
        if value != 1:
            raise fault(self.missing)
        return 1

    def schema(self) -> JsonSchema:
        return {"type": "integer", "enum": [1]}


@dataclass(frozen=True)
class Number(Value):
    """A decimal string or JSON number, read as an exact fraction."""

    low: str = "0"
    high: str | None = None
    is_above: bool = False
    """True if `low` itself is too little."""
    editor: ClassVar[str] = "decimal"

    def read(self, value: Any) -> Any:
        number = exact(value)
        if number is None:
            raise fault(f"{shown(value)} is not a decimal number below 10^18")
        # Compared as fractions: 0.1 as a float lies above a tenth.
        least = Fraction(self.low)
        if number < least:
            raise fault(f"{value} is below {self.low}")
        if self.is_above and number == least:
            raise fault(f"{value} is not above {self.low}")
        if self.high is not None and number > Fraction(self.high):
            raise fault(f"{value} is above {self.high}")
        return number

    def schema(self) -> JsonSchema:
        low = "exclusiveMinimum" if self.is_above else "minimum"
        bounds = {low: self.low, "maximum": self.high}
        # JSON Schema has no exact decimals; the reader decides, this only describes.
        return PLAIN | {name: float(bound) for name, bound in bounds.items() if bound is not None}

    def written(self, default: Any) -> Any:
        return format(decimal(Fraction(str(default))), "f")


@dataclass(frozen=True)
class Float(Number):
    """A number that is calculated with in floating point."""

    def read(self, value: Any) -> float:
        if self.is_above and exact(value) == Fraction(self.low):
            raise fault(f"{float(value)} is not a number above {self.low}")
        return float(super().read(value))


@dataclass(frozen=True)
class WholeNumber(Value):
    """A whole number, as JSON has it."""

    low: int = 0
    high: int = MOST - 1
    editor: ClassVar[str] = "whole"

    def read(self, value: Any) -> Any:
        # True is an int to Python. 1.0 is refused too: who counts in floats may mean 1.5.
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._fault(value)
        if not self.low <= value <= self.high:
            raise self._fault(value)
        return value

    def _fault(self, value: Any) -> PydanticCustomError:
        return fault(f"{shown(value)} is not a whole number from {self.low} to {self.high}")

    def schema(self) -> JsonSchema:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True)
class Text(Value):
    """Text of at most `most` characters, without the blanks around it."""

    most: int = MOST_TEXT
    least: int = 1
    """0: "" is a value."""
    is_line: bool = False
    """True if every character is printable."""
    is_secret: bool = False
    """True if it is never shown."""
    pattern: str = ""
    """Regular expression of the whole; `allowed` says it in words."""
    allowed: str = ""

    def read(self, value: Any) -> str:
        text = value.strip() if isinstance(value, str) and len(value) <= self.most else None
        if text is None or len(text) < self.least:
            raise fault(self.allowed or f"text of {self.least} to {self.most} characters is needed")
        # PostgreSQL stores neither.
        if NOT_TEXT.search(text):
            raise fault("a NUL character or half a character is not text")
        if self.is_line and not text.isprintable():
            raise fault(f"{self.least} to {self.most} printable characters are needed")
        if self.pattern and not re.fullmatch(self.pattern, text):
            raise fault(f"{shown(text)}: {self.allowed}")
        return text

    def schema(self) -> JsonSchema:
        schema = {"type": "string", "minLength": self.least, "maxLength": self.most}
        pattern = {"pattern": f"^{self.pattern}$"} if self.pattern else {}
        return schema | pattern | ({"writeOnly": True} if self.is_secret else {})


@dataclass(frozen=True)
class Word(Value):
    """A word of a fixed set."""

    choices: Collection[str] = ()
    """As a mapping, each with its label in the editor."""
    editor: ClassVar[str] = "choice"

    def read(self, value: Any) -> str:
        if not isinstance(value, str) or value not in self.choices:
            raise fault(f"{shown(value)} is not one of {', '.join(self.choices)}")
        return value

    def schema(self) -> JsonSchema:
        return {"type": "string", "enum": list(self.choices)}


@dataclass(frozen=True)
class Flag(Value):
    """True or false."""

    editor: ClassVar[str] = "flag"

    def read(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise fault("true or false is needed")
        return value

    def schema(self) -> JsonSchema:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Zone(Value):
    """A time zone: a region of the IANA database, or UTC."""

    def read(self, value: Any) -> str:
        name = Text().read(value)
        try:
            return region_zone(name).key
        except ValueError as error:
            raise fault(str(error)) from None

    def schema(self) -> JsonSchema:
        return {"type": "string", "minLength": 1}


@dataclass(frozen=True)
class Clock(Value):
    """A time of day (HH:MM, up to 24:00), read as seconds since midnight."""

    high_s: int = DAY_S

    def read(self, value: Any) -> int:
        match = _CLOCK.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise fault(f"{shown(value)} is not a time of day such as 22:00")
        hours, minutes, rest = (int(part or 0) for part in match.groups())
        seconds = hours * 3600 + minutes * 60 + rest
        if seconds > DAY_S:
            raise fault(f"{shown(value)} is not a time of day such as 22:00")
        if seconds > self.high_s:
            # Without this a window could begin at the end of its day and never be open.
            raise fault("24:00 is the end of a day, not a start")
        return seconds

    def schema(self) -> JsonSchema:
        return {"type": "string", "pattern": CLOCK}


@dataclass(frozen=True)
class Moment(Value):
    """An ISO 8601 time with zone, read as seconds since 1970."""

    def read(self, value: Any) -> int:
        second = instant_s(value)
        if second is None:
            raise fault(f"{shown(value)} is not an ISO 8601 time with zone, of whole seconds")
        return second

    def schema(self) -> JsonSchema:
        return {"type": "string", "format": "date-time"}


@dataclass(frozen=True)
class WholeNumberOr(WholeNumber):
    """A whole number, or one of some words."""

    words: tuple[str, ...] = ()

    def read(self, value: Any) -> Any:
        return value if isinstance(value, str) and value in self.words else super().read(value)

    def _fault(self, value: Any) -> PydanticCustomError:
        words = ", ".join(self.words)
        detail = f"is not a whole number from {self.low} to {self.high}, {words}"
        return fault(f"{shown(value)} {detail}")

    def schema(self) -> JsonSchema:
        return {"anyOf": [super().schema(), {"enum": list(self.words)}]}


def shown(value: object) -> str:
    """The value in a message; a number of thousands of digits is not printed."""
    if isinstance(value, int) and abs(value) >= MOST:
        return "a number beyond 10^18"
    return repr(str(value)[:40])


def exact(value: object) -> Fraction | None:
    """The exact value of a JSON number or decimal string below 10^18; None for anything else."""
    number = read_decimal(value)
    return Fraction(number) if number is not None and abs(number) < MOST else None


def instant_s(value: object) -> int | None:
    """Seconds since 1970 of an ISO 8601 time with zone before 2200; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        at = dt.datetime.fromisoformat(value)
    except ValueError:
        return None
    # Without a zone it would be the server's, and another one after a move.
    if at.tzinfo is None or at.microsecond or not 1971 <= at.year < 2200:
        return None
    return int(at.timestamp())


def decimal(number: Fraction) -> Decimal:
    """A fraction that was read from a decimal, as that decimal."""
    # Exact: the fraction came from a decimal, so its denominator divides a power of ten.
    return Decimal(number.numerator) / Decimal(number.denominator)
