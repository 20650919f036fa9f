"""The sheet of a bill: today against each other place, what that depends on, and what was assumed."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from backend.bills.calc.replacing import Assumptions
from backend.bills.models import Bill
from backend.bills.pages.plots import swing_words
from backend.bills.pages.shown import (
    TARGETS,
    cheapest,
    elsewhere_conclusion,
    idle_words,
    kind_rows,
    sentence,
    target_rows,
    waste_words,
)
from backend.bills.selectors.elsewhere import Elsewhere
from backend.measure.metrics import METRICS
from backend.reports.pages.sheet import Sheet, SheetColumn, bar, bar_chart, bar_words, some
from backend.site import figures
from backend.site.language import _, localize

MOST_SWINGS = 5


def bill_sheet(bill: Bill, answer: Elsewhere) -> Sheet:
    """Cost of the machines today and elsewhere, the cheapest first."""
    unit = _("{currency} per month", currency=answer.currency)
    return Sheet(
        conclusion=elsewhere_conclusion(answer),
        chart=_chart(answer, unit),
        columns=[
            SheetColumn(_("Option"), 1.6),
            SheetColumn(_("Servers"), 3),
            SheetColumn(unit, 1.2, is_number=True),
            SheetColumn(_("90% range"), 1.6, is_number=True),
            SheetColumn(_("Cheaper"), 0.9, is_number=True),
            SheetColumn(_("Payback"), 1.1, is_number=True),
        ],
        rows=[
            [_("today"), "", _money(answer.today), "", "", ""],
            *(
                [
                    target_row["words"],
                    some([f"{count} × {name}" for _slug, name, count in target_row["servers"]]),
                    _money(target_row["cost"]),
                    f"{_money(target_row['p5'])} – {_money(target_row['p95'])}",
                    figures.percent(target_row["chance"]),
                    _("never")
                    if target_row["payback"] is None
                    else _("{months} months", months=figures.quantity(target_row["payback"])),
                ]
                for target_row in target_rows(answer)
            ),
        ],
        facts=list(_facts(bill, answer)),
    )


def _money(amount: float | Decimal) -> str:
    return figures.money(Decimal(amount), "month")


def _chart(answer: Elsewhere, unit: str) -> dict[str, Any]:
    shown = sorted(answer.alternatives, key=lambda alternative: alternative.cost)
    bars = [
        bar(_("today"), answer.today),
        *(
            bar(TARGETS[alternative.target], alternative.cost, (alternative.p5, alternative.p95))
            for alternative in shown
        ),
    ]
    summary = _(
        "Bars of the cost in {unit}, lower is better: {said}.", unit=unit, said=bar_words(bars)
    )
    return bar_chart(_("Today and elsewhere"), unit, bars, summary, interval=_("90% range"))


def _services(assumed: Assumptions, currency: str) -> str:
    if not assumed.may_run_services:
        return _("managed services stay as they are")
    return _(
        "managed services run by oneself: a premium of {premium} less, {hours} hours of staff at "
        "{hourly} {currency} more",
        premium=figures.percent(assumed.managed_premium),
        hours=figures.quantity(Decimal(assumed.service_hours)),
        hourly=_money(assumed.staff_hour),
        currency=currency,
    )


def _facts(bill: Bill, answer: Elsewhere) -> Iterator[tuple[str, str]]:
    yield _("Bill"), f"{bill.name}: {sentence(bill.estate)}"
    yield (
        _("Breakdown"),
        some(
            [
                f"{kind_row['words']} {_money(Decimal(kind_row['cost']))} {answer.currency}"
                for kind_row in kind_rows(bill.estate)
            ]
        ),
    )
    if not_used := [text for text in (waste_words(bill.estate), idle_words(answer)) if text]:
        yield _("Paid for and not used"), "; ".join(not_used)
    if answer.uncompared:
        parts = [
            f"{left_out.name} ({_money(left_out.cost)} {answer.currency})"
            for left_out in answer.uncompared
        ]
        yield _("Not compared"), some(parts)
    best = cheapest(answer)
    if best is not None and best.swings:
        yield (
            _("It depends on"),
            "; ".join(
                f"{swing_words(swing)} {_money(swing.cost_low)} – {_money(swing.cost_high)}"
                for swing in best.swings[:MOST_SWINGS]
            ),
        )
    if answer.assumed.spread_commitments:
        yield _("today"), _("Amortised cost")
    yield _("Assumed"), _assumption_words(answer)
    yield (
        _("Ranges"),
        _(
            "from the 5th to the 95th percentile of {draws} simulations of all scores",
            draws="2,000",
        ),
    )
    yield (
        _("Files"),
        _(
            "{lines} lines, sha256 {sha256}",
            lines=localize(f"{bill.line_count:,}"),
            sha256=bill.sha256[:12],
        ),
    )


def _assumption_words(answer: Elsewhere) -> str:
    assumed = answer.assumed
    return _(
        "compared by {metric}, {arch}; moving {moving} {currency} once; staff {staff} "
        "{currency} a month and server, {spares} spare servers (dedicated and your "
        "own), {headroom}% of servers kept free; disks and traffic at the target's "
        "prices; {services}",
        services=_services(assumed, answer.currency),
        arch=_("any CPU architecture")
        if assumed.may_change_arch
        else _("the same CPU architecture"),
        metric=METRICS[answer.metric].label,
        moving=_money(assumed.moving_cost),
        staff=_money(assumed.staff_per_server),
        spares=assumed.spares,
        headroom=figures.quantity(Decimal(assumed.headroom_percent)),
        currency=answer.currency,
    )
