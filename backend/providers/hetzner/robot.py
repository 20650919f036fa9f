"""Prices of Hetzner's dedicated servers: those to order and those of the server auction.

Robot's web service (robot.hetzner.com/doc/webservice, Server ordering) lists both for customers; the
auction is also a public file, that of its page. Prices are net and without an address.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from backend.foundation.units import BYTES_PER_GB, BYTES_PER_GIB
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

PROVIDER = "hetzner"
ORDER = "Hetzner Robot products, https://www.hetzner.com/dedicated-rootserver/"
AUCTION = "Hetzner server auction, https://www.hetzner.com/sb/"
# Neither names it: Robot's prices are euros, and there is a file of the auction for each currency.
CURRENCY = "EUR"
DEDICATED = "dedicated"
SIGNS = re.compile("[\N{REGISTERED SIGN}\N{TRADE MARK SIGN}]")
MEMORY = re.compile(r"(\d+) ?GB\b.*(?:DDR|RAM|ECC)")
DISKS = re.compile(r"(\d+) ?x (?:.*?)(\d+(?:[.,]\d+)?) ?([GT])B\b")
KINDS = {"NVMe": "nvme", "SSD": "ssd"}
# Of the auction's file; `general` says the same again.
LISTS = {"nvme": "nvme", "sata": "ssd", "hdd": "hdd"}


@dataclass(frozen=True, slots=True)
class _Disks:
    """So many alike."""

    count: int
    size_gb: Decimal
    kind: str

    def __str__(self) -> str:
        return f"{self.count}x{self.size_gb.normalize():f} GB {self.kind}"


# --- servers to order -----------------------------------------------------------------------------


def products(pages: Iterable[str]) -> Iterator[Result]:
    """Monthly prices with their setup fees, from the JSON texts of /order/server/product.

    Raises InvalidValue for an answer that is not of this form.
    """
    for product in _products(pages):
        name = answers.word(product, "id")
        if not name:
            yield Skipped(reason=SkipReason.NO_TYPE, provider=PROVIDER, raw_id="")
            continue
        for price in _objects(product, "prices"):
            region = answers.word(price, "location").lower()
            try:
                yield _server_price(name, region, price)
            except NoPrice as why:
                known = {"offer": name, "region": region}
                yield answers.skip_row(why, provider=PROVIDER, raw_id=name, **known)
            else:
                yield _product_type(product, name, region)


def _products(pages: Iterable[str]) -> Iterator[dict[str, Any]]:
    for number, page in enumerate(pages, start=1):
        where = f"page {number}"
        for item in answers.objects(answers.document(page, where=where), where=where):
            yield answers.mapping(item.get("product"), where=f"{where} product")


def _server_price(name: str, region: str, price: dict[str, Any]) -> ParsedPrice:
    if not region:
        raise NoPrice(SkipReason.NO_REGION)
    return ParsedPrice(
        provider=PROVIDER,
        offer=name,
        region=region,
        purchase_model=PurchaseModel.MONTHLY,
        amount=answers.amount(answers.inner(price, "price").get("net")),
        currency=CURRENCY,
        unit=PriceUnit.MONTH,
        setup_amount=answers.above_zero(answers.inner(price, "price_setup").get("net")),
        source=ORDER,
        raw_id=f"{name}/{region}",
    )


def _product_type(product: dict[str, Any], name: str, region: str) -> ParsedType:
    lines = answers.words(product, "description")
    memory = next((match[1] for match in map(MEMORY.search, lines) if match), None)
    return _type(
        name, region, lines[0] if lines else "", answers.above_zero(memory), _disks_in_words(lines)
    )


# --- the auction ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Lot:
    """A server of the auction."""

    raw_id: str
    cpu: str
    memory_gb: Decimal | None
    is_ecc: bool
    disks: tuple[_Disks, ...]
    region: str
    price: object
    setup: object

    @property
    def name(self) -> str:
        """Lots of one name are alike."""
        memory = f"{self.memory_gb.normalize():f} GB" if self.memory_gb else ""
        parts = (memory + (" ECC" if self.is_ecc else ""), " + ".join(map(str, self.disks)))
        return ", ".join(filter(None, (f"Auction {self.cpu}", *parts)))


def auction(pages: Iterable[str]) -> Iterator[Result]:
    """The cheapest of the lots that are alike, from the JSON texts of the auction's public file."""
    return _cheapest(map(_file_lot, answers.items(pages, "server")))


def market(pages: Iterable[str]) -> Iterator[Result]:
    """The same from /order/server_market/product, which says less of the disks."""
    return _cheapest(map(_market_lot, _products(pages)))


