"""The conclusion of a page: a sentence that a board understands, and how sure it is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from enum import StrEnum

from backend.foundation import figures
from backend.foundation.texts import join_texts, number
from backend.foundation.texts import text as _
from backend.measure.pairwise import NO_FIGURE
from backend.measure.stats import Z_95
from backend.rankings.calc.best import best_probabilities, smallest_set

# A sentence with more names is a list, and the table below is that list.
MOST_NAMES = 3
# Digits of an amount in a sentence; the tables below it have the rest.
SENTENCE_DIGITS = 3
# Below it "most likely" would promise too much.
MOST_LIKELY = 0.6
# From here on a factor reads better than an increase in percent.
TIMES_FROM = 2.0
REMEDY = _("To compare them all, give each a price, and measure it or import a result.")
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
    """An offer that is compared by value per cost; None is unknown.

    `value` is (value, low end, high end) of its 95 % interval, above zero, higher is better;
    prices of all contenders are in one currency and period.
    """

    name: str
    price: Decimal | None
    value: tuple[float, float, float] | None
    reason: str = ""
    """Why there is no value to compare."""


def name_list(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Names as a sentence has them: A, B and C; those beyond `most` are counted."""
    shown = list(names[:most])
    if len(names) > most:
        shown.append(_("{n} more", n=len(names) - most))
    *first, last = shown
    return _("{first} and {last}", first=join_texts(", ", first), last=last) if first else last


def percent(ratio: float) -> str:
    """A ratio in percent; one decimal below ten, where the whole percent would say too little."""
    return number(figures.percent(ratio, 0 if abs(ratio) >= 0.0995 else 1))


def percent_chance(probability: float) -> str:
    """A probability in whole percent; certainty is never claimed of draws."""
    if probability >= 0.995:
        return _("over {share}", share=percent(0.99))
    return (
        _("under {share}", share=percent(0.01))
        if probability < 0.005
        else number(figures.percent(probability, 0))
    )


def price_words(amount: Decimal, currency: str, period: str) -> str:
    """A price in a sentence, with three significant digits."""
    return join_texts("", (three_digits(amount), " ", currency, "/", period))


def three_digits(amount: Decimal) -> str:
    """An amount in a sentence."""
    decimals = max(0, SENTENCE_DIGITS - 1 - amount.adjusted()) if amount else 0
    rounded = Context(prec=SENTENCE_DIGITS).create_decimal(amount)
    # 9.996 rounds to one more digit before the point.
    decimals -= rounded.adjusted() > amount.adjusted() and decimals > 0
    return number(f"{rounded:,.{decimals}f}")


def likely_best(best: str, p_best: float, rivals: Sequence[str]) -> Conclusion:
    """The offer of the highest value per cost, how probably it is the best, and who else may be."""
    certainty = Certainty.TIE if rivals else Certainty.CLEAR
    chance = percent_chance(p_best)
    if p_best >= MOST_LIKELY:
        first = _(
            "{name} is most likely the best value (chance {chance}).", name=best, chance=chance
        )
    else:
        first = _(
            "No clear winner: {name} measures best for its price, with a chance of {chance} to be the"
            " best value.",
            name=best,
            chance=chance,
        )
    if not rivals:
        return Conclusion(first, certainty)
    return Conclusion(
        join_texts(" ", (first, _("{names} could also be.", names=name_list(rivals)))), certainty
    )


def best_value(contenders: Sequence[Contender]) -> Conclusion:
    """Which of a few contenders gives the most for the money, where their figures allow it."""
    rated = sorted(
        (
            (contender.value, contender.name)
            for contender in contenders
            if contender.value is not None
        ),
        key=lambda pair: -pair[0][0],
    )
    # A best of one is no comparison.
    if len(rated) < 2:
        return _by_price(contenders)
    values = [value for (value, _low, _high), _name in rated]
    sigmas = [math.log(high / low) / (2 * Z_95) for (_value, low, high), _name in rated]
    # One fixed seed: an offer that is surely below changes no draw of the others.
    probabilities = best_probabilities(values, sigmas, [NO_FIGURE] * len(rated), seed=0)
    names = [name for _value, name in rated]
    rivals = [names[at] for at in smallest_set(probabilities).tolist() if at]
    said = likely_best(names[0], float(probabilities[0]), rivals)
    lead = lead_words(names[1], rated[0][0], rated[1][0])
    missing = [contender for contender in contenders if contender.value is None]
    if not missing:
        return replace(
            said, sentence=join_texts(" ", (said.sentence, lead)) if not rivals else said.sentence
        )
    # Crowned among some of them only: that must stand in the sentence itself.
    first = _(
        "{n} of {all} can be compared. {statement}",
        n=len(rated),
        all=len(contenders),
        statement=said.sentence,
    )
    return Conclusion(join_texts(" ", (first, _missing_words(missing))), Certainty.UNKNOWN, REMEDY)


def _missing_words(missing: Sequence[Contender]) -> str:
    names = [
        _("{name} ({reason})", name=contender.name, reason=contender.reason)
        for contender in missing
    ]
    return _("Without a value: {names}.", names=name_list(names))


