"""An estate as it is stored, answered by the API and shown."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from backend.bills.calc.estate import SMALLEST, Estate, Machines, Sums
from backend.bills.calc.notes import note_text
from backend.foundation.units import EXACT

SHOWN = Decimal("0.000001")
WEEK_HOURS = 168
# The first Monday of 1970 began 96 hours after its first moment.
MONDAY_HOUR = 96


def estate_document(estate: Estate, first_hour: int) -> dict[str, Any]:
    """JSON of the estate: amounts as decimal strings, exact in the total and the months.

    `first_hour` is when its first period begins, in hours since 1970.
    """
    return {
        "currency": estate.currency,
        "total": _text(estate.total),
        "lines": estate.lines,
        "hours": estate.hours,
        "month_count": _text(estate.month_count.quantize(SMALLEST)),
        "months": [{"month": month, "total": _text(total)} for month, total in estate.months],
        "by_kind": [{"kind": kind, **_sums(sums)} for kind, sums in estate.by_kind],
        "by_service": [
            {"service": service, "kind": kind, **_sums(sums)}
            for service, kind, sums in estate.by_service
        ],
        "machines": [_machines(machine, estate.hours, first_hour) for machine in estate.machines],
        "volumes": [
            {"volume": volume, "gb": _text(gb.quantize(SHOWN)), "cost": _text(cost)}
            for volume, gb, cost in estate.volumes
        ],
        "wasted": {"commitments": _text(estate.unused), "idle": _text(estate.idle)},
        "unreadable": {
            "lines": estate.unreadable.lines,
            "amount": _text(estate.unreadable.amount),
            "named": [{"line": line, "why": why} for line, why in estate.unreadable.named],
        },
        "shares": _purchase_shares(estate),
        "notes": [
            {"note": note, "lines": lines, "text": str(note_text(note, lines))}
            for note, lines in estate.notes.items()
        ],
    }


def _sums(sums: Sums) -> dict[str, Any]:
    return {
        "cost": _text(sums.billed),
        "effective_cost": _text(sums.effective),
        "list_cost": None if sums.listed is None else _text(sums.listed),
        "lines": sums.lines,
    }


def _machines(machines: Machines, hours: int, first_hour: int) -> dict[str, Any]:
    mean = EXACT.divide(machines.hours, Decimal(hours)) if hours else Decimal(0)
    return {
        "type": machines.key.machine_type,
        "provider": machines.key.provider,
        "region": machines.key.region,
        "purchase": machines.key.purchase,
        "system": machines.key.system,
        "hours": _text(machines.hours.quantize(SHOWN)),
        "count": _text(mean.quantize(SHOWN)),
        "peak": None if machines.peak is None else round(machines.peak, 6),
        "resources": machines.resources,
        "always_on": machines.always_on,
        "busiest": round(machines.busiest, 6),
        "week": week(machines.curve, first_hour),
        "discount": _text(machines.discount),
        "credit": _text(machines.credit),
        **_sums(machines.sums),
    }


def week(curve: Sequence[float], first_hour: int) -> list[float]:
    """Mean of a curve by hour of the week, from Monday 0:00 UTC; [] for less than a week."""
    if len(curve) < WEEK_HOURS:
        return []
    begin = (first_hour - MONDAY_HOUR) % WEEK_HOURS
    parts = [curve[(at - begin) % WEEK_HOURS :: WEEK_HOURS] for at in range(WEEK_HOURS)]
    return [round(sum(part) / len(part), 4) for part in parts]


def _purchase_shares(estate: Estate) -> Mapping[str, str | None]:
    """How machine hours were bought, as shares of them; None without machine hours."""
    hours: dict[str, Decimal] = {
        "on_demand": Decimal(0),
        "spot": Decimal(0),
        "committed": Decimal(0),
    }
    for machine in estate.machines:
        hours[machine.key.purchase] += machine.hours
    total = sum(hours.values(), Decimal(0))
    if not total:
        return dict.fromkeys(hours)
    return {name: _text(EXACT.divide(of, total).quantize(SHOWN)) for name, of in hours.items()}


def _text(amount: Decimal) -> str:
    """Without an exponent and without zeros at its end."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
