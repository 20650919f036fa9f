"""Conclusion of a scenario, in one sentence: the cheapest option that serves the demand."""

from collections.abc import Mapping, Sequence
from typing import Any

from backend.foundation import figures
from backend.foundation.documents.values import exact
from backend.foundation.texts import join_texts, number
from backend.foundation.texts import text as _
from backend.foundation.units import exact_decimal
from backend.rankings.calc.conclusions import (
    Certainty,
    Conclusion,
    name_list,
    percent,
    three_digits,
)

# Share of the draws that an option must serve to be called safe against growth.
SURE = 0.95

# Shares below it are not written out; the share that is tolerated by default.
SMALL = 0.001

Option = Mapping[str, Any]


def conclude(
    result: Mapping[str, Any],
    currency: str,
    span: str,
    price_per_unserved: object = None,
    examples: Sequence[str] = (),
) -> Conclusion:
    """The sentence of a result, whose costs are those of `span`, such as 30 days.

    `price_per_unserved` is that of the document, by which unmet demand adds to a cost; `examples`
    are the options of which a price is still a template's.
    """
    if examples:
        return _without_prices(examples)
    options = result["options"]
    serving = [option for option in options if may_win(option)]
    if not serving:
        return _conclude_unserved(options, currency, span)
    if all(option.get("contract") for option in serving):
        return _conclude_expected(serving, currency, span)
    lost = unmet_cost(result, price_per_unserved)
    ordered = sorted(serving, key=lambda option: decisive_cost(option, lost))
    best = ordered[0]
    rivals = [option for option in ordered[1:] if option.get("distinguishable") is False]
    named = [best, *rivals]
    detail = _join_names(_details(options, serving, named, currency, counts_unmet=bool(lost)))
    if rivals:
        sentence = _(
            "{name} is most likely the cheapest: {cost} in {span}. {others} could also be: their costs"
            " overlap.",
            name=_with_limit(best),
            cost=_money(best, currency),
            span=span,
            others=name_list([_with_limit(rival) for rival in rivals]),
        )
        return Conclusion(sentence, Certainty.TIE, detail)
    sentence = _(
        "{clause}: {cost} in {span}.",
        clause=_lead(ordered, lost),
        cost=_money(best, currency),
        span=span,
    )
    if best["unserved_share"]:
        sentence = _join_names(
            [sentence, _("It leaves {share} of the demand unmet.", share=_share(best))]
        )
    return Conclusion(sentence, Certainty.CLEAR, detail)


def _without_prices(examples: Sequence[str]) -> Conclusion:
    names = name_list([_("“{name}”", name=name) for name in examples])
    sentence = _(
        "No answer yet: the prices of {names} are examples. Open the editor and enter "
        "the prices that you would pay.",
        names=names,
    )
    detail = _("To keep an example as your price, clear its field “Example price”.")
    return Conclusion(sentence, Certainty.UNKNOWN, detail)


def _conclude_unserved(options: Sequence[Option], currency: str, span: str) -> Conclusion:
    """The sentence of a result in which no option serves the demand."""
    least = min(options, key=lambda option: (option["unserved_share"], _cost(option)))
    sentence = _(
        "No option serves the demand: {name} leaves the least of it unmet, {share}, "
        "for {cost} in {span}.",
        name=_quoted_name(least),
        share=_share(least),
        cost=_money(least, currency),
        span=span,
    )
    return Conclusion(sentence, Certainty.UNKNOWN)


def _details(
    options: Sequence[Option],
    serving: Sequence[Option],
    named: Sequence[Option],
    currency: str,
    *,
    counts_unmet: bool,
) -> list[str]:
    """Details below a sentence that names some options, the best first; empty parts are left out."""
    detail = [
        _spread(named[0], currency),
        _unmet([option for option in options if option not in serving]),
    ]
    detail += [
        _(
            "In {share} of the simulations the demand grows beyond what {name} can serve.",
            share=percent(1 - option["p_serves"]),
            name=_quoted_name(option),
        )
        for option in named
        if _limit(option)
    ]
    if counts_unmet and any(option["unserved_share"] for option in serving):
        detail.append(_("Unmet demand counts at the price that is stated for it."))
    return detail


def unmet_cost(result: Mapping[str, Any], price_per_unserved: object) -> float:
    """Cost of leaving all of the demand unmet, at the price of the document."""
    return float(exact(price_per_unserved) or 0) * float(result["demand"]["unit_hours"])


