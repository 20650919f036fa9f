"""What a bill contains, as its page says and draws it."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from backend.bills.selectors.elsewhere import Elsewhere
from backend.domain.bills.beside import BillPart
from backend.domain.bills.classes import ChargeKind, Purchase
from backend.domain.bills.elsewhere import Alternative
from backend.domain.bills.estate_document import WEEK_HOURS
from backend.domain.bills.replacing import HOURLY, SAME, Destination
from backend.domain.conclusions import Certainty, Conclusion
from backend.domain.units import HOURS_PER_MONTH
from backend.web.shared import figures
from backend.web.shared.language import _, counted, lazy
from backend.web.shared.plots import Axis, Mark, Plot

KINDS: Mapping[str, str] = {
    ChargeKind.MACHINE: lazy("Machines"),
    ChargeKind.STORAGE: lazy("Storage"),
    ChargeKind.TRAFFIC: lazy("Traffic and network"),
    ChargeKind.MANAGED: lazy("Managed services"),
    ChargeKind.COMMITMENT: lazy("Fees of commitments"),
    ChargeKind.SUPPORT: lazy("Support"),
    ChargeKind.TAX: lazy("Taxes"),
    ChargeKind.CREDIT: lazy("Credits"),
    ChargeKind.OTHER: lazy("All else"),
}
PURCHASES: Mapping[str, str] = {
    Purchase.ON_DEMAND: lazy("on demand"),
    Purchase.SPOT: lazy("spot"),
    Purchase.COMMITTED: lazy("committed"),
}
TARGETS: Mapping[str, str] = {
    Destination.SAME_PROVIDER: lazy("other types of the same provider"),
    Destination.COMMITTED: lazy("the same provider with commitments of a year"),
    Destination.CLOUD: lazy("another cloud"),
    Destination.VPS: lazy("virtual servers of hosters"),
    Destination.DEDICATED: lazy("dedicated servers"),
    Destination.OWN: lazy("your own servers"),
}
# From this probability on a sentence says so without doubt.
CLEAR = 0.95
MOST_DRAWN = 6
DAY_HOURS = 24


def sentence(estate: Mapping[str, Any]) -> str:
    """What the bill comes to, and which part of it machines are."""
    total, currency = Decimal(estate["total"]), estate["currency"]
    said = counted(
        "{total} {currency} in {n} month.",
        "{total} {currency} in {n} months.",
        len(estate["months"]),
        total=figures.money(total, "month"),
        currency=currency,
    )
    cost = next((one["cost"] for one in estate["by_kind"] if one["kind"] == "machine"), None)
    if cost is None or total <= 0:
        return said
    machines = counted(
        "{share} % of it is for machines of {n} type.",
        "{share} % of it is for machines of {n} types.",
        len({(one["provider"], one["type"]) for one in estate["machines"]}),
        share=figures.quantity(round(100 * Decimal(cost) / total, 1)),
    )
    committed = _(
        "{share} % of their hours were bought by commitments.",
        share=figures.quantity(round(100 * Decimal(estate["shares"]["committed"] or 0), 1)),
    )
    return f"{said} {machines} {committed}"


def wasted(estate: Mapping[str, Any]) -> str:
    """What is paid for and not used; "" where the bill names nothing of it."""
    # Bills that were imported before it was read have none.
    sums = {name: float(cost) for name, cost in estate.get("wasted", {}).items() if float(cost) > 0}
    amounts = {name: _amount(cost, estate["currency"]) for name, cost in sums.items()}
    named = []
    if amount := amounts.get("commitments"):
        named.append(_("{amount} for commitments that nothing used", amount=amount))
    if amount := amounts.get("idle"):
        named.append(
            _("{amount} for addresses, disks and capacity that the bill calls idle", amount=amount)
        )
    return "; ".join(named)


def idle_words(answer: Elsewhere) -> str:
    """What the cheapest target has beyond the mean load; "" where machines come by the hour."""
    best = cheapest(answer)
    if best is None or not best.idle_cost:
        return ""
    return _(
        "{amount} a month of {target} is for capacity beyond the mean load: for peaks, spares and rounding.",
        amount=_amount(best.idle_cost, answer.currency),
        target=TARGETS[best.target],
    )


def kind_rows(estate: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each kind of charge with its words and its share of the bill (ratio; None without a sum)."""
    total = Decimal(estate["total"])
    return [
        {
            **one,
            "words": KINDS[one["kind"]],
            "ratio": float(Decimal(one["cost"]) / total) if total > 0 else None,
        }
        for one in estate["by_kind"]
    ]


