"""What holds over all rows of an answer: one price a key, and a reason for each type without."""

from collections.abc import Iterable, Iterator

from backend.domain.parsing.prices import (
    Key,
    ParsedPrice,
    ParsedType,
    PurchaseModel,
    Reason,
    Result,
    Skipped,
)
from backend.domain.parsing.prices.answers import shown

NEARNESS = {reason: place for place, reason in enumerate(Reason)}


def unique(results: Iterable[Result]) -> Iterator[Result]:
    """The results with at most one price a key, and each type once a region.

    Prices come last, since a later row may contradict an earlier one. Rows that agree are one
    price; of rows that differ none is right, for nothing tells which.
    """
    held: dict[Key, list[ParsedPrice]] = {}
    types: set[tuple[str, str]] = set()
    for result in results:
        if isinstance(result, ParsedPrice):
            held.setdefault(result.key, []).append(result)
        elif isinstance(result, ParsedType):
            if (result.region, result.name) not in types:
                types.add((result.region, result.name))
                yield result
        else:
            yield result
    for prices in held.values():
        yield from _settled(prices)


def _settled(prices: list[ParsedPrice]) -> Iterator[Result]:
    if len({price.terms for price in prices}) > 1:
        told = ", ".join(sorted({str(price.amount) for price in prices}))
        yield from (not_used(price, Reason.AMBIGUOUS, told) for price in prices)
        return
    yield prices[0]
    yield from (not_used(price, Reason.DUPLICATE, prices[0].raw_id) for price in prices[1:])


def not_used(
    price: ParsedPrice,
    reason: Reason,
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

    def __init__(self) -> None:
        self._priced: set[tuple[str, str]] = set()
        self._reasons: dict[tuple[str, str], Skipped] = {}

    def seen(self, results: Iterable[Result]) -> Iterator[Result]:
        """The results, unchanged."""
        for result in results:
            if isinstance(result, ParsedPrice):
                self._priced.add((result.region, result.offer))
            elif isinstance(result, Skipped) and result.offer:
                self._keep(result)
            yield result

    def _keep(self, skipped: Skipped) -> None:
        # The reason nearest to a price tells most: the members of Reason are in that order.
        place = (skipped.region, skipped.offer)
        held = self._reasons.get(place)
        if held is None or _nearness(skipped) > _nearness(held):
            self._reasons[place] = skipped

    def unpriced(self) -> list[Skipped]:
        """One row for each type that was seen and has no price of any kind, in order of names."""
        left = self._reasons.keys() - self._priced
        return [self._reasons[place] for place in sorted(left)]


def _nearness(skipped: Skipped) -> int:
    return NEARNESS[skipped.reason]
