"""Content of a bill, in words and pictures of its page."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from math import ceil, floor, log10
from typing import Any

from backend.bills.calc.beside import BillPart
from backend.bills.calc.classes import ChargeKind, PurchaseKind
from backend.bills.calc.elsewhere import Alternative
from backend.bills.calc.estate_document import WEEK_HOURS
from backend.bills.calc.notes import note_text
from backend.bills.calc.replacing import HOURLY, SAME, Destination
from backend.bills.selectors.elsewhere import Elsewhere
from backend.bills.selectors.works import WhyLeftOut, bill_months
from backend.foundation.texts import join_texts
from backend.rankings.calc.conclusions import MOST_LIKELY, Certainty, Conclusion, name_list
from backend.site import figures
from backend.site.language import _, count_words, lazy, localize
from backend.site.plots import Axis, Mark, Plot

KINDS: Mapping[str, str] = {
    ChargeKind.MACHINE: lazy("Machines"),
    ChargeKind.STORAGE: lazy("Storage"),
    ChargeKind.TRAFFIC: lazy("Traffic and network"),
    ChargeKind.MANAGED: lazy("Managed services"),
    ChargeKind.LICENCE: lazy("Licences"),
    ChargeKind.COMMITMENT: lazy("Fees of commitments"),
    ChargeKind.SUPPORT: lazy("Support"),
    ChargeKind.TAX: lazy("Taxes"),
    ChargeKind.CREDIT: lazy("Credits"),
    ChargeKind.OTHER: lazy("Other"),
}
PURCHASES: Mapping[str, str] = {
    PurchaseKind.ON_DEMAND: lazy("on demand"),
    PurchaseKind.SPOT: lazy("spot"),
    PurchaseKind.COMMITTED: lazy("committed"),
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
# Of today's cost; less is within what prices move by from month to month.
SMALL_SAVING = 0.01
MOST_DRAWN = 6
DAY_HOURS = 24
MONTHS = 12


def note_sentences(estate: Mapping[str, Any]) -> list[str]:
    """How the bill was read, where somebody should check that; bills of before have none."""
    return [note_text(row["note"], row["lines"]) for row in estate.get("notes", [])]


def sentence(estate: Mapping[str, Any]) -> str:
    """Total of the bill, and the part of it that machines are."""
    total, currency = Decimal(estate["total"]), estate["currency"]
    said = count_words(
        "{total} {currency} in {n} month.",
        "{total} {currency} in {n} months.",
        len(estate["months"]),
        total=figures.money(total, "month"),
        currency=currency,
    )
    cost = next((row["cost"] for row in estate["by_kind"] if row["kind"] == "machine"), None)
    if cost is None or total <= 0:
        return said
    machines = count_words(
        "{share}% of it is for machines of {n} type.",
        "{share}% of it is for machines of {n} types.",
        len({(machine["provider"], machine["type"]) for machine in estate["machines"]}),
        share=figures.quantity(round(100 * Decimal(cost) / total, 1)),
    )
    committed = _(
        "{share}% of their hours were bought by commitments.",
        share=figures.quantity(round(100 * Decimal(estate["shares"]["committed"] or 0), 1)),
    )
    return f"{said} {machines} {committed}"


def waste_words(estate: Mapping[str, Any]) -> str:
    """Waste on the bill; "" where it names none."""
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
    """Cost of the cheapest target beyond the mean load; "" where machines come by the hour."""
    best = cheapest(answer)
    if best is None or not best.idle_cost:
        return ""
    return _(
        "{amount} per month of {target} is headroom: for peaks, spares and rounding.",
        amount=_amount(best.idle_cost, answer.currency),
        target=TARGETS[best.target],
    )


def kind_rows(estate: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each kind of charge with its words and its share of the bill (ratio; None without a sum)."""
    total = Decimal(estate["total"])
    return [
        {
            **row,
            "words": KINDS[row["kind"]],
            "ratio": float(Decimal(row["cost"]) / total) if total > 0 else None,
        }
        for row in estate["by_kind"]
    ]