def machine_rows(estate: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each group of machines with words for how it was bought, and what an hour of one cost."""
    return [
        {
            **one,
            "words": PURCHASES[one["purchase"]],
            "hourly": Decimal(one["cost"]) / Decimal(one["hours"])
            if Decimal(one["hours"])
            else None,
            "hours": Decimal(one["hours"]),
            "mean": Decimal(one["count"]),
        }
        for one in estate["machines"]
    ]


def cheapest(answer: Elsewhere) -> Alternative | None:
    """The alternative that costs least; None where nothing can be compared."""
    return min(answer.alternatives, key=lambda one: one.cost, default=None)


def elsewhere_conclusion(answer: Elsewhere) -> Conclusion:
    """Where equal capacity is cheapest, and how sure that is."""
    best = cheapest(answer)
    if best is None:
        said = _("No machine of the bill has a score and memory in the catalogue.")
        return Conclusion(said, Certainty.UNKNOWN)
    figures_of = {
        "today": _amount(answer.today, answer.currency),
        "cost": _amount(best.cost, answer.currency),
        "range": f"{_amount(best.p5, answer.currency)} – {_amount(best.p95, answer.currency)}",
        "target": TARGETS[best.target],
        "chance": figures.percent(best.probability_cheaper),
    }
    if 1 - CLEAR < best.probability_cheaper < CLEAR:
        said = _(
            "Too close to call: what can move costs {today} a month today, and {cost} ({range}) as "
            "{target}; that this is cheaper has a probability of {chance}.",
            **figures_of,
        )
        return Conclusion(said, Certainty.TIE, _left_out(answer))
    if best.cost >= answer.today:
        said = _(
            "Nothing is cheaper: what can move costs {today} a month today, and {cost} ({range}) as "
            "{target}.",
            **figures_of,
        )
    else:
        said = _(
            "What can move costs {today} a month today. Equal capacity costs {cost} ({range}) as "
            "{target}: cheaper with a probability of {chance}.",
            **figures_of,
        )
    return Conclusion(said, Certainty.CLEAR, _left_out(answer))


def _left_out(answer: Elsewhere) -> str:
    """Which part of what the machines were billed with is not in the comparison."""
    if not answer.uncompared:
        return ""
    left_out = sum(cost for _name, cost in answer.uncompared)
    return _(
        "Machines that were billed with {amount} are not in it: see below.",
        amount=_amount(float(left_out), answer.currency),
    )


def _amount(amount: float, currency: str) -> str:
    return f"{figures.money(Decimal(amount), 'month')} {currency}"


def target_rows(answer: Elsewhere) -> list[dict[str, Any]]:
    """A line for each target, the cheapest first."""
    return [
        {
            "words": TARGETS[one.target],
            "servers": one.servers,
            "cost": Decimal(one.cost),
            "p5": Decimal(one.p5),
            "p95": Decimal(one.p95),
            "chance": one.probability_cheaper,
            "payback": one.payback_months,
        }
        for one in sorted(answer.alternatives, key=lambda one: one.cost)
    ]


def moving_rows(estate: Mapping[str, Any], answer: Elsewhere) -> list[dict[str, Any]]:
    """Each part of the bill in a month: today, at the cheapest target, and whether it moves; all of
    the bill at last."""
    best = cheapest(answer)
    if best is None:
        return []
    beside, managed = answer.beside, _("run by yourself")
    disks = _("disks, {gb} GB", gb=figures.quantity(round(beside.disk_gb)))
    traffic = _("traffic to the internet, {gb} GB", gb=figures.quantity(round(beside.egress_gb)))
    beside_word = _("stays") if best.target in SAME else _("moves")
    parts = [
        (
            BillPart.MACHINES,
            _("machines"),
            sum(one.cost_per_month for one in answer.works),
            _("moves"),
        ),
        (BillPart.DISK, disks, beside.disk_cost, beside_word),
        (BillPart.EGRESS, traffic, beside.egress_cost, beside_word),
    ]
    if BillPart.MANAGED in best.parts:
        is_kept = best.target in HOURLY
        word = _("moves, at the same price") if is_kept else managed
        parts.append((BillPart.MANAGED, KINDS[ChargeKind.MANAGED], beside.managed_cost, word))
    rows: list[dict[str, Any]] = [
        {
            "words": words,
            "today": Decimal(today),
            "there": Decimal(best.parts[part]),
            "what": _("at today's price: none is known there") if part in best.unpriced else what,
        }
        for part, words, today, what in parts
        # What is free today may not be there.
        if today or best.parts[part]
    ]
    staying = list(_staying(estate, answer))
    whole = _month(estate, estate["total"])
    moved = sum(one["today"] for one in rows)
    # Those of machines that are not compared; what is beside is in none of the lines above.
    fees = whole - moved - sum(cost for _words, cost in staying)
    rows += [
        {"words": words, "today": cost, "there": cost, "what": _("stays")}
        for words, cost in [*staying, (KINDS[ChargeKind.COMMITMENT], fees)]
        if round(cost, 2)
    ]
    there = sum(one["there"] for one in rows)
    return [*rows, {"words": _("In all"), "today": whole, "there": there, "what": ""}]


def _month(estate: Mapping[str, Any], amount: Decimal | str) -> Decimal:
    return Decimal(amount) * HOURS_PER_MONTH / Decimal(estate["hours"] or 1)


def _staying(estate: Mapping[str, Any], answer: Elsewhere) -> Iterator[tuple[str, Decimal]]:
    """What is not compared, of a month."""
    kinds = {one["kind"]: _month(estate, one["cost"]) for one in estate["by_kind"]}
    yield (
        _("machines without a score in the catalogue"),
        _month(estate, sum((cost for _name, cost in answer.uncompared), Decimal(0))),
    )
    moved = {
        ChargeKind.STORAGE: (answer.beside.disk_cost, _("other storage")),
        ChargeKind.TRAFFIC: (answer.beside.egress_cost, _("other traffic and network")),
    }
    for kind, (cost, words) in moved.items():
        yield words, kinds.get(kind, Decimal(0)) - Decimal(cost)
    kept = [ChargeKind.SUPPORT, ChargeKind.TAX, ChargeKind.CREDIT, ChargeKind.OTHER]
    if not answer.assumed.may_run_services:
        kept.insert(0, ChargeKind.MANAGED)
    for kind in kept:
        yield KINDS[kind], kinds.get(kind, Decimal(0))


def week_plot(estate: Mapping[str, Any]) -> Plot | None:
    """Machines that ran by the hour of the week; None where the bill is not hourly or is short."""
    shown = [one for one in estate["machines"] if one["week"]][:MOST_DRAWN]
    if not shown:
        return None
    days = (_("Mon"), _("Tue"), _("Wed"), _("Thu"), _("Fri"), _("Sat"), _("Sun"))
    hours = [f"{days[at // DAY_HOURS]} {at % DAY_HOURS}:00" for at in range(WEEK_HOURS)]
    whole = [sum(values) for values in zip(*(one["week"] for one in shown), strict=True)]
    return Plot(
        id="plot-week",
        title=_("Machines by the hour of the week"),
        x_label=_("hours since Monday 0:00 UTC"),
        x_kind="linear",
        x=[float(at) for at in range(WEEK_HOURS)],
        x_text=hours,
        y=Axis(_("machines"), most=max(whole)),
        marks=[
            Mark(f"{one['type']} {one['region']} {PURCHASES[one['purchase']]}", one["week"], "line")
            for one in shown
        ],
        summary=_(
            "Lines of how many machines ran in each hour of the week on average: at most {most} together.",
            most=figures.plain(round(Decimal(max(whole)), 1)),
        ),
        note=""
        if len(estate["machines"]) <= MOST_DRAWN
        else _("The dearest {count} groups are drawn.", count=len(shown)),
    )
