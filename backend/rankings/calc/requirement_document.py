"""The document of a requirement as it goes over the wire (schema 1).

Amounts are decimal strings, or JSON numbers that were read as Decimal; zero and null are no demand.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field
from pydantic_core import PydanticCustomError

from backend.benchmarks.calc.offered import KINDS
from backend.foundation.decimals import MAX_EXPONENT, read_decimal
from backend.foundation.documents.model import Document, Faults
from backend.foundation.documents.values import (
    PLAIN,
    Flag,
    JsonSchema,
    Many,
    Value,
    Word,
    escape_pointer,
    fault,
    fault_at,
    shown,
)
from backend.foundation.texts import text as _
from backend.foundation.units import HOURS_PER_MONTH
from backend.measure.metrics import METRICS
from backend.money.pricing.quoted import MOST_DECIMALS
from backend.rankings.calc.region_groups import REGION_GROUPS

SIZES = ("vcpu", "ram_gib", "disk_gb", "egress_gb_per_month")
MOST_AMOUNT = Decimal(10) ** 15
MOST_TARGETS = 12
MOST_SERVERS = 100_000
LIMIT, MOST_LIMIT = 25, 250
FAILURE_LIMIT, MOST_FAILURES = 100, 100_000


@dataclass(frozen=True)
class Demanded(Value):
    """An amount above zero; None for zero."""

    unit: str = _("of the fleet")

    def read(self, value: Any) -> Decimal | None:
        number = read_decimal(value)
        if number is None:
            raise fault(f"{shown(value)} is not a decimal number")
        if number == 0:
            return None
        if not 0 < number <= MOST_AMOUNT:
            raise fault(f"{str(value)[:40]} is not from 0 to 10^15")
        if -int(number.as_tuple().exponent) > MOST_DECIMALS:
            raise fault(f"more than {MOST_DECIMALS} decimals")
        return number

    def schema(self) -> JsonSchema:
        return PLAIN | {"minimum": 0, "maximum": float(MOST_AMOUNT)}


@dataclass(frozen=True)
class Targets(Value):
    """Amounts by metric."""

    def read(self, value: Any) -> dict[str, Decimal]:
        if not isinstance(value, Mapping):
            raise fault("an object is needed")
        targets: dict[str, Decimal] = {}
        faults: list[tuple[int | str, str]] = []
        for name, amount in value.items():
            if not name:
                faults.append(("", "the metric of an amount is needed"))
            elif name not in METRICS or not METRICS[name].ranking_variants:
                faults.append(
                    (f"/{escape_pointer(name)}", f"{shown(name)} is not a metric that ranks")
                )
            elif amount is not None:
                try:
                    number = Demanded().read(amount)
                except PydanticCustomError as error:
                    faults.append((f"/{name}", error.message()))
                else:
                    targets |= {name: number} if number else {}
        if len(targets) > MOST_TARGETS:
            faults.append(("", f"{len(targets)} targets are more than {MOST_TARGETS}"))
        if faults:
            raise fault_at(*faults)
        return targets

    def schema(self) -> JsonSchema:
        return {
            "type": "object",
            "additionalProperties": {**PLAIN, "type": ["string", "number", "null"]},
        }


@dataclass(frozen=True)
class Most(Value):
    """A whole number up to `most`; zero reads as `empty`."""

    most: int = 0
    empty: int | None = None

    def read(self, value: Any) -> int | None:
        number = None if isinstance(value, str) else read_decimal(value)
        if number is None or number != int(number) or not 0 <= number <= self.most:
            raise fault(f"a whole number up to {self.most} is needed")
        return int(number) or self.empty

    def schema(self) -> JsonSchema:
        return {"type": "integer", "minimum": 0, "maximum": self.most}


@dataclass(frozen=True)
class GivenText(Value):
    """Text as it stands there, judged by whoever takes it."""

    def read(self, value: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            raise fault("a three-letter code is needed")
        return value

    def schema(self) -> JsonSchema:
        return {"type": "string", "minLength": 1}


@dataclass(frozen=True)
class TextList(Value):
    """A text or a list of them, which may also stand in one text with commas between them."""

    choices: tuple[str, ...] = ()

    def read(self, value: Any) -> tuple[str, ...]:
        given = value if isinstance(value, list | tuple) else [value]
        if not all(isinstance(each, str) for each in given):
            raise fault("a text or a list of texts is needed")
        texts = [part.strip() for each in given for part in each.split(",") if part.strip()]
        if wrong := [text for text in texts if self.choices and text not in self.choices]:
            raise fault(f"{shown(wrong[0])} is not one of {', '.join(self.choices)}")
        return tuple(dict.fromkeys(texts))

    def schema(self) -> JsonSchema:
        items = {"type": "string"} | ({"enum": list(self.choices)} if self.choices else {})
        # Generators of clients take no items beside several types.
        return {"anyOf": [{"type": "string"}, {"type": "array", "items": items}]}


@dataclass(frozen=True)
class Filters(Value):
    """Parameters of a ranking: texts, numbers and flags, one or a list of each."""

    def read(self, value: Any) -> dict[str, tuple[str, ...]]:
        if not isinstance(value, Mapping):
            raise fault("an object is needed")
        filters: dict[str, tuple[str, ...]] = {}
        faults: list[tuple[int | str, str]] = []
        for name, given in value.items():
            values = given if isinstance(given, list | tuple) else [given]
            texts = [_text(each) for each in values if each is not None]
            if None in texts:
                faults.append((f"/{escape_pointer(name)}", "text or a number is needed"))
            filters[name] = tuple(text for text in texts if text is not None)
        if faults:
            raise fault_at(*faults)
        return filters

    def schema(self) -> JsonSchema:
        return {"type": "object"}


class RequirementDocument(Document):
    """Targets of a fleet. Zero, null and a field left out are no demand; one is needed."""

    targets: Annotated[
        dict[str, Decimal],
        Targets(
            _(
                "Metric key to an amount. Rates of whole machines are totals of the fleet; latencies "
                "(at most), ratios and results of one thread (at least) hold for each server"
            )
        ),
    ] = Field(default_factory=dict)
    vcpu: Annotated[Decimal | None, Demanded(_("vCPUs"))] = None
    ram_gib: Annotated[Decimal | None, Demanded(_("Memory"), "GiB")] = None
    disk_gb: Annotated[
        Decimal | None, Demanded(_("Disk; the part that servers lack is bought"), "GB")
    ] = None
    egress_gb_per_month: Annotated[
        Decimal | None, Demanded(_("Traffic to the internet"), "GB/month")
    ] = None
    hours_per_month: Annotated[
        Decimal | None,
        Demanded(_("Hours that stand for a month, up to 744"), stand_in=str(HOURS_PER_MONTH)),
    ] = None
    max_servers: Annotated[int | None, Most(_("The most servers"), most=MOST_SERVERS)] = None
    kinds: Annotated[
        tuple[Annotated[str, Word(choices=KINDS)], ...], Many(_("Kinds of offers; by default all"))
    ] = ()
    region: Annotated[tuple[str, ...], TextList(_("Codes of regions; by default all"))] = ()
    region_group: Annotated[
        tuple[str, ...], TextList(_("Parts of the world; by default all"), choices=REGION_GROUPS)
    ] = ()
    burstable: Annotated[
        bool, Flag(_("Types that cannot hold their speed under load compete, too"))
    ] = False
    currency: Annotated[str, GivenText(_("Three-letter code"), stand_in="USD")] = ""
    mixed: Annotated[bool, Flag(_("Fleets of several types as well"))] = False
    filters: Annotated[dict[str, tuple[str, ...]], Filters(_("Parameters of a ranking"))] = Field(
        default_factory=dict
    )
    limit: Annotated[int, Most(_("Most fleets in the answer"), most=MOST_LIMIT, empty=LIMIT)] = (
        LIMIT
    )
    infeasible_limit: Annotated[
        int,
        Most(
            _("Most offers in the answer that cannot do it"),
            most=MOST_FAILURES,
            empty=FAILURE_LIMIT,
        ),
    ] = FAILURE_LIMIT

    def faults(self) -> Faults:
        if not self.targets and not any(getattr(self, name) for name in SIZES):
            yield "targets", "a target, or an amount of vCPUs, memory, disk or traffic, is needed"

    @property
    def own(self) -> Mapping[str, tuple[str, ...]]:
        """The ranking parameters that are fields of the document."""
        hours = None if self.hours_per_month is None else format(self.hours_per_month, "f")
        values = {"hours_per_month": hours, "currency": self.currency}
        lists = {"region": self.region, "region_group": self.region_group}
        return {name: (text,) for name, text in values.items() if text} | {
            name: texts for name, texts in lists.items() if texts
        }

    @property
    def params(self) -> Mapping[str, tuple[str, ...]]:
        """All ranking parameters."""
        return {**self.filters, **self.own}


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, Decimal):
        is_short = abs(value.adjusted()) <= MAX_EXPONENT
        return format(value, "f") if is_short else str(value)
    return str(value) if isinstance(value, str | int) else None
