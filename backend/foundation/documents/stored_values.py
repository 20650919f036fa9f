"""Values of fields that rows store: identifiers, times of day, and objects kept whole."""

import datetime as dt
import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from backend.foundation.documents.values import JsonSchema, Value, fault, shown

TIME_OF_DAY = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?")


@dataclass(frozen=True)
class Values(Value):
    """Values by their names, which are checked where they are used."""

    def read(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
            raise fault("names with a value each are needed")
        return value

    def schema(self) -> JsonSchema:
        return {"type": "object"}


@dataclass(frozen=True)
class Identifier(Value):
    """A UUID."""

    def read(self, value: Any) -> UUID:
        try:
            return value if isinstance(value, UUID) else UUID(value)
        except (ValueError, TypeError, AttributeError):
            raise fault(f"{shown(value)} is not an identifier (UUID)") from None

    def schema(self) -> JsonSchema:
        return {"type": "string", "format": "uuid"}


@dataclass(frozen=True)
class TimeOfDay(Value):
    """A time of day without a zone: 22:00, or 22:00:30."""

    def read(self, value: Any) -> dt.time:
        if isinstance(value, dt.time):
            return value
        if not isinstance(value, str) or not TIME_OF_DAY.fullmatch(value):
            raise fault(f"{shown(value)} is not a time such as 22:00")
        return dt.time.fromisoformat(value)

    def schema(self) -> JsonSchema:
        return {"type": "string", "pattern": f"^{TIME_OF_DAY.pattern}$"}

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        as_stated = core_schema.plain_serializer_function_ser_schema(_clock_text)
        return core_schema.no_info_plain_validator_function(self.read, serialization=as_stated)


def _clock_text(time: dt.time) -> str:
    return time.isoformat("seconds" if time.second else "minutes")
