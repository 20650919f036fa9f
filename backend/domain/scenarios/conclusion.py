"""What a scenario comes to, in one sentence: the cheapest option that serves the demand."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from backend.domain import figures
from backend.domain.conclusions import Certainty, Conclusion, listed, percent
from backend.domain.documents.values import exact
from backend.domain.texts import joined, number
from backend.domain.texts import text as _

# Share of the draws that makes the cheapest option clear.
SURE = 0.95
# Share of the draws from which on another option may be the cheapest as well.
POSSIBLE = 1 - SURE

# Shares below it are not written out; the share that is tolerated by default.
SMALL = 0.001

Option = Mapping[str, Any]


def concluded(
    result: Mapping[str, Any], currency: str, span: str, price_per_unserved: object = None
) -> Conclusion:
    """The sentence of a result, whose costs are those of `span`, such as 30 days.

    `price_per_unserved` is that of the document, by which unmet demand adds to a cost.
    """
    options = result["options"]
    serving = [one for one in options if may_win(one)]
    if not serving:
        return _unserved(options, currency, span)
    if all(one.get("contract") for one in serving):
        return _expected(serving, currency, span)
    lost = unmet_cost(result, price_per_unserved)

    def judged(one: Option) -> float:
        return judged_cost(one, lost)

    ordered = sorted(serving, key=judged)
    best = ordered[0]
    detail = _joined(_details(options, serving, best, currency, counts_unmet=bool(lost)))
    said = {"clause": _lead(ordered, judged), "cost": _money(best, currency), "span": span}
    possible = _possible(serving)
    if len(possible) > 1:
        names = [
            _(
                "{name} (cheapest in {share} of the draws)",
                name=_named(one),
                share=percent(one["p_cheapest"]),
            )
            for one in possible
        ]
        sentence = _(
            "Too close to call between {names}. As stated, {clause}, {cost} in {span}.",
            names=listed(names),
            **said,
        )
        return Conclusion(sentence, Certainty.TIE, detail)
    sentence = (
        _(
            "{clause}: {cost} in {span} (leaves {share} of the demand unmet).",
            **said,
            share=_share(best),
        )
        if best["unserved_share"]
        else _("{clause}: {cost} in {span}.", **said)
    )
    is_doubted = best["p_cheapest"] is not None and best["p_cheapest"] < SURE
    return Conclusion(sentence, Certainty.TIE if is_doubted else Certainty.CLEAR, detail)


def _unserved(options: Sequence[Option], currency: str, span: str) -> Conclusion:
    """The sentence of a result in which no option serves the demand."""
    least = min(options, key=lambda one: (one["unserved_share"], _cost(one)))
    sentence = _(
        "No option serves the demand: {name} leaves least of it unmet, {share}, for {cost} in"
        " {span}.",
        name=_named(least),
        share=_share(least),
        cost=_money(least, currency),
        span=span,
    )
    return Conclusion(sentence, Certainty.UNKNOWN)


def _details(
    options: Sequence[Option],
    serving: Sequence[Option],
    best: Option,
    currency: str,
    *,
    counts_unmet: bool,
) -> list[str]:
    """What stands below the sentence; empty parts are left out."""
    detail = [_spread(best, currency), _unmet([one for one in options if one not in serving])]
    nowhere = 1 - sum(one["p_cheapest"] or 0 for one in options)
    if best["p_cheapest"] is not None and nowhere > POSSIBLE:
        detail.append(
            _("In {share} of the draws no option serves the demand.", share=percent(nowhere))
        )
    if counts_unmet and any(one["unserved_share"] for one in serving):
        detail.append(_("Unmet demand counts at the price that is stated for it."))
    return detail


def unmet_cost(result: Mapping[str, Any], price_per_unserved: object) -> float:
    """What it would cost to leave all of the demand unmet, at the price of the document."""
    return float(exact(price_per_unserved) or 0) * float(result["demand"]["unit_hours"])


def judged_cost(one: Option, lost: float = 0.0) -> float:
    """The cost by which options are compared: the expected one of a project that may end, else
    the cost with its share of `lost`, that of leaving all demand unmet."""
    contract = one.get("contract")
    if contract:
        return float(contract["expected_cost"])
    return _cost(one) + lost * float(one["unserved_share"])


def _expected(serving: Sequence[Option], currency: str, span: str) -> Conclusion:
    """The sentence of a project that may end: by the expected cost, contracts included."""
    ordered = sorted(serving, key=judged_cost)
    best = ordered[0]
    said = {
        "name": _named(best),
        "cost": _amount(judged_cost(best)),
        "currency": currency,
        "span": span,
        "months": number(figures.figure(float(best["contract"]["active_months"]), 3)),
    }
    if len(ordered) > 1 and judged_cost(ordered[1]):
        sentence = _(
            "{name} has the lowest expected cost: {cost} {currency}, as the project may end within"
            " the {span} and runs {months} months on average; {next} follows, and {name} is {less}"
            " below it.",
            **said,
            next=_named(ordered[1]),
            less=percent(1 - judged_cost(best) / judged_cost(ordered[1])),
        )
    else:
        sentence = _(
            "{name} has the lowest expected cost: {cost} {currency}, as the project may end within"
            " the {span} and runs {months} months on average.",
            **said,
        )
    detail = _("Prices as stated; what contracts still cost after the end is counted.")
    return Conclusion(sentence, Certainty.CLEAR, detail)


def may_win(one: Option) -> bool:
    """Whether an option of a result serves enough to be the cheapest; results that were frozen
    before they said so tolerate what a document does that does not say."""
    return bool(one.get("may_be_cheapest", one["unserved_share"] <= SMALL))


def _possible(serving: Sequence[Option]) -> list[Option]:
    """The options of which several may be the cheapest, the likeliest first."""
    known = [one for one in serving if (one["p_cheapest"] or 0) >= POSSIBLE]
    return sorted(known, key=lambda one: -one["p_cheapest"])


def _lead(ordered: Sequence[Option], judged: Callable[[Option], float]) -> str:
    best = ordered[0]
    if len(ordered) == 1:
        return _("{name} is the only option that serves the demand", name=_named(best))
    second = ordered[1]
    if not judged(second) or judged(best) == judged(second):
        return _("{name} and {next} cost the same", name=_named(best), next=_named(second))
    return _(
        "{name} is the cheapest option that serves the demand, {less} below {next}",
        name=_named(best),
        less=percent(1 - judged(best) / judged(second)),
        next=_named(second),
    )


def _spread(best: Option, currency: str) -> str:
    if best["interval"] is None or best["p_cheapest"] is None:
        return _("Inputs as stated: no uncertainty is calculated.")
    low, high = (_amount(float(best["interval"][end])) for end in ("p5", "p95"))
    return _(
        "{name} is the cheapest in {share} of the draws of all uncertain inputs; nine of ten put"
        " its cost between {low} and {high} {currency}.",
        name=_named(best),
        share=percent(best["p_cheapest"]),
        low=low,
        high=high,
        currency=currency,
    )


def _unmet(others: Sequence[Option]) -> str:
    if not others:
        return ""
    names = [joined("", (_named(one), " (", _share(one), ")")) for one in others]
    return _("Not counted, for they leave demand unmet: {names}.", names=listed(names))


def _joined(parts: Sequence[str]) -> str:
    return joined(" ", filter(None, parts))


def _named(one: Option) -> str:
    """Its name in quotes: people call options `cloud, always on` or `base and burst`."""
    return _("“{name}”", name=one["name"])


def _cost(one: Option) -> float:
    return float(one["cost_total"])


def _money(one: Option, currency: str) -> str:
    return joined(" ", (_amount(_cost(one)), currency))


def _amount(cost: float) -> str:
    return number(figures.money(cost, digits=figures.SENTENCE_DIGITS))


def _share(one: Option) -> str:
    share = one["unserved_share"]
    return percent(share) if share >= SMALL else _("under {share}", share=percent(0.001))
