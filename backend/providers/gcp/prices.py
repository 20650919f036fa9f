"""Prices of Google machine types: vCPUs × core + GiB × RAM + accelerators, from their SKUs.

The catalogue sells components, not machines; the compute interface says what a machine consists of.
"""

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from backend.foundation.units import EXACT, gib
from backend.money.price_lists import (
    NoPrice,
    ParsedPrice,
    ParsedType,
    Result,
    Skipped,
    SkipReason,
    answers,
)
from backend.money.pricing.purchase import PriceUnit, PurchaseModel
from backend.providers.gcp.skus import CORE, PROVIDER, RAM, WHOLE_MACHINES, Component, components

SOURCE = "Google Cloud Billing Catalog, https://cloud.google.com/skus/"
MIB = 2**20
# The table of discounts (pricing.billing.sustained_use) of each family that has one: a whole month costs
# 0.70 of 730 hours under n1, 0.80 under n2. It is no part of the price of an hour.
SUSTAINED_USE: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("n1", "m1", "m2", "f1", "g1"), "n1"),
        **dict.fromkeys(("n2", "n2d", "c2"), "n2"),
    }
)
# Families sold as a premium on another one's price.
ON_TOP_OF: Mapping[str, str] = MappingProxyType({"m2": "m1"})
# Types that show two vCPUs and are billed for the share of them that they get.
BILLED_VCPUS: Mapping[str, Decimal] = MappingProxyType(
    {"e2-micro": Decimal("0.25"), "e2-small": Decimal("0.5"), "e2-medium": Decimal(1)}
)
SHARED_CORE = {*BILLED_VCPUS, *WHOLE_MACHINES.values()}
STATED_GIB = re.compile(r"(?P<gib>[0-9]{1,6}(?:\.[0-9]{1,3})?) GB RAM")
# "GB", of which each is 1024 MiB.
ARCHITECTURES: Mapping[str, str] = MappingProxyType({"X86_64": "x86_64", "ARM64": "arm64"})
A3, A3_PLAIN = "a3-", "a3-highgpu"
# Families whose machines all have accelerators. Where the list of types leaves them out, the sum without
# them would be a small part of the price.
WITH_GPU = frozenset({"a2", "a3", "a4", "a4x", "g2", "g4"})

# Components by (family, part, region, purchase model).
Prices = Mapping[tuple[str, str, str, PurchaseModel], list[Component]]


@dataclass(frozen=True, slots=True)
class MachineShape:
    """Size of a machine type in one region. `accelerators` are (name, count)."""

    name: str
    region: str
    arch: str
    vcpu_count: Decimal
    memory_bytes: int
    # Not from the bytes: 0.6 GB are listed as 614 MiB, and billed as 0.6.
    memory_gib: Decimal
    accelerators: tuple[tuple[str, int], ...] = ()
    has_local_ssd: bool = False

    @property
    def family(self) -> str:
        """The family whose SKUs make its price. Kinds of a3 are sold apart under one name."""
        is_apart = self.name.startswith(A3) and not self.name.startswith(A3_PLAIN)
        return "-".join(self.name.split("-")[: 2 if is_apart else 1])

    @property
    def parts(self) -> list[tuple[str, str, Decimal]]:
        """(family, part, how many of them) that its price is the sum of."""
        gpus = [("", name, Decimal(count)) for name, count in self.accelerators]
        if self.name in WHOLE_MACHINES.values():
            return [("", self.name, Decimal(1)), *gpus]
        vcpus = BILLED_VCPUS.get(self.name, self.vcpu_count)
        families = [self.family, ON_TOP_OF.get(self.family, "")]
        return [
            (family, part, count)
            for family in families
            if family
            for part, count in ((CORE, vcpus), (RAM, self.memory_gib))
        ] + gpus


def shapes(pages: Iterable[str]) -> Iterator[MachineShape | Skipped]:
    """The machine types of each region once, from answers of machineTypes/aggregatedList.

    Raises InvalidValue for an answer that is not of this form.
    """
    seen: set[tuple[str, str]] = set()
    for number, page in enumerate(pages):
        where = f"page {number + 1}"
        answer = answers.mapping(answers.document(page, where=where), where=where)
        for zone, listed in answers.mapping(answer.get("items"), where=f"{where} items").items():
            # zones/us-central1-a; a region's offer is the same in all its zones.
            region = zone.rpartition("/")[2].rpartition("-")[0]
            types = answers.mapping(listed, where=f"{where} {zone}").get("machineTypes", [])
            for item in answers.objects(types, where=f"{where} {zone} machineTypes"):
                if (region, answers.word(item, "name")) not in seen:
                    seen.add((region, answers.word(item, "name")))
                    yield _shape(item, region)


def _shape(item: dict[str, Any], region: str) -> MachineShape | Skipped:
    name = answers.word(item, "name")
    vcpus, memory = (
        answers.above_zero(item.get("guestCpus")),
        answers.size(item.get("memoryMb"), MIB),
    )
    is_gone = answers.word(answers.inner(item, "deprecated"), "state") in {"OBSOLETE", "DELETED"}
    if not name or is_gone or vcpus is None or memory is None:
        reason = SkipReason.UNEXPECTED_SHAPE if name else SkipReason.NO_TYPE
        return Skipped(
            reason=SkipReason.NOT_OFFERED if is_gone else reason,
            provider=PROVIDER,
            raw_id=answers.word(item, "id"),
            offer=name,
            region=region,
        )
    listed = item.get("accelerators")
    gpus = answers.objects(listed, where=f"{name} accelerators") if listed else []
    return MachineShape(
        name=name,
        region=region,
        arch=ARCHITECTURES.get(answers.word(item, "architecture"), ""),
        vcpu_count=vcpus,
        memory_bytes=memory,
        memory_gib=_billing_gib(answers.word(item, "description"), gib(memory)),
        accelerators=tuple(
            (
                answers.word(gpu, "guestAcceleratorType"),
                answers.size(gpu.get("guestAcceleratorCount"), 1) or 1,
            )
            for gpu in gpus
        ),
        has_local_ssd=bool(item.get("bundledLocalSsds")),
    )