def _file_lot(item: dict[str, Any]) -> _Lot:
    return _Lot(
        raw_id=answers.word(item, "id"),
        cpu=SIGNS.sub("", answers.word(item, "cpu")),
        memory_gb=answers.above_zero(item.get("ram_size")),
        is_ecc=item.get("is_ecc") is True,
        disks=_disk_list(answers.inner(item, "serverDiskData")),
        region=_location(item),
        price=item.get("price"),
        setup=item.get("setup_price"),
    )


def _market_lot(product: dict[str, Any]) -> _Lot:
    lines = answers.words(product, "description")
    size_gb = answers.above_zero(product.get("hdd_size"))
    count = answers.size(product.get("hdd_count"), 1)
    kind = _kind(" ".join(lines))
    return _Lot(
        raw_id=answers.word(product, "id"),
        cpu=SIGNS.sub("", answers.word(product, "cpu")),
        memory_gb=answers.above_zero(product.get("memory_size")),
        is_ecc="ECC" in " ".join([*lines, answers.word(product, "hdd_text")]),
        disks=(_Disks(count, size_gb, kind),) if size_gb and count else (),
        region=_location(product),
        price=product.get("price"),
        setup=product.get("price_setup"),
    )


def _location(item: dict[str, Any]) -> str:
    """Location, as the cloud calls it, of a data centre such as FSN1-DC14."""
    return answers.word(item, "datacenter").partition("-")[0].lower()


def _cheapest(lots: Iterable[_Lot]) -> Iterator[Result]:
    best: dict[tuple[str, str], ParsedPrice] = {}
    for lot in lots:
        known = {"provider": PROVIDER, "raw_id": lot.raw_id, "offer": lot.name}
        try:
            price = _lot_price(lot)
        except NoPrice as why:
            yield answers.skip_row(why, **known, region=lot.region)
            continue
        other = best.setdefault((lot.name, lot.region), price)
        if other is price:
            yield _type(lot.name, lot.region, lot.cpu, lot.memory_gb, lot.disks)
            continue
        dearer = max(other, price, key=lambda price: price.amount)
        best[lot.name, lot.region] = price if dearer is other else other
        yield Skipped(
            reason=SkipReason.SUPERSEDED,
            provider=PROVIDER,
            raw_id=dearer.raw_id,
            detail="a cheaper one is like it",
            offer=lot.name,
            region=lot.region,
        )
    yield from best.values()


def _lot_price(lot: _Lot) -> ParsedPrice:
    if not lot.cpu:
        raise NoPrice(SkipReason.NO_TYPE)
    if not lot.region:
        raise NoPrice(SkipReason.NO_REGION)
    return ParsedPrice(
        provider=PROVIDER,
        offer=lot.name,
        region=lot.region,
        purchase_model=PurchaseModel.MONTHLY,
        amount=answers.amount(lot.price),
        currency=CURRENCY,
        unit=PriceUnit.MONTH,
        setup_amount=answers.above_zero(lot.setup),
        source=AUCTION,
        raw_id=lot.raw_id,
    )


# --- machines -------------------------------------------------------------------------------------


def _type(
    name: str, region: str, cpu: str, memory_gb: Decimal | None, disks: Iterable[_Disks]
) -> ParsedType:
    known = list(disks)
    size_gb = sum((disks.count * disks.size_gb for disks in known), Decimal(0))
    return ParsedType(
        provider=PROVIDER,
        region=region,
        name=name,
        kind=DEDICATED,
        cpu_model=SIGNS.sub("", cpu),
        vcpu_kind=DEDICATED,
        # Modules have GiB, whatever they are called.
        memory_bytes=answers.size(memory_gb, BYTES_PER_GIB),
        disk_bytes=answers.size(size_gb, BYTES_PER_GB),
        disk_kind="+".join(dict.fromkeys(disks.kind for disks in known)),
    )


def _disks_in_words(lines: Iterable[str]) -> Iterator[_Disks]:
    """Disks of lines such as "2 x 512 GB NVMe SSD" and "2x HDD SATA 2,0 TB Enterprise"."""
    for line in lines:
        match = DISKS.search(line)
        if match and not MEMORY.search(line):
            size = Decimal(match[2].replace(",", ".")) * (1000 if match[3] == "T" else 1)
            yield _Disks(int(match[1]), size, _kind(line))


def _kind(text: str) -> str:
    return next((kind for word, kind in KINDS.items() if word in text), "hdd")


def _disk_list(lists: dict[str, Any]) -> tuple[_Disks, ...]:
    counts = Counter(
        (size_gb, kind)
        for name, kind in LISTS.items()
        for size in answers.values(lists, name)
        if (size_gb := answers.above_zero(size)) is not None
    )
    return tuple(_Disks(count, size_gb, kind) for (size_gb, kind), count in counts.items())


def _objects(item: dict[str, Any], key: str) -> list[dict[str, Any]]:
    return answers.objects(item.get(key), where=key) if item.get(key) else []
