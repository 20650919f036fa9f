"""What an option comes to by itself, and all that comparing it with the others takes.

Options need each other only where they are compared, so each may be calculated by another process:
`written` and `alone_from` hand it on to the last digit.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from backend.domain.scenarios.model import Option
from backend.domain.scenarios.uncertainty import Draws, OptionSpread

# Of arrays that are handed on: the same bytes on every machine.
FLOATS = "<f8"


@dataclass(frozen=True)
class OptionAlone:
    """An option without the others; amounts are exact."""

    option: Option
    members: Mapping[str, Any]
    """Of the result."""
    total: Fraction
    unserved_share: float
    paid: tuple[Fraction, ...]
    """What is paid for the servers of each part."""
    drawn: OptionSpread | None = None
    """In each draw; none where nothing is uncertain."""
    moved: tuple[OptionSpread, ...] = ()
    """At both ends of each input of the tornado."""


def written(one: OptionAlone) -> dict[str, Any]:
    """All of it but the option, as JSON."""
    return {
        "members": one.members,
        "total": str(one.total),
        "unserved_share": one.unserved_share,
        "paid": [str(amount) for amount in one.paid],
        "drawn": None if one.drawn is None else _spread(one.drawn),
        "moved": [_spread(each) for each in one.moved],
    }


def alone_from(option: Option, stated: Mapping[str, Any]) -> OptionAlone:
    """What was written of this option."""
    return OptionAlone(
        option,
        stated["members"],
        Fraction(stated["total"]),
        stated["unserved_share"],
        tuple(map(Fraction, stated["paid"])),
        None if stated["drawn"] is None else _spread_from(stated["drawn"]),
        tuple(map(_spread_from, stated["moved"])),
    )


def _spread(one: OptionSpread) -> dict[str, Any]:
    # Not as numbers in text, which would take twice the room and a hundred times as long.
    return {
        "costs": _text(one.costs),
        "unserved": _text(one.unserved),
        "cost_error_ratio": one.cost_error_ratio,
    }


def _spread_from(stated: Mapping[str, Any]) -> OptionSpread:
    costs, unserved = _draws(stated["costs"]), _draws(stated["unserved"])
    return OptionSpread(costs, unserved, stated["cost_error_ratio"])


def _text(draws: Draws) -> str:
    return b64encode(draws.astype(FLOATS).tobytes()).decode("ascii")


def _draws(text: str) -> Draws:
    return np.frombuffer(b64decode(text), FLOATS).astype(np.float64)
