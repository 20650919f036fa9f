"""The result of an option by itself, and all that comparing it with the others takes.

Options need each other only where they are compared, so each may be calculated by another process:
`document_json` and `alone_from` hand it on to the last digit.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from backend.scenarios.calc.model import Option
from backend.scenarios.calc.uncertainty import Draws, OptionSpread

# Of arrays that are handed on: the same bytes on every machine.
FLOATS = "<f8"


@dataclass(frozen=True)
class OptionAlone:
    """An option without the others; amounts are exact."""

    option: Option
    members: Mapping[str, Any]
    """Members of the result."""
    total: Fraction
    unserved_share: float
    paid: tuple[Fraction, ...]
    """Payment for the servers of each part."""
    drawn: OptionSpread | None = None
    """In each draw; none where nothing is uncertain."""
    moved: tuple[OptionSpread, ...] = ()
    """At both ends of each input of the tornado."""


def document_json(alone: OptionAlone) -> dict[str, Any]:
    """All of it but the option, as JSON."""
    return {
        "members": alone.members,
        "total": str(alone.total),
        "unserved_share": alone.unserved_share,
        "paid": [str(amount) for amount in alone.paid],
        "drawn": None if alone.drawn is None else _spread(alone.drawn),
        "moved": [_spread(each) for each in alone.moved],
    }


def alone_from(option: Option, stated: Mapping[str, Any]) -> OptionAlone:
    """The option's result from its written form."""
    return OptionAlone(
        option,
        stated["members"],
        Fraction(stated["total"]),
        stated["unserved_share"],
        tuple(map(Fraction, stated["paid"])),
        None if stated["drawn"] is None else _spread_from(stated["drawn"]),
        tuple(map(_spread_from, stated["moved"])),
    )


def _spread(spread: OptionSpread) -> dict[str, Any]:
    # Not as numbers in text, which would take twice the room and a hundred times as long.
    return {
        "costs": _text(spread.costs),
        "unserved": _text(spread.unserved),
        "cost_error_ratio": spread.cost_error_ratio,
    }


def _spread_from(stated: Mapping[str, Any]) -> OptionSpread:
    costs, unserved = _draws(stated["costs"]), _draws(stated["unserved"])
    return OptionSpread(costs, unserved, stated["cost_error_ratio"])


def _text(draws: Draws) -> str:
    return b64encode(draws.astype(FLOATS).tobytes()).decode("ascii")


def _draws(text: str) -> Draws:
    return np.frombuffer(b64decode(text), FLOATS).astype(np.float64)