def _billing_gib(description: str, listed: Decimal) -> Decimal:
    """The size of "2 vCPUs, 1.8 GB RAM", where it is the one listed but for the cut of a MiB."""
    stated = STATED_GIB.search(description)
    size = listed if stated is None else Decimal(stated["gib"])
    # One that differs by more describes something else.
    return size if 0 <= size - listed < gib(MIB) else listed


def parse(skus: Iterable[str], machine_types: Iterable[MachineShape | Skipped]) -> Iterator[Result]:
    """On-demand and spot prices of the machine types, from the JSON texts of the catalogue.

    A type whose component is not for sale in its region, is listed twice, or is in another currency
    has no price and a reason. Raises InvalidValue for an answer that is not of this form.
    """
    prices: dict[tuple[str, str, str, PurchaseModel], list[Component]] = {}
    for component in components(skus):
        if isinstance(component, Skipped):
            yield component
        else:
            key = (component.family, component.part, component.region, component.purchase_model)
            prices.setdefault(key, []).append(component)
    for shape in machine_types:
        if isinstance(shape, Skipped):
            yield shape
        else:
            yield _type(shape)
            for model in (PurchaseModel.ON_DEMAND, PurchaseModel.SPOT):
                yield from _price_periods(shape, model, prices)


def _type(shape: MachineShape) -> ParsedType:
    return ParsedType(
        provider=PROVIDER,
        region=shape.region,
        name=shape.name,
        arch=shape.arch,
        vcpu_count=shape.vcpu_count,
        vcpu_kind="shared" if shape.name in SHARED_CORE else "dedicated",
        memory_bytes=shape.memory_bytes,
        gpu_count=sum(count for _, count in shape.accelerators) or None,
    )


def _price_periods(
    shape: MachineShape, model: PurchaseModel, prices: Prices
) -> Iterator[ParsedPrice | Skipped]:
    """The price of each period in which no component changes; a reason where there is none."""
    offered = [
        (f"{family} {part}".strip(), prices.get((family, part, shape.region, model), []), count)
        for family, part, count in shape.parts
    ]
    try:
        for first_day in _first_days([components for _, components, _ in offered]):
            used = [
                (_component(named, components, first_day), count)
                for named, components, count in offered
            ]
            yield _sum(shape, model, used)
    except NoPrice as why:
        yield answers.skip_row(
            why,
            provider=PROVIDER,
            raw_id=shape.name,
            offer=shape.name,
            region=shape.region,
            purchase_model=model,
        )


def _first_days(components: Iterable[list[Component]]) -> list[dt.date]:
    """Days on which the sum of components begins or changes, from the first that has them all."""
    days = [[component.valid_from or dt.date.min for component in each] for each in components]
    begin = max((min(each, default=dt.date.min) for each in days), default=dt.date.min)
    return sorted({begin, *(day for each in days for day in each if day > begin)})


def _component(named: str, components: list[Component], day: dt.date) -> Component:
    """The component as it is priced on a day."""
    newest: dict[str, Component] = {}
    for component in sorted(components, key=lambda component: component.valid_from or dt.date.min):
        if (component.valid_from or dt.date.min) <= day:
            newest[component.sku] = component
    offered = list(newest.values())
    if not offered:
        raise NoPrice(SkipReason.NO_COMPONENT, named)
    # Two SKUs at one price are one; of two prices none is right.
    if len({(component.amount, component.currency) for component in offered}) > 1:
        raise NoPrice(
            SkipReason.AMBIGUOUS, f"{named}: {', '.join(component.sku for component in offered)}"
        )
    return offered[0]


def _sum(
    shape: MachineShape, model: PurchaseModel, used: list[tuple[Component, Decimal]]
) -> ParsedPrice:
    if shape.has_local_ssd:
        # Sold by the GiB-month: without it the machine would look cheaper than it is.
        raise NoPrice(SkipReason.NO_COMPONENT, "local SSD")
    if shape.name.partition("-")[0] in WITH_GPU and not shape.accelerators:
        raise NoPrice(
            SkipReason.NO_COMPONENT, "accelerators, which the list of types does not give"
        )
    if not used:
        raise NoPrice(SkipReason.NO_COMPONENT, "its family")
    currencies = sorted({component.currency for component, _ in used})
    if len(currencies) > 1:
        raise NoPrice(SkipReason.MIXED_CURRENCY, ", ".join(currencies))
    amount = Decimal(0)
    for component, count in used:
        amount = EXACT.add(amount, EXACT.multiply(component.amount, count))
    table = SUSTAINED_USE.get(shape.family, "") if model is PurchaseModel.ON_DEMAND else ""
    gpus = dict(shape.accelerators)
    return ParsedPrice(
        provider=PROVIDER,
        offer=shape.name,
        region=shape.region,
        purchase_model=model,
        amount=amount,
        currency=currencies[0],
        unit=PriceUnit.HOUR,
        sustained_use=table,
        included={"accelerators": gpus} if gpus else {},
        source=SOURCE,
        raw_id="+".join(component.sku for component, _ in used),
        valid_from=max(filter(None, (component.valid_from for component, _ in used)), default=None),
    )