def decisive_cost(option: Option, lost: float = 0.0) -> float:
    """The cost by which options are compared: the expected one of a project that may end, else
    the cost with its share of `lost`, that of leaving all demand unmet."""
    contract = option.get("contract")
    if contract:
        return float(contract["expected_cost"])
    return _cost(option) + lost * float(option["unserved_share"])


def _conclude_expected(serving: Sequence[Option], currency: str, span: str) -> Conclusion:
    """The sentence of a project that may end: by the expected cost, contracts included."""
    ordered = sorted(serving, key=decisive_cost)
    best = ordered[0]
    said = {
        "name": _quoted_name(best),
        "cost": _amount(decisive_cost(best)),
        "currency": currency,
        "span": span,
        "months": number(figures.figure(float(best["contract"]["active_months"]), 3)),
    }
    if len(ordered) > 1 and decisive_cost(ordered[1]):
        sentence = _(
            "{name} has the lowest expected cost: {cost} {currency}, as the project may end within"
            " the {span} and runs {months} months on average; {next} follows, and {name} is {less}"
            " below it.",
            **said,
            next=_quoted_name(ordered[1]),
            less=percent(1 - decisive_cost(best) / decisive_cost(ordered[1])),
        )
    else:
        sentence = _(
            "{name} has the lowest expected cost: {cost} {currency}, as the project may end within"
            " the {span} and runs {months} months on average.",
            **said,
        )
    detail = _("Prices as stated; what contracts still cost after the end is counted.")
    return Conclusion(sentence, Certainty.CLEAR, detail)


def may_win(option: Option) -> bool:
    """True if an option of a result serves enough to be the cheapest; results that were frozen
    before they said so tolerate what a document does that does not say."""
    return bool(option.get("may_be_cheapest", option["unserved_share"] <= SMALL))


def _lead(ordered: Sequence[Option], lost: float) -> str:
    best = ordered[0]
    if len(ordered) == 1:
        return _("{name} is the only option that serves the demand", name=_quoted_name(best))
    second = ordered[1]
    low, high = (decisive_cost(option, lost) for option in (best, second))
    if not high or low == high:
        return _(
            "{name} and {next} cost the same", name=_quoted_name(best), next=_quoted_name(second)
        )
    said = {
        "name": _quoted_name(best),
        "less": percent(1 - low / high),
        "next": _quoted_name(second),
    }
    limit = _limit(best)
    if limit:
        return _("{name} is the cheapest, {less} below {next}, but {limit}", **said, limit=limit)
    return _("{name} is the cheapest, {less} below {next}", **said)


def _limit(option: Option) -> str:
    """The growth that an option may not serve; empty where it is safe, or growth is not drawn."""
    serves = option.get("p_serves")
    if serves is None or serves >= SURE:
        return ""
    if option.get("launches"):
        return _("may not keep up with growth")
    return _("cannot grow past {servers} servers", servers=number(f"{option['peak_servers']:,}"))


def _with_limit(option: Option) -> str:
    limit = _limit(option)
    return (
        join_texts("", (_quoted_name(option), " (", limit, ")")) if limit else _quoted_name(option)
    )


def _spread(best: Option, currency: str) -> str:
    if best["interval"] is None or best["p_cheapest"] is None:
        return _("Inputs as stated: no uncertainty is calculated.")
    low, high = (_amount(float(best["interval"][end])) for end in ("p5", "p95"))
    serves = best.get("p_serves") or 1.0
    return _(
        "Where it serves the demand, {name} is the cheapest in {share} of the "
        "simulations (90% range: {low} to {high} {currency}).",
        name=_quoted_name(best),
        share=percent(min(1.0, best["p_cheapest"] / serves)),
        low=low,
        high=high,
        currency=currency,
    )


def _unmet(others: Sequence[Option]) -> str:
    if not others:
        return ""
    names = [join_texts("", (_quoted_name(option), " (", _share(option), ")")) for option in others]
    return _("Not counted, for they leave demand unmet: {names}.", names=name_list(names))


def _join_names(parts: Sequence[str]) -> str:
    return join_texts(" ", filter(None, parts))


def _quoted_name(option: Option) -> str:
    """Its name in quotes: people call options `cloud, always on` or `base and burst`."""
    return _("“{name}”", name=option["name"])


def _cost(option: Option) -> float:
    return float(option["cost_total"])


def _money(option: Option, currency: str) -> str:
    return join_texts(" ", (_amount(_cost(option)), currency))


def _amount(cost: float) -> str:
    return three_digits(exact_decimal(cost))


def _share(option: Option) -> str:
    share = option["unserved_share"]
    return percent(share) if share >= SMALL else _("under {share}", share=percent(0.001))
