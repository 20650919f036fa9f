"""The document of own hardware as it goes over the wire (schema 1).

Amounts and ratios are decimal strings, or JSON numbers that were read as Decimal; counts are whole
numbers. An assumption that is left out, or null, is taken from ASSUMPTIONS.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from backend.catalog.calc.hardware_assumptions import (
    ASSUMPTIONS,
    DISK_FAILURE_RATES,
    EURO_RATES,
    IN_EUROS,
    OF_A_SERVER,
    PRICED,
)
from backend.foundation.decimals import MAX_CHARS, read_decimal
from backend.foundation.documents.model import Document, Faults
from backend.foundation.documents.values import (
    PLAIN,
    JsonSchema,
    Many,
    Object,
    Text,
    Value,
    WholeNumber,
    Word,
    fault,
    shown,
)
from backend.foundation.texts import text as _
from backend.money.pricing.quoted import MOST_DECIMALS

# Bounds of what anybody plans, and of sums that a column holds.
MAX_SERVERS = 100_000
MAX_ITEMS = 1_000
MAX_COUNT = 1_000_000
MAX_PRICE = Decimal(9_999_999_999)  # what a column of money holds
MAX_WATTS = Decimal(1_000_000)
MAX_THREADS = 100_000
MAX_MEMORY_GIB = Decimal(1_000_000)
MAX_GB = Decimal(10_000_000)
MAX_LEASE_MONTHS = 240
RESALE = "resale_ratio_at_start"
# Assumptions that follow from other fields.
DERIVED = frozenset({*OF_A_SERVER, *IN_EUROS, RESALE})


@dataclass(frozen=True)
class Amount(Value):
    """A decimal string or exact JSON number, read with all its digits."""

    low: Decimal = Decimal(0)
    high: Decimal = MAX_PRICE
    editor: ClassVar[str] = "decimal"

    def read(self, value: Any) -> Decimal:
        number = read_decimal(value)
        if number is None:
            raise fault(f"{shown(value)} is not a decimal number")
        exponent = number.as_tuple().exponent
        if isinstance(exponent, int) and -exponent > MOST_DECIMALS:
            raise fault(f"{str(value)[:MAX_CHARS]} has more than {MOST_DECIMALS} decimals")
        if not self.low <= number <= self.high:
            detail = f"{str(value)[:MAX_CHARS]} is not a decimal number"
            raise fault(f"{detail} from {self.low:f} to {self.high:f}")
        return number

    def schema(self) -> JsonSchema:
        return PLAIN | {"minimum": float(self.low), "maximum": float(self.high)}

    def written(self, default: Any) -> str:
        return format(default, "f")


@dataclass(frozen=True)
class CurrencyCode(Text):
    """A three-letter code in capitals."""

    def read(self, value: Any) -> str:
        code = super().read(value)
        if re.fullmatch("[A-Z]{3}", code) is None:
            raise fault(f"{shown(code)} is not a three-letter code such as EUR")
        return code

    def schema(self) -> JsonSchema:
        return {"type": "string", "pattern": "^[A-Z]{3}$"}


def _assumption(name: str) -> Any:
    """A field with the default, range and words of an assumption."""
    known = ASSUMPTIONS[name]
    is_whole = name == "life_months"
    value: Value = Amount(low=known.low, high=known.high)
    if is_whole:
        value = WholeNumber(low=int(known.low), high=int(known.high))
    field: Any = Field(int(known.default) if is_whole else known.default)
    field.metadata.append(
        replace(
            value,
            unit=known.unit,
            label=known.label,
            source=known.source,
            is_derived=name in DERIVED - {RESALE},
        )
    )
    return field


class ItemDocument(Document):
    """A line of the bill of materials: the count of the whole set, the mean watts of one piece."""

    count: Annotated[int, WholeNumber(_("Quantity in the whole set"), low=1, high=MAX_COUNT)]
    name: Annotated[str, Text(_("What it is"), most=100)]
    unit_price: Annotated[Decimal, Amount(_("Price of one piece"), _("currency"))]
    watts: Annotated[Decimal, Amount(_("Mean draw of one piece"), "W", high=MAX_WATTS)] = Decimal(0)


class HardwareDiskDocument(Document):
    """Equal disks of the whole set."""

    count: Annotated[int, WholeNumber(_("Disks in the whole set"), low=1, high=MAX_COUNT)]
    gb: Annotated[Decimal, Amount(_("Size of one disk"), "GB", high=MAX_GB)]
    kind: Annotated[str, Word(_("Kind of disk"), choices=tuple(DISK_FAILURE_RATES))] = "ssd"
    unit_price: Annotated[
        Decimal, Amount(_("Price of one disk; 0 if an item already includes it"), _("currency"))
    ] = Decimal(0)
    annual_failure_rate: Annotated[
        Decimal | None,
        Amount(_("By default that of its kind"), _("failures per disk and year"), high=Decimal(1)),
    ] = None

    @property
    def failures_per_year(self) -> Decimal:
        rate = self.annual_failure_rate
        return self.count * (DISK_FAILURE_RATES[self.kind] if rate is None else rate)


class LeaseDocument(Document):
    """A rate for the whole set instead of its purchase."""

    price_per_month: Annotated[Decimal, Amount(_("Rate"), _("currency/month"))]
    term_months: Annotated[
        int, WholeNumber(_("Length of the lease"), _("months"), low=1, high=MAX_LEASE_MONTHS)
    ]


class HardwareDocument(Document):
    """A set of servers of one's own. An assumption left out, or null, has its default."""

    name: Annotated[str, Text(_("Name for people"), most=100)]
    currency: Annotated[str, CurrencyCode(_("As bought"))]
    servers: Annotated[
        int,
        WholeNumber(_("Number of servers in the set"), label=_("Servers"), low=1, high=MAX_SERVERS),
    ]
    items: Annotated[
        tuple[ItemDocument, ...],
        Many(_("Bill of materials"), label=_("What is bought"), low=1, high=MAX_ITEMS),
    ]
    life_months: int = _assumption("life_months")
    residual_ratio: Decimal = _assumption("residual_ratio")
    discount_rate_per_year: Decimal = _assumption("discount_rate_per_year")
    pue: Decimal = _assumption("pue")
    energy_price_per_kwh: Decimal = _assumption("energy_price_per_kwh")
    rack_units: Decimal = _assumption("rack_units")
    rack_price_per_unit_month: Decimal = _assumption("rack_price_per_unit_month")
    support_ratio_per_year: Decimal = _assumption("support_ratio_per_year")
    staff_hours_per_month: Decimal = _assumption("staff_hours_per_month")
    staff_price_per_hour: Decimal = _assumption("staff_price_per_hour")
    network_price_per_month: Decimal = _assumption("network_price_per_month")
    resale_ratio_at_start: Decimal = _assumption("resale_ratio_at_start")
    transit_mbit_per_s: Decimal = _assumption("transit_mbit_per_s")
    transit_price_per_mbit_month: Decimal = _assumption("transit_price_per_mbit_month")
    remote_hands_hours_per_year: Decimal = _assumption("remote_hands_hours_per_year")
    remote_hands_price_per_hour: Decimal = _assumption("remote_hands_price_per_hour")
    installation_price: Decimal = _assumption("installation_price")
    migration_price: Decimal = _assumption("migration_price")
    energy_inflation_per_year: Decimal = _assumption("energy_inflation_per_year")
    wage_inflation_per_year: Decimal = _assumption("wage_inflation_per_year")
    annual_failure_rate: Decimal = _assumption("annual_failure_rate")
    repair_days: Decimal = _assumption("repair_days")
    cpu: Annotated[
        str | None,
        Text(_("Processor model of one server"), label=_("Processor of a server"), most=150),
    ] = None
    cores: Annotated[
        int | None,
        WholeNumber(
            _("Cores of one server"), label=_("Cores of a server"), low=1, high=MAX_THREADS
        ),
    ] = None
    threads: Annotated[
        int | None,
        WholeNumber(
            _("Threads of one server"), label=_("Threads of a server"), low=1, high=MAX_THREADS
        ),
    ] = None
    memory_gib: Annotated[
        Decimal | None,
        Amount(
            _("Memory of one server"),
            "GiB",
            label=_("Memory of a server, GiB"),
            high=MAX_MEMORY_GIB,
        ),
    ] = None
    disks: Annotated[
        tuple[HardwareDiskDocument, ...],
        Many(_("Disks that are replaced when they fail"), label=_("Disks"), high=MAX_ITEMS),
    ] = ()
    lease: Annotated[
        LeaseDocument | None,
        Object(
            _("A rate for the whole set instead of its purchase"),
            label=_("Lease"),
            is_nullable=True,
        ),
    ] = None

    @property
    def hardware(self) -> Self:
        """With the assumptions that follow from what is stated."""
        defaults = _defaults(self.servers, self.currency, self.residual_ratio)
        left_out = DERIVED - self.model_fields_set
        return self.model_copy(update={name: defaults[name] for name in left_out})

    @property
    def purchase_price(self) -> Decimal:
        """Price of all items and disks; to be called in the context EXACT."""
        items = sum((item.count * item.unit_price for item in self.items), Decimal(0))
        return items + sum((disk.count * disk.unit_price for disk in self.disks), Decimal(0))

    def faults(self) -> Faults:
        if self.currency not in EURO_RATES:
            for name in set(IN_EUROS) - self.model_fields_set:
                yield (
                    name,
                    f"state it: its default is in euros, and no rate of {self.currency} is known",
                )
        for amount, price in PRICED.items():
            if getattr(self, amount) and not getattr(self, price):
                yield price, f"needed with {amount}: without a price it costs nothing"
        is_stated = "resale_ratio_at_start" in self.model_fields_set
        if is_stated and self.resale_ratio_at_start < self.residual_ratio:
            detail = f"{self.resale_ratio_at_start} is below residual_ratio, {self.residual_ratio}"
            yield "resale_ratio_at_start", detail


