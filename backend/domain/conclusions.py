"""What a page comes to: one sentence that a board understands, with how sure it is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from backend.domain import figures
from backend.domain.pairwise import are_apart
from backend.domain.texts import joined, number
from backend.domain.texts import text as _

# A sentence with more names is a list, and the table below is that list.
MOST_NAMES = 3
# The least surplus (ratio) that percent with one decimal shows as more than nothing.
SPARE_SHOWN = 0.0005


class Certainty(StrEnum):
    """How far the figures carry a sentence."""

    CLEAR = "clear"
    TIE = "tie"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Conclusion:
    """The sentence, and in `detail` what it leaves out; empty where that is nothing."""

    sentence: str
    certainty: Certainty
    detail: str = ""


@dataclass(frozen=True)
class Contender:
    """One of those compared by value per cost; None is unknown.

    `value` is (value, low end, high end) of its 95 % interval, above zero, higher is better;
    prices of all contenders are in one currency and period.
    """

    name: str
    price: Decimal | None
    value: tuple[float, float, float] | None


def listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Names as a sentence has them: A, B and C; those beyond `most` are counted."""
    shown = list(names[:most])
    if len(names) > most:
        shown.append(_("{n} more", n=len(names) - most))
    *first, last = shown
    return _("{first} and {last}", first=joined(", ", first), last=last) if first else last


def percent(ratio: float) -> str:
    """A ratio in percent; one decimal below ten, where the whole percent would say too little."""
    return number(figures.percent(ratio, 0 if abs(ratio) >= 0.0995 else 1))


def best_value(contenders: Sequence[Contender]) -> Conclusion:
    """Which of the contenders gives the most for the money, where their intervals allow it."""
    # By value alone: the sentence is about what one gets for the money.
    rated = sorted(
        ((one.value, one) for one in contenders if one.value is not None),
        key=lambda pair: -pair[0][0],
    )
    # A best of one is no comparison.
    if len(rated) < 2:
        return _by_price(contenders)
    unrated = [one.name for one in contenders if one.value is None]
    detail = (
        _(
            "Not part of this, for want of a price or a measurement: {names}.",
            names=listed(unrated),
        )
        if unrated
        else ""
    )
    (value, best), (next_value, second) = rated[:2]
    tied = [one for its, one in rated[1:] if not are_apart(value, its)]
    if tied:
        return Conclusion(_too_close([best, *tied]), Certainty.TIE, detail)
    return Conclusion(_is_best(best, value, second, next_value), Certainty.CLEAR, detail)


def head_of_ranking(group: Sequence[Contender], following: Contender | None) -> Conclusion:
    """What a ranking comes to: its first tie group, and the best offer behind that."""
    if len(group) > 1:
        return Conclusion(_too_close(group), Certainty.TIE)
    if not group:
        return Conclusion(_("No offer here has both a price and a figure."), Certainty.UNKNOWN)
    (best,) = group
    if best.value is None or following is None or following.value is None:
        return Conclusion(
            _("{name} is the only offer here with both a price and a figure.", name=best.name),
            Certainty.UNKNOWN,
        )
    return Conclusion(_is_best(best, best.value, following, following.value), Certainty.CLEAR)


def _is_best(
    best: Contender,
    value: tuple[float, float, float],
    second: Contender,
    next_value: tuple[float, float, float],
) -> str:
    lead, low, high = _lead(value, next_value)
    if low >= high:
        return _(
            "{name} gives the most performance for the money: {more} more than {next}, the next"
            " best.",
            name=best.name,
            more=percent(lead),
            next=second.name,
        )
    return _(
        "{name} gives the most performance for the money: {more} more than {next}, the next best"
        " (95 % interval: {low} to {high}).",
        name=best.name,
        more=percent(lead),
        next=second.name,
        low=percent(low),
        high=percent(high),
    )


def _too_close(tied: Sequence[Contender]) -> str:
    sentence = _(
        "Too close to call between {names}: they differ less in performance for the money than"
        " their measurements are uncertain.",
        names=listed([one.name for one in tied]),
    )
    priced = _by_amount(tied)
    # Where performance cannot decide, the price may.
    if len(priced) > 1 and priced[0][0] < priced[1][0]:
        return joined(" ", (sentence, _("{name} costs least of them.", name=priced[0][1])))
    return sentence


def _lead(
    best: tuple[float, float, float], other: tuple[float, float, float]
) -> tuple[float, float, float]:
    """How much more the best gives as a ratio, and its 95 % interval from both intervals."""
    ratio = best[0] / other[0]
    # Independent errors of two figures add up as squares on their logarithms.
    down = math.hypot(math.log(best[0] / best[1]), math.log(other[2] / other[0]))
    up = math.hypot(math.log(best[2] / best[0]), math.log(other[0] / other[1]))
    return ratio - 1, ratio * math.exp(-down) - 1, ratio * math.exp(up) - 1


