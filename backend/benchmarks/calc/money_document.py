"""Amounts of money as people state them: {"amount": "49.00", "currency": "EUR"}."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, ClassVar

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from backend.foundation.decimals import read_decimal
from backend.foundation.documents.model import Document, json_schema
from backend.foundation.documents.values import PLAIN, JsonSchema, Text, Value, fault
from backend.providers.rentals import Budget

# On each side of the point.
MAX_AMOUNT_DIGITS = 10
CAPITALS = "three capital letters such as EUR are needed"
CURRENCY = Text(most=3, pattern="[A-Z]{3}", allowed=CAPITALS, missing=CAPITALS)


@dataclass(frozen=True)
class PlainAmount(Value):
    """A decimal string or JSON number of a few digits, kept as stated."""

    missing: str = "an amount is a decimal such as 49.00, not below zero"
    editor: ClassVar[str] = "decimal"

    def read(self, value: Any) -> Decimal:
        amount = read_decimal(value)
        if amount is None or amount < 0:
            raise fault(self.missing)
        # Without the exponent of 5e3, so that digits can be counted and stay as sent.
        plain = f"{amount:f}"
        if any(len(digits) > MAX_AMOUNT_DIGITS for digits in plain.split(".")):
            raise fault(f"at most {MAX_AMOUNT_DIGITS} digits before and after the point")
        return Decimal(plain)

    def schema(self) -> JsonSchema:
        return dict(PLAIN)


class AmountDocument(Document):
    """An amount of money."""

    amount: Annotated[Decimal, PlainAmount()]
    currency: Annotated[str, CURRENCY]


@dataclass(frozen=True)
class Limit(Value):
    """An amount of money that is read as a budget."""

    def read(self, value: Any) -> Budget:
        if isinstance(value, Budget):
            return value
        if not isinstance(value, Mapping):
            raise fault("an object with amount and currency is needed")
        stated = AmountDocument.model_validate(value)
        return Budget(stated.amount, stated.currency)

    def schema(self) -> JsonSchema:
        return json_schema(AmountDocument)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        as_stated = core_schema.plain_serializer_function_ser_schema(_budget_document)
        return core_schema.no_info_plain_validator_function(self.read, serialization=as_stated)


def _budget_document(budget: Budget | None) -> dict[str, str] | None:
    if budget is None:
        return None
    return {"amount": f"{budget.amount.normalize():f}", "currency": budget.currency}
