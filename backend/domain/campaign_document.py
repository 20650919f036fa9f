"""A campaign as people state it: the one description for API, files, forms and stored rows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from backend.domain.decimals import read_decimal
from backend.domain.documents.model import Document
from backend.domain.documents.stored_values import Identifier, Values
from backend.domain.documents.values import (
    PLAIN,
    Flag,
    JsonSchema,
    Many,
    Text,
    Value,
    WholeNumber,
    Word,
    fault,
    fault_at,
)
from backend.domain.profiles import PROFILES
from backend.domain.rentals import Budget

MAX_REPEATS = 50
MAX_CONCURRENCY = 10_000
MAX_MACHINES = 10_000
MAX_SLUG_LENGTH = 120
# On each side of the point.
MAX_AMOUNT_DIGITS = 10
CURRENCY = re.compile(r"[A-Z]{3}")
INSTALL_MEANING = "Missing tools are installed; left out: on machines to rent, and on no hosts"
PAIRS_MEANING = (
    "ring: each to the next; all: each to every other, hosts among themselves and offers among "
    "themselves; twins: each offer with a second machine of it"
)


class NetworkPairs(StrEnum):
    """Machines whose network is measured with each other."""

    NONE = "none"
    RING = "ring"
    ALL = "all"
    # Machines to rent can be had twice.
    TWINS = "twins"


@dataclass(frozen=True)
class Limit(Value):
    """An amount of money: {"amount": "49.00", "currency": "EUR"}."""

    def read(self, value: Any) -> Budget:
        if isinstance(value, Budget):
            return value
        if not isinstance(value, Mapping):
            raise fault("an object with amount and currency is needed")
        amount, currency = read_decimal(value.get("amount")), value.get("currency")
        faults = [(f"/{name}", "unknown field") for name in {*value} - {"amount", "currency"}]
        if amount is None or amount < 0:
            faults.append(("/amount", "an amount is a decimal such as 49.00, not below zero"))
        elif any(len(digits) > MAX_AMOUNT_DIGITS for digits in f"{amount:f}".split(".")):
            detail = f"at most {MAX_AMOUNT_DIGITS} digits before and after the point"
            faults.append(("/amount", detail))
        if not isinstance(currency, str) or not CURRENCY.fullmatch(currency):
            faults.append(("/currency", "three capital letters such as EUR are needed"))
        if faults:
            raise fault_at(*faults)
        return Budget(Decimal(f"{amount:f}"), str(currency))

    def schema(self) -> JsonSchema:
        currency = {"type": "string", "pattern": f"^{CURRENCY.pattern}$"}
        return {
            "type": "object",
            "properties": {"amount": PLAIN, "currency": currency},
            "required": ["amount", "currency"],
            "additionalProperties": False,
        }

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        as_stated = core_schema.plain_serializer_function_ser_schema(_budget_document)
        return core_schema.no_info_plain_validator_function(self.read, serialization=as_stated)


def _budget_document(budget: Budget | None) -> dict[str, str] | None:
    if budget is None:
        return None
    return {"amount": f"{budget.amount.normalize():f}", "currency": budget.currency}


class CampaignFields(Document):
    """Everything but the hosts, which files name and others identify. Machines to rent need a
    budget; the parameters purchase_model and lifetime_s are theirs."""

    offers: Annotated[
        list[Annotated[str, Text(most=MAX_SLUG_LENGTH)]],
        Many("Slugs of machines to rent", high=MAX_MACHINES),
    ] = []
    profile: Annotated[str, Word("How thoroughly it is measured", choices=tuple(PROFILES))]
    probes: Annotated[list[Any] | None, Many("All of the profile when left out")] = None
    parameters: Annotated[dict[str, Any], Values("Of the runs")] = {}
    repeats: Annotated[int, WholeNumber("Runs of each machine", low=1, high=MAX_REPEATS)] = 1
    concurrency: Annotated[int, WholeNumber("Runs at a time", low=1, high=MAX_CONCURRENCY)] = 4
    budget: Annotated[Budget | None, Limit("The most that a round may cost")] = None
    install_tools: Annotated[bool | None, Flag(INSTALL_MEANING)] = None
    network_pairs: Annotated[str, Word(PAIRS_MEANING, choices=tuple(NetworkPairs))] = "none"


# Fields that a row of a campaign has under the same names.
STORED = tuple(name for name in CampaignFields.model_fields if name != "offers")


class CampaignPlan(CampaignFields):
    """The machines of a campaign and how they are measured."""

    hosts: Annotated[
        list[Annotated[UUID, Identifier()]], Many("Identifiers of hosts", high=MAX_MACHINES)
    ] = []

    def differs_in(self, other: "CampaignPlan") -> list[str]:
        """Fields of a plan in which two are not alike; the order of a list means nothing."""
        return [
            name
            for name in CampaignPlan.model_fields
            if _ignore_order(getattr(self, name)) != _ignore_order(getattr(other, name))
        ]


def _ignore_order(value: object) -> object:
    return {repr(each) for each in value} if isinstance(value, list) else value


class CampaignDocument(CampaignPlan):
    """Hosts and offers to rent × a profile × a budget; `network_pairs` also measures between the
    hosts, and between machines of the offers, of which two more are rented for each pair."""

    name: Annotated[str, Text("What it is called", most=100)]


class CampaignEntry(CampaignFields):
    """Hosts × a profile × a budget, in a file."""

    name: Annotated[str, Text("What it is called", most=100)]
    hosts: Annotated[list[Annotated[str, Text()]], Many("Names of hosts", high=500)] = []