def machine_rows(estate: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each group of machines with words for how it was bought, and what an hour of one cost."""
    return [
        {
            **machine,
            "words": PURCHASES[machine["purchase"]],
            "name": _("{type} with {system}", type=machine["type"], system=system)
            if (system := machine.get("system"))
            else machine["type"],
            "hourly": (Decimal(machine["cost"]) + Decimal(machine.get("credit", 0)))
            / Decimal(machine["hours"])
            if Decimal(machine["hours"])
            else None,
            "hours": Decimal(machine["hours"]),
            "mean": Decimal(machine["count"]),
        }
        for machine in estate["machines"]
    ]


def cheapest(answer: Elsewhere) -> Alternative | None:
    """The alternative that costs least; None where nothing can be compared."""
    return min(answer.alternatives, key=lambda alternative: alternative.cost, default=None)


def elsewhere_conclusion(answer: Elsewhere) -> Conclusion:
    """Where equal capacity is cheapest, what that saves, and how sure it is."""
    best = cheapest(answer)
    detail = join_texts(" ", tuple(_left_out(answer)))
    if best is None:
        return Conclusion(_nothing_compared(answer), Certainty.UNKNOWN, detail)
    saved = answer.today - best.cost
    values = {
        "today": _sentence_amount(answer.today, answer.currency),
        "cost": _sentence_amount(best.cost, answer.currency),
        "saved": _sentence_amount(abs(saved), answer.currency),
        "yearly": _sentence_amount(abs(saved) * MONTHS, answer.currency),
        "target": TARGETS[best.target],
        "chance": figures.percent(best.probability_cheaper),
    }
    about = _(
        "Cheaper in {chance} of the simulations. They vary how fast the machines are; prices count as "
        "certain.",
        **values,
    )
    detail = join_texts(" ", (about, *_left_out(answer)))
    if saved <= 0 or best.probability_cheaper <= 1 - CLEAR:
        said = _(
            "Nothing is cheaper: you pay {today} per month today. The cheapest move, "
            "{target}, would cost {cost}.",
            **values,
        )
        return Conclusion(said, Certainty.CLEAR, detail)
    if saved < SMALL_SAVING * answer.today:
        said = _(
            "Moving saves almost nothing: {target} would cost {cost} per month instead of {today}.",
            **values,
        )
        return Conclusion(said, Certainty.CLEAR, detail)
    if best.probability_cheaper < CLEAR:
        likely = _(
            "Probably cheaper, but not certain: {target} would save {saved} per month "
            "({yearly} per year), {cost} instead of {today}. It could also cost more.",
            **values,
        )
        close = _(
            "Too close to call: {target} may save {saved} per month ({yearly} per year), "
            "{cost} instead of {today}. It could also cost more.",
            **values,
        )
        said = likely if best.probability_cheaper >= MOST_LIKELY else close
        return Conclusion(said, Certainty.TIE, detail)
    said = _(
        "You could save {saved} per month ({yearly} per year) with {target}: {cost} "
        "instead of {today} for equal capacity.",
        **values,
    )
    # What takes years to pay is no saving yet.
    pays = _(
        "Moving pays for itself after {months} months.",
        months=figures.quantity(ceil(best.payback_months or 0)),
    )
    return Conclusion(join_texts(" ", (said, pays)), Certainty.CLEAR, detail)


def _nothing_compared(answer: Elsewhere) -> str:
    if any(left_out.why is WhyLeftOut.NO_PROVIDER for left_out in answer.uncompared):
        return _(
            "The bill does not say the provider of its machines. Add the columns provider and region, "
            "and import it again."
        )
    if answer.works:
        return _("No offer in the catalogue can take over the machines of this bill.")
    return _("No machine of the bill has a score and memory in the catalogue.")


def _left_out(answer: Elsewhere) -> Iterator[str]:
    """Which machines are not in the comparison, and why, in a sentence for each reason."""
    for why in WhyLeftOut:
        of = [left_out for left_out in answer.uncompared if left_out.why is why]
        if not of:
            continue
        amount = _amount(float(sum(alternative.cost for alternative in of)), answer.currency)
        names = name_list(list(dict.fromkeys(alternative.name for alternative in of)))
        match why:
            case WhyLeftOut.NO_PROVIDER:
                yield _(
                    "Not compared: {names}, as the bill names no provider of them.", names=names
                )
            case WhyLeftOut.NO_SCORE:
                yield _(
                    "Machines billed at {amount} could not be matched, because the catalogue has "
                    "no score for them: see below.",
                    amount=amount,
                )
            case WhyLeftOut.NO_COST:
                yield _(
                    "What {names} cost today is unknown: the bill has no amount for them. Export it "
                    "with amortized costs to compare them.",
                    names=names,
                )
            case WhyLeftOut.NO_LICENCE:
                yield _(
                    "Not compared: {names} ({amount}), as their price holds a licence, and neither the "
                    "bill nor the catalogue has the price without it.",
                    names=names,
                    amount=amount,
                )


def _sentence_amount(amount: float, currency: str) -> str:
    """Three significant digits: a sentence is for the size of it, the table for the cents."""
    digits = max(2 - floor(log10(amount)), 0) if amount > 0 else 0
    rounded = round(amount, 2 - floor(log10(amount))) if amount > 0 else 0.0
    return f"{localize(f'{rounded:,.{min(digits, 2)}f}')} {currency}"


def _amount(amount: float, currency: str) -> str:
    return f"{figures.money(Decimal(amount), 'month')} {currency}"


def target_rows(answer: Elsewhere) -> list[dict[str, Any]]:
    """A line for each target, the cheapest first."""
    return [
        {
            "words": TARGETS[alternative.target],
            "servers": alternative.servers,
            "cost": Decimal(alternative.cost),
            "p5": Decimal(alternative.p5),
            "p95": Decimal(alternative.p95),
            "chance": alternative.probability_cheaper,
            "payback": alternative.payback_months,
        }
        for alternative in sorted(answer.alternatives, key=lambda alternative: alternative.cost)
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
            sum(work.cost_per_month for work in answer.works),
            _("moves"),
        ),
        (BillPart.DISK, disks, beside.disk_cost, beside_word),
        (BillPart.EGRESS, traffic, beside.egress_cost, beside_word),
    ]
    if beside.licence_cost:
        parts.append(
            (
                BillPart.LICENCES,
                KINDS[ChargeKind.LICENCE],
                beside.licence_cost,
                _("moves, at the same price"),
            )
        )
    if BillPart.MANAGED in best.parts:
        is_kept = best.target in HOURLY
        word = _("moves, at the same price") if is_kept else managed
        parts.append((BillPart.MANAGED, KINDS[ChargeKind.MANAGED], beside.managed_cost, word))
    rows: list[dict[str, Any]] = [
        {
            "words": words,
            "today": Decimal(today),
            "there": Decimal(best.parts[part]),
            "what": _("at today’s price, because the price there is not known")
            if part in best.unpriced
            else what,
        }
        for part, words, today, what in parts
        # What is free today may not be there.
        if today or best.parts[part]
    ]
    staying = list(_staying(estate, answer))
    whole = _month(estate, estate["total"])
    moved = sum(row["today"] for row in rows)
    # Fees, the machines that are not compared for want of a cost or provider, and the part of fees that
    # the machines above hold already.
    fees = whole - moved - sum(cost for _words, cost in staying)
    rows += [
        {"words": words, "today": cost, "there": cost, "what": _("stays")}
        for words, cost in [*staying, (KINDS[ChargeKind.COMMITMENT], fees)]
        if round(cost, 2)
    ]
    there = sum(row["there"] for row in rows)
    return [*rows, {"words": _("Total"), "today": whole, "there": there, "what": ""}]


def _month(estate: Mapping[str, Any], amount: Decimal | str) -> Decimal:
    return Decimal(amount) / bill_months(estate)


def _staying(estate: Mapping[str, Any], answer: Elsewhere) -> Iterator[tuple[str, Decimal]]:
    """Monthly amounts that are not compared."""
    kinds = {row["kind"]: _month(estate, row["cost"]) for row in estate["by_kind"]}
    yield (
        _("machines that are not compared"),
        _month(estate, sum((left_out.cost for left_out in answer.uncompared), Decimal(0))),
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
    # Refunds and credits of machines are in what these cost.
    left_out = {row.name for row in answer.uncompared}
    used = sum(
        (
            Decimal(machine.get("credit", 0))
            for machine in estate["machines"]
            if machine["type"] not in left_out
        ),
        Decimal(0),
    )
    for kind in kept:
        stays = kinds.get(kind, Decimal(0))
        yield KINDS[kind], stays - _month(estate, used) if kind is ChargeKind.CREDIT else stays


def week_plot(estate: Mapping[str, Any]) -> Plot | None:
    """Machines that ran by the hour of the week; None where the bill is not hourly or is short."""
    shown = [machine for machine in estate["machines"] if machine["week"]][:MOST_DRAWN]
    if not shown:
        return None
    days = (_("Mon"), _("Tue"), _("Wed"), _("Thu"), _("Fri"), _("Sat"), _("Sun"))
    hours = [f"{days[at // DAY_HOURS]} {at % DAY_HOURS}:00" for at in range(WEEK_HOURS)]
    whole = [sum(values) for values in zip(*(machine["week"] for machine in shown), strict=True)]
    return Plot(
        id="plot-week",
        title=_("Machines by the hour of the week"),
        x_label=_("hours since Monday 0:00 UTC"),
        x_kind="linear",
        x=[float(at) for at in range(WEEK_HOURS)],
        x_text=hours,
        y=Axis(_("machines"), most=max(whole)),
        marks=[
            Mark(
                f"{machine['type']} {machine['region']} {PURCHASES[machine['purchase']]}",
                machine["week"],
                "line",
            )
            for machine in shown
        ],
        summary=_(
            "Lines of how many machines ran in each hour of the week on average: at most {most} together.",
            most=figures.plain(round(Decimal(max(whole)), 1)),
        ),
        note=""
        if len(estate["machines"]) <= MOST_DRAWN
        else _("Only the {count} most expensive groups are drawn.", count=len(shown)),
    )
