"""Prices of OVHcloud, from its public order catalogues: cloud instances and dedicated servers.

Prices are whole numbers of hundred-millionths, net (api.ovh.com/console, /order/catalog/public).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from backend.foundation.units import BYTES_PER_GB, BYTES_PER_GIB, EXACT
from backend.money.price_lists import (
    NoPrice,
    ParsedPrice,
    ParsedType,
    Result,
    SkipReason,
    answers,
)
from backend.money.pricing.purchase import PriceUnit, PurchaseModel

PROVIDER = "ovh"
CLOUD = "OVHcloud Public Cloud catalogue, https://www.ovhcloud.com/en/public-cloud/prices/"
SERVERS = "OVHcloud catalogue of dedicated servers, https://www.ovhcloud.com/en/bare-metal/prices/"
DEDICATED = "dedicated"
FRACTION_DIGITS = 8
# Such as b3-8.consumption, and b3-8.consumption.3AZ for regions of three zones.
INSTANCE = re.compile(r"((?:win-)?[a-z0-9-]+)\.consumption(?:\.[A-Za-z0-9]+)?")
WINDOWS = "win-"
DISK_KINDS = ("nvme", "ssd", "hdd")
PERCENT = Decimal(100)
EVERYWHERE = ""


@dataclass(frozen=True, slots=True)
class _Catalogue:
    """An answer."""

    currency: object
    tax_rate: Decimal | None
    plans: list[dict[str, Any]]
    addons: Mapping[str, dict[str, Any]]
    technical: Mapping[str, dict[str, Any]]
    """Parts of a product, by its name."""


def _catalogues(pages: Iterable[str]) -> Iterator[_Catalogue]:
    for number, page in enumerate(pages, start=1):
        where = f"page {number}"
        answer = answers.mapping(answers.document(page, where=where), where=where)
        rows = {
            key: answers.objects(answer.get(key), where=f"{where} {key}")
            for key in ("plans", "addons", "products")
        }
        locale = answers.inner(answer, "locale")
        percent = answers.number(locale.get("taxRate"))
        yield _Catalogue(
            currency=locale.get("currencyCode"),
            tax_rate=None if percent is None else EXACT.divide(percent, PERCENT),
            plans=rows["plans"],
            addons={answers.word(row, "planCode"): row for row in rows["addons"]},
            technical={answers.word(row, "name"): _technical(row) for row in rows["products"]},
        )


def _technical(item: dict[str, Any]) -> dict[str, Any]:
    return answers.inner(answers.inner(item, "blobs"), "technical")


def _rates(item: dict[str, Any], capacity: str, unit: str) -> list[Decimal]:
    """Rates of the item without a commitment: one, or none."""
    return [
        amount.scaleb(-FRACTION_DIGITS)
        for pricing in answers.inner_objects(item, "pricings")
        if capacity in answers.words(pricing, "capacities")
        and answers.word(pricing, "intervalUnit") == unit
        and answers.word(pricing, "mode") == "default"
        if (amount := answers.number(pricing.get("price"))) is not None
    ]


def _values(item: dict[str, Any], name: str) -> list[str]:
    """Choices of one kind."""
    for choice in answers.inner_objects(item, "configurations"):
        if answers.word(choice, "name") == name:
            return answers.words(choice, "values")
    return []


# --- cloud instances ------------------------------------------------------------------------------


def instances(pages: Iterable[str]) -> Iterator[Result]:
    """Hourly prices of Linux instances, from the catalogue `cloud`.

    Raises InvalidValue for an answer that is not of this form.
    """
    for catalogue in _catalogues(pages):
        for code, addon in catalogue.addons.items():
            if match := INSTANCE.fullmatch(code):
                yield from _instance(catalogue, addon, match[1])


def _instance(catalogue: _Catalogue, addon: dict[str, Any], name: str) -> Iterator[Result]:
    code = answers.word(addon, "planCode")
    technical = _server_facts(catalogue, addon)
    for region in _values(addon, "region") or [EVERYWHERE]:
        known = {"offer": name, "region": region}
        try:
            if name.startswith(WINDOWS):
                raise NoPrice(SkipReason.OTHER_SYSTEM)
            # Volumes and gateways are charged in the same way.
            if not answers.inner(technical, "cpu"):
                raise NoPrice(SkipReason.NOT_A_MACHINE)
            rates = _rates(addon, "consumption", "hour")
            amount = answers.amount(rates[0] if rates else None)
            currency = answers.currency(catalogue.currency)
        except NoPrice as why:
            yield answers.skip_row(why, provider=PROVIDER, raw_id=code, **known)
            continue
        yield ParsedType(
            provider=PROVIDER,
            region=region,
            name=name,
            kind="cloud",
            vcpu_count=answers.above_zero(answers.inner(technical, "cpu").get("cores")),
            memory_bytes=answers.size(
                answers.inner(technical, "memory").get("size"), BYTES_PER_GIB
            ),
            disk_bytes=_disk_bytes(technical),
            disk_kind=_disk_kind(technical),
        )
        yield ParsedPrice(
            provider=PROVIDER,
            offer=name,
            region=region,
            purchase_model=PurchaseModel.ON_DEMAND,
            amount=amount,
            currency=currency,
            unit=PriceUnit.HOUR,
            tax_rate=catalogue.tax_rate,
            source=CLOUD,
            raw_id=code,
        )


# --- dedicated servers ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Component:
    """A part that a server cannot be ordered without, as it is chosen unless somebody asks for more."""

    code: str
    monthly: Decimal
    setup: Decimal


def servers(pages: Iterable[str]) -> Iterator[Result]:
    """Monthly prices with their setup fees, from the catalogues `eco` and `baremetalServers`: each
    server with the default of every part that must be chosen.

    Raises InvalidValue for an answer that is not of this form.
    """
    for catalogue in _catalogues(pages):
        for plan in catalogue.plans:
            yield from _server(catalogue, plan)


def _server(catalogue: _Catalogue, plan: dict[str, Any]) -> Iterator[Result]:
    code = answers.word(plan, "planCode")
    sites = _values(plan, "dedicated_datacenter")
    try:
        if not code:
            raise NoPrice(SkipReason.NO_TYPE)
        if not sites:
            raise NoPrice(SkipReason.NO_REGION)
        parts = [
            _choose_component(catalogue, family)
            for family in answers.inner_objects(plan, "addonFamilies")
            if family.get("mandatory") is True
        ]
        # Checked before the parts are added: a server that costs nothing itself is no price.
        amount = answers.amount(next(iter(_rates(plan, "renew", "month")), None))
        currency = answers.currency(catalogue.currency)
    except NoPrice as why:
        for site in sites or [""]:
            known = {"offer": code, "region": site.upper()}
            yield answers.skip_row(why, provider=PROVIDER, raw_id=code, **known)
        return
    setup = next(iter(_rates(plan, "installation", "none")), Decimal(0))
    setup += sum(part.setup for part in parts)
    amount += sum(part.monthly for part in parts)
    for site in sites:
        yield _server_type(catalogue, plan, parts, site.upper())
        yield ParsedPrice(
            provider=PROVIDER,
            offer=code,
            region=site.upper(),
            purchase_model=PurchaseModel.MONTHLY,
            amount=amount,
            currency=currency,
            unit=PriceUnit.MONTH,
            setup_amount=answers.above_zero(setup),
            tax_rate=catalogue.tax_rate,
            source=SERVERS,
            raw_id=".".join([code, *(part.code for part in parts)]),
            note=answers.shown(answers.word(plan, "invoiceName")),
        )


def _choose_component(catalogue: _Catalogue, family: dict[str, Any]) -> _Component:
    """The default of a family, or the cheapest where none is named."""
    default = answers.word(family, "default")
    codes = [default] if default else answers.words(family, "addons")
    parts = [
        _Component(code, monthly, next(iter(_rates(addon, "installation", "none")), Decimal(0)))
        for code in codes
        if (addon := catalogue.addons.get(code)) is not None
        for monthly in _rates(addon, "renew", "month")[:1]
    ]
    if not parts:
        raise NoPrice(SkipReason.NO_COMPONENT, answers.word(family, "name"))
    return min(parts, key=lambda part: part.monthly)


def _server_type(
    catalogue: _Catalogue, plan: dict[str, Any], parts: Iterable[_Component], region: str
) -> ParsedType:
    technical = dict(_server_facts(catalogue, plan))
    for part in parts:
        technical |= _server_facts(catalogue, catalogue.addons[part.code])
    cpu = answers.inner(answers.inner(technical, "server"), "cpu")
    # Its threads are those of one processor.
    sockets = answers.above_zero(cpu.get("number")) or Decimal(1)
    threads = answers.above_zero(cpu.get("threads"))
    memory = answers.inner(technical, "memory").get("size")
    return ParsedType(
        provider=PROVIDER,
        region=region,
        name=answers.word(plan, "planCode"),
        kind=DEDICATED,
        cpu_model=f"{answers.word(cpu, 'brand')} {answers.word(cpu, 'model')}".strip(),
        vcpu_count=threads and sockets * threads,
        vcpu_kind=DEDICATED,
        memory_bytes=answers.size(memory, BYTES_PER_GIB),
        disk_bytes=_disk_bytes(technical),
        disk_kind=_disk_kind(technical),
    )


def _server_facts(catalogue: _Catalogue, item: dict[str, Any]) -> dict[str, Any]:
    return catalogue.technical.get(answers.word(item, "product")) or _technical(item)


# --- disks ----------------------------------------------------------------------------------------


def _disks(technical: dict[str, Any]) -> list[dict[str, Any]]:
    return answers.inner_objects(answers.inner(technical, "storage"), "disks")


def _disk_bytes(technical: dict[str, Any]) -> int | None:
    total = Decimal(0)
    for disk in _disks(technical):
        size_gb = answers.above_zero(disk.get("capacity"))
        if size_gb is None:
            return None
        total += size_gb * (answers.above_zero(disk.get("number")) or 1)
    return answers.size(total, BYTES_PER_GB)


def _disk_kind(technical: dict[str, Any]) -> str:
    words = [answers.word(disk, "technology").lower() for disk in _disks(technical)]
    kinds = [next((kind for kind in DISK_KINDS if kind in word), "") for word in words]
    return "+".join(dict.fromkeys(kinds)) if all(kinds) else ""
