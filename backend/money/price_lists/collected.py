"""Rules over all rows of an answer: one price a key, and a reason for each type without."""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Context, Decimal

from backend.money.price_lists import (
    LARGEST_AMOUNT,
    Key,
    ParsedExtra,
    ParsedPrice,
    ParsedType,
    Result,
    Skipped,
    SkipReason,
)
from backend.money.price_lists.answers import shown
from backend.money.pricing.purchase import PurchaseModel

NEARNESS = {reason: rank for rank, reason in enumerate(SkipReason)}
# Decimals that are kept of an amount and of a tax rate; nothing is rounded to fit.
DECIMALS, TAX_DECIMALS = 18, 4
LONGEST_NAME, LONGEST_CODE = 150, 50
# Amounts from outside may have any length: with fewer digits the test would round away what it
# looks for.
WIDE = Context(prec=100)


def unique(results: Iterable[Result], day: dt.date | None = None) -> Iterator[Result]:
    """The results with one price a key on the day and on each later day on which it changes.

    Types come once a region. Prices come last, since a later row may contradict an earlier one.
    Rows that agree are one price; of rows that differ none is right, for nothing tells which.
    Without a day every price has begun and none has ended.
    """
    prices: dict[Key, ParsedPrice] = {}
    more: dict[Key, list[ParsedPrice]] = {}
    types: set[tuple[str, str]] = set()
    for result in results:
        if isinstance(result, ParsedPrice):
            first = prices.setdefault(result.key, result)
            if first is not result:
                more.setdefault(result.key, [first]).append(result)
        elif isinstance(result, ParsedType):
            if (result.region, result.name) not in types:
                types.add((result.region, result.name))
                yield result
        else:
            yield result
    for key, price in prices.items():
        yield from _settle(more.get(key, [price]), day)


def _settle(prices: list[ParsedPrice], day: dt.date | None) -> Iterator[Result]:
    present, announced = [], dict[dt.date | None, list[ParsedPrice]]()
    for price in prices:
        if day is not None and price.valid_until is not None and price.valid_until < day:
            yield not_used(price, SkipReason.SUPERSEDED, f"until {price.valid_until}")
        elif price.begins_after(day):
            announced.setdefault(price.valid_from, []).append(price)
        else:
            present.append(price)
    newest: dict[str, dt.date] = {}
    for price in present:
        newest[_sku(price)] = max(_first_day(price), newest.get(_sku(price), dt.date.min))
    current = []
    for price in present:
        if _first_day(price) == newest[_sku(price)]:
            current.append(price)
        else:
            yield not_used(price, SkipReason.SUPERSEDED, f"from {price.valid_from}")
    for rows in (current, *announced.values()):
        yield from _agree(rows)


def _first_day(price: ParsedPrice) -> dt.date:
    return price.valid_from or dt.date.min


def _sku(price: ParsedPrice) -> str:
    """The provider's id of the product: a later price supersedes one of the same product only."""
    return price.raw_id.partition(".")[0]


def _agree(prices: list[ParsedPrice]) -> Iterator[Result]:
    if len({price.terms for price in prices}) > 1:
        amounts = ", ".join(sorted({str(price.amount) for price in prices}))
        yield from (not_used(price, SkipReason.AMBIGUOUS, amounts) for price in prices)
        return
    yield from prices[:1]
    yield from (not_used(price, SkipReason.DUPLICATE, prices[0].raw_id) for price in prices[1:])


def not_used(
    price: ParsedPrice,
    reason: SkipReason,
    detail: object,
    model: PurchaseModel | None = None,
    raw_id: str | None = None,
) -> Skipped:
    """The price, or a row about the same machine, as a row that is none."""
    return Skipped(
        reason=reason,
        provider=price.provider,
        raw_id=price.raw_id if raw_id is None else raw_id,
        detail=shown(detail),
        offer=price.offer,
        region=price.region,
        purchase_model=price.purchase_model if model is None else model,
    )


