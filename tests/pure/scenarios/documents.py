"""Documents that the tests of scenarios start from."""

from typing import Any

Document = dict[str, Any]


def price(amount: str, billing: str = "per_second", **given: Any) -> Document:
    """A price in USD, for the unit that its rule needs."""
    unit = "month" if billing in ("monthly", "dedicated") else "hour"
    return {"amount": amount, "currency": "USD", "unit": unit, "billing": billing, **given}


def all_of(name: str, given: Document, **part: Any) -> Document:
    """An option of one part."""
    return {"name": name, "parts": [{"role": "all", "price": given, **part}]}


def hybrid(name: str, base: Document, burst: Document, count: Any = "optimal") -> Document:
    """An option of a base and a burst."""
    parts = [
        {"role": "base", "count": count, "price": base},
        {"role": "burst", "price": burst},
    ]
    return {"name": name, "parts": parts}


def startup(*options: Document, **given: Any) -> Document:
    """Three servers all day, 20 from ten to three, for 30 days."""
    return {
        "schema": 1,
        "name": "Startup with five busy hours",
        "horizon": {"start": "2026-01-01T00:00:00+00:00", "days": 30, "step_s": 60},
        "demand": {
            "unit": "servers",
            "kind": "daily",
            "base": 3,
            "windows": [{"from": "10:00", "to": "15:00", "level": 20}],
        },
        "capacity": {"units_per_server": "1"},
        "policy": {"kind": "perfect"},
        "options": list(options),
        **given,
    }