class OfferedHardwareDocument(HardwareDocument):
    """A set of servers of one's own, and the offer that it prices."""

    offer: Annotated[
        str | None,
        Text(_("Slug of a machine of the workspace; null makes own-<slug of the name>"), most=120),
    ] = None


FIELDS = tuple(HardwareDocument.model_fields)
ITEM_FIELDS = tuple(ItemDocument.model_fields)
WHOLE = frozenset({"servers", "life_months", "count", "cores", "threads", "term_months"})


def _defaults(servers: int, currency: str, residual_ratio: Decimal) -> dict[str, Decimal]:
    """Each assumption of such a set; amounts are in euros where no rate of its currency is known."""
    values = {name: assumption.default for name, assumption in ASSUMPTIONS.items()}
    for name in OF_A_SERVER:
        values[name] *= servers
    for name in IN_EUROS:
        values[name] *= EURO_RATES.get(currency, 1)
    values[RESALE] = max(values[RESALE], residual_ratio)
    return values


def names_that_differ(document: Mapping[str, Any]) -> frozenset[str]:
    """Assumptions of a whole document that differ from what a document without them would have."""
    residual_ratio = Decimal(document.get("residual_ratio", 0))
    defaults = _defaults(document["servers"], document["currency"], residual_ratio)
    stated = defaults.keys() & document.keys()
    return frozenset(name for name in stated if Decimal(document[name]) != defaults[name])


def shortest_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """A whole document without what follows its servers and currency, so that it follows again
    those of the version that is made from it."""
    without_rate = () if document["currency"] in EURO_RATES else IN_EUROS
    idle = DERIVED - {*without_rate} - names_that_differ(document)
    return {name: value for name, value in document.items() if name not in idle}


def hardware_from(document: object) -> HardwareDocument:
    """The hardware that a document describes; InvalidDocument names every field that is wrong."""
    return HardwareDocument.read(document).hardware


def hardware_document(hardware: HardwareDocument) -> dict[str, Any]:
    """The whole document, defaults included, that hardware_from reads back."""
    return {name: plain(value) for name, value in hardware.model_dump(include={*FIELDS}).items()}


def plain(value: Any) -> Any:
    """A value as JSON has it, amounts as decimal strings."""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value