def lead_words(
    following: str, best: tuple[float, float, float], other: tuple[float, float, float]
) -> str:
    """How much more the best gives than the next one."""
    ratio, low, high = ratio_interval(best, other)
    if ratio >= TIMES_FROM:
        said = {"next": following, "times": times(ratio)}
        if low >= high:
            return _("It gives {times} the performance for the money of {next}.", **said)
        return _(
            "It gives {times} the performance for the money of {next} ({low} to {high}).",
            **said,
            low=times(low),
            high=times(high),
        )
    said = {"next": following, "more": percent(ratio - 1)}
    if low >= high:
        return _("It gives {more} more performance for the money than {next}.", **said)
    return _(
        "It gives {more} more performance for the money than {next} ({low} to {high}).",
        **said,
        low=percent(low - 1),
        high=percent(high - 1),
    )


def times(ratio: float) -> str:
    """A factor with two digits, such as 12×."""
    return number(f"{float(f'{ratio:.2g}'):,g}×")


def ratio_interval(
    first: tuple[float, float, float], second: tuple[float, float, float]
) -> tuple[float, float, float]:
    """The ratio of two figures, (value, low, high), with its 95 % interval."""
    ratio = first[0] / second[0]
    # Independent errors of two figures add up as squares on their logarithms.
    down = math.hypot(math.log(first[0] / first[1]), math.log(second[2] / second[0]))
    up = math.hypot(math.log(first[2] / first[0]), math.log(second[0] / second[1]))
    return ratio, ratio * math.exp(-down), ratio * math.exp(up)


def _by_price(contenders: Sequence[Contender]) -> Conclusion:
    """The sentence where fewer than two have both a price and a score."""
    priced = _by_amount(contenders)
    unrated = [contender for contender in contenders if contender.value is None]
    if len(contenders) == 1 and not unrated:
        only = _("{name} is the only offer here.", name=contenders[0].name)
        return Conclusion(only, Certainty.UNKNOWN)
    if not unrated:
        return Conclusion(_("There is nothing to compare here."), Certainty.UNKNOWN)
    missing = _missing_words(unrated)
    if len(priced) < 2 or priced[0][0] == priced[1][0]:
        first = _("Value for money cannot be compared yet.")
        return Conclusion(join_texts(" ", (first, missing)), Certainty.UNKNOWN, REMEDY)
    (least, cheapest), (next_price, second) = priced[:2]
    first = _(
        "{name} costs {less} less than {next}. Which of them is the better value is not known.",
        name=cheapest,
        less=percent(float(1 - least / next_price)),
        next=second,
    )
    return Conclusion(join_texts(" ", (first, missing)), Certainty.UNKNOWN, REMEDY)


def _by_amount(contenders: Sequence[Contender]) -> list[tuple[Decimal, str]]:
    """(price, name) of those with a price, the cheapest first."""
    return sorted(
        (contender.price, contender.name) for contender in contenders if contender.price is not None
    )


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
    least = [fleet for fleet in fleets if fleet.cost == fleets[0].cost]
    # Of fleets that cost the same the sure one is better.
    best = next((name for name in least if name.holds), least[0])
    if best.spare >= SPARE_SHOWN:
        detail = _(
            "Bottleneck of {name}: {limit}, {ratio} to spare.",
            limit=best.limit,
            name=best.name,
            ratio=percent(best.spare),
        )
    else:
        detail = _("Bottleneck of {name}: {limit}, just enough.", limit=best.limit, name=best.name)
    said = {"name": best.name, "cost": price_words(best.cost, currency, "month")}
    sentence = (
        _("{name} is the cheapest: {cost}", **said)
        if is_proven
        else _("{name} is the cheapest of those tried: {cost}", **said)
    )
    if best.holds:
        return Conclusion(
            _with_next(sentence, best, [fleet for fleet in fleets if fleet is not best]),
            Certainty.CLEAR,
            detail,
        )
    # Unknown must not read like a failure.
    certainty = Certainty.UNKNOWN if best.holds is None else Certainty.TIE
    sure = next((fleet for fleet in fleets if fleet.holds), None)
    caveat = (
        _("How sure its scores are is not known.")
        if best.holds is None
        else _("In the worst case of its scores it falls short.")
    )
    safe = (
        _("No fleet below is sure to be enough.")
        if sure is None
        else _(
            "{name} is the safe choice, at {cost}.",
            name=sure.name,
            cost=price_words(sure.cost, currency, "month"),
        )
    )
    return Conclusion(
        join_texts(" ", (_("{clause}.", clause=sentence), caveat, safe)), certainty, detail
    )


def _with_next(sentence: str, best: FleetChoice, others: Sequence[FleetChoice]) -> str:
    alike = [choice.name for choice in others if choice.cost == best.cost]
    if alike:
        return _("{clause}, the same as {names}.", clause=sentence, names=name_list(alike))
    if not others:
        return _("{clause}.", clause=sentence)
    return _(
        "{clause}, {less} less than {name}.",
        clause=sentence,
        less=percent(float(1 - best.cost / others[0].cost)),
        name=others[0].name,
    )


def server_cost(parts: Sequence[tuple[str, Decimal]], currency: str) -> Conclusion:
    """Monthly cost of a server of one's own, and the shares of its (name, cost) parts."""
    whole = sum((cost for _name, cost in parts), Decimal(0))
    said = {"cost": price_words(whole, currency, "month")}
    shares = [
        join_texts(" ", (name, percent(float(cost / whole))))
        for name, cost in sorted(parts, key=lambda part: -part[1])
        if whole and cost
    ]
    if not shares:
        return Conclusion(_("One server costs {cost}.", **said), Certainty.CLEAR)
    sentence = _(
        "One server costs {cost}: {parts}.",
        **said,
        parts=name_list(shares, len(shares)),
    )
    return Conclusion(sentence, Certainty.CLEAR)