def _by_price(contenders: Sequence[Contender]) -> Conclusion:
    """What can be said where fewer than two have both a price and a measurement."""
    priced = _by_amount(contenders)
    if len(priced) < 2 or priced[0][0] == priced[1][0]:
        return Conclusion(
            _(
                "Performance for the money cannot be compared yet: that needs a price and a "
                "measurement of at least two offers."
            ),
            Certainty.UNKNOWN,
        )
    (least, cheapest), (next_price, second) = priced[:2]
    return Conclusion(
        _(
            "{name} costs least, {less} less than {next}; which of them gives more performance for"
            " the money is not known.",
            name=cheapest,
            less=percent(float(1 - least / next_price)),
            next=second,
        ),
        Certainty.UNKNOWN,
        _("That needs a price and a measurement of at least two offers."),
    )


def _by_amount(contenders: Sequence[Contender]) -> list[tuple[Decimal, str]]:
    """(price, name) of those with a price, the cheapest first."""
    return sorted((one.price, one.name) for one in contenders if one.price is not None)


@dataclass(frozen=True)
class FleetChoice:
    """A fleet that reaches a requirement by its scores, and its cost a month.

    `holds` says whether it does so at the worse end of every 95 % interval, None where one is not
    known. It exceeds `limit` the least of all demands, by the ratio `spare`.
    """

    name: str
    cost: Decimal
    holds: bool | None
    limit: str
    spare: float


def cheapest_fleet(
    fleets: Sequence[FleetChoice], currency: str, *, is_proven: bool = True
) -> Conclusion:
    """Which of the fleets costs least, and how surely it reaches the requirement.

    `fleets` are by cost, the lowest first; not proven are those of a search that tried a part.
    """
    if not fleets:
        return Conclusion(_("No fleet reaches what you need."), Certainty.UNKNOWN)
    least = [one for one in fleets if one.cost == fleets[0].cost]
    # Of fleets that cost the same the sure one is better.
    best = next((one for one in least if one.holds), least[0])
    if best.spare >= SPARE_SHOWN:
        detail = _(
            "{limit} limits {name}: {ratio} to spare.",
            limit=best.limit,
            name=best.name,
            ratio=percent(best.spare),
        )
    else:
        detail = _("{limit} limits {name}: just enough.", limit=best.limit, name=best.name)
    said = {"name": best.name, "cost": _amount(best.cost), "currency": currency}
    sentence = (
        _("{name} costs least: {cost} {currency} a month", **said)
        if is_proven
        else _("{name} costs least of those tried: {cost} {currency} a month", **said)
    )
    if best.holds:
        return Conclusion(
            _with_next(sentence, best, [one for one in fleets if one is not best]),
            Certainty.CLEAR,
            detail,
        )
    # Unknown must not read like a failure.
    certainty = Certainty.UNKNOWN if best.holds is None else Certainty.TIE
    shortfall = _shortfall(best, next((one for one in fleets if one.holds), None), currency)
    return Conclusion(joined(" ", (_("{clause}.", clause=sentence), shortfall)), certainty, detail)


def _with_next(sentence: str, best: FleetChoice, others: Sequence[FleetChoice]) -> str:
    alike = [one.name for one in others if one.cost == best.cost]
    if alike:
        return _("{clause}, as {names}.", clause=sentence, names=listed(alike))
    if not others:
        return _("{clause}.", clause=sentence)
    return _(
        "{clause}, {less} less than {name}.",
        clause=sentence,
        less=percent(float(1 - best.cost / others[0].cost)),
        name=others[0].name,
    )


def _shortfall(best: FleetChoice, sure: FleetChoice | None, currency: str) -> str:
    """What a fleet lacks that may fall short, and which one does not."""
    if sure is None:
        if best.holds is None:
            return _(
                "How surely it reaches what you need is not known; none of the fleets below is sure"
                " to be enough."
            )
        return _(
            "At the worse ends of its 95 % intervals it falls short; none of the fleets below is"
            " sure to be enough."
        )
    said = {"name": sure.name, "cost": _amount(sure.cost), "currency": currency}
    if best.holds is None:
        return _(
            "How surely it reaches what you need is not known; {name} is sure to be enough, for"
            " {cost} {currency} a month.",
            **said,
        )
    return _(
        "At the worse ends of its 95 % intervals it falls short; {name} is sure to be enough, for"
        " {cost} {currency} a month.",
        **said,
    )


def _amount(cost: Decimal) -> str:
    return number(figures.money(cost, digits=figures.SENTENCE_DIGITS))


def server_cost(parts: Sequence[tuple[str, Decimal]], currency: str) -> Conclusion:
    """What a server of one's own costs a month, and the shares of its (name, cost) parts."""
    whole = sum((cost for _name, cost in parts), Decimal(0))
    said = {"cost": _amount(whole), "currency": currency}
    shares = [
        joined(" ", (name, percent(float(cost / whole))))
        for name, cost in sorted(parts, key=lambda part: -part[1])
        if whole and cost
    ]
    if not shares:
        return Conclusion(_("One server costs {cost} {currency} a month.", **said), Certainty.CLEAR)
    sentence = _(
        "One server costs {cost} {currency} a month, of it {parts}.",
        **said,
        parts=listed(shares, len(shares)),
    )
    return Conclusion(sentence, Certainty.CLEAR)