class Coverage:
    """Which types of an answer have a price, and why the others have none.

    Fed with every result as it passes; holds one row a type, however long the answer is.
    """

    def __init__(self, day: dt.date | None = None) -> None:
        self._day = day
        self._priced: set[tuple[str, str]] = set()
        self._types: dict[tuple[str, str], ParsedType] = {}
        self._reasons: dict[tuple[str, str], Skipped] = {}

    def seen(self, results: Iterable[Result]) -> Iterator[Result]:
        """The results, unchanged."""
        for result in results:
            if isinstance(result, ParsedPrice):
                if result.begins_after(self._day):
                    begin = f"from {result.valid_from}"
                    self._keep(not_used(result, SkipReason.ANNOUNCED, begin))
                else:
                    self._priced.add((result.region, result.offer))
            elif isinstance(result, ParsedType):
                self._types[result.region, result.name] = result
            elif isinstance(result, Skipped) and result.offer:
                self._keep(result)
            yield result

    def _keep(self, skipped: Skipped) -> None:
        # The reason nearest to a price tells most: the members of Reason are in that order.
        key = (skipped.region, skipped.offer)
        before = self._reasons.get(key)
        if before is None or _nearness(skipped) > _nearness(before):
            self._reasons[key] = skipped

    def unpriced(self) -> list[Skipped]:
        """A row for each type that was seen and has no price of any kind, in order of names."""
        left = (self._reasons.keys() | self._types.keys()) - self._priced
        return [self._reasons.get(key) or self._without_row(key) for key in sorted(left)]

    def _without_row(self, key: tuple[str, str]) -> Skipped:
        machine = self._types[key]
        return Skipped(
            reason=SkipReason.NO_PRICE,
            provider=machine.provider,
            raw_id="",
            detail="the list has no row of its price",
            offer=machine.name,
            region=machine.region,
        )


def _nearness(skipped: Skipped) -> int:
    return NEARNESS[skipped.reason]


def storable(price: ParsedPrice) -> ParsedPrice | Skipped:
    """The price, unless a column would have to round or cut what it says."""
    for amount in (price.amount, price.setup_amount, price.monthly_cap):
        if amount is not None and amount >= LARGEST_AMOUNT:
            return not_used(price, SkipReason.TOO_LARGE, amount)
        if amount is not None and not is_within(amount, DECIMALS):
            return not_used(
                price, SkipReason.TOO_PRECISE, f"{amount}: more than {DECIMALS} decimals"
            )
    if price.tax_rate is not None and not is_within(price.tax_rate, TAX_DECIMALS):
        return not_used(price, SkipReason.TOO_PRECISE, f"tax rate {price.tax_rate}")
    if not (_is_name(price.offer, price.region) and _is_fit(price.zone, LONGEST_CODE)):
        return not_used(
            price, SkipReason.UNEXPECTED_SHAPE, "a name that is too long or not printable"
        )
    return price


def is_within(value: Decimal, decimals: int) -> bool:
    """True if so many decimals hold the value exactly."""
    return WIDE.remainder(WIDE.scaleb(value, decimals), Decimal(1)) == 0


def _is_fit(text: str, longest: int) -> bool:
    return len(text) <= longest and text.isprintable()


def _is_name(offer: str, region: str) -> bool:
    return len(offer) > 0 and _is_fit(offer, LONGEST_NAME) and _is_fit(region, LONGEST_CODE)


@dataclass
class Collected:
    """A whole answer, sorted by regions. Of rows without a price only counts are kept, and one
    reason a type."""

    prices: dict[str, list[ParsedPrice]] = field(default_factory=dict)
    announced: dict[str, list[ParsedPrice]] = field(default_factory=dict)
    """Prices that begin on a later day than that of the answer."""
    types: dict[str, list[ParsedType]] = field(default_factory=dict)
    extras: list[ParsedExtra] = field(default_factory=list)
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    unpriced: list[Skipped] = field(default_factory=list)

    @classmethod
    def of(cls, results: Iterable[Result], day: dt.date | None = None) -> "Collected":
        """Reads the results of a day to their end; what their parser raises passes."""
        answer, coverage = cls(), Coverage(day)
        for result in coverage.seen(map(_check_result, unique(results, day))):
            if isinstance(result, ParsedPrice):
                of_day = answer.announced if result.begins_after(day) else answer.prices
                of_day.setdefault(result.region, []).append(result)
            elif isinstance(result, ParsedType):
                answer.types.setdefault(result.region, []).append(result)
            elif isinstance(result, ParsedExtra):
                answer.extras.append(result)
            else:
                answer.skipped[result.reason] += 1
        answer.unpriced = [row for row in coverage.unpriced() if _is_name(row.offer, row.region)]
        return answer

    @property
    def regions(self) -> list[str]:
        """Codes of the regions that have a price or a type, in order."""
        return sorted(self.prices.keys() | self.announced.keys() | self.types.keys())


def _check_result(result: Result) -> Result:
    if isinstance(result, ParsedPrice):
        return storable(result)
    if isinstance(result, ParsedType) and not _is_name(result.name, result.region):
        return Skipped(
            reason=SkipReason.UNEXPECTED_SHAPE, provider=result.provider, raw_id=shown(result.name)
        )
    return result
