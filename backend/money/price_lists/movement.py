"""How a list of prices moved as a whole, in one sentence."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from backend.foundation.texts import text as _

# Fewer prices that changed alike may be slips; they tell nothing of the list.
LEAST_MOVED = 3


@dataclass(frozen=True)
class ListMovement:
    """How the prices of a list differ from those in force."""

    listed: int
    rose: int
    fell: int
    low: Decimal = Decimal(1)
    """Ratio of the new price to the old one, where it changed least in the list's direction."""
    high: Decimal = Decimal(1)

    @classmethod
    def of(cls, ratios: Iterable[Decimal], *, listed: int) -> "ListMovement":
        """`listed`: how many prices the list has."""
        known = list(ratios)
        rising = [ratio for ratio in known if ratio > 1]
        falling = [ratio for ratio in known if ratio < 1]
        main = rising if len(rising) >= len(falling) else falling
        if not main:
            return cls(listed, 0, 0)
        nearest, farthest = sorted((min(main), max(main)), key=lambda ratio: abs(ratio - 1))
        return cls(listed, len(rising), len(falling), nearest, farthest)

    @property
    def is_whole(self) -> bool:
        """True where most prices of the list moved the same way."""
        return 2 * max(self.rose, self.fell) > self.listed >= LEAST_MOVED

    @property
    def sentence(self) -> str:
        """How many prices moved, which way and how far; "" where none is comparable."""
        count = max(self.rose, self.fell)
        if not count:
            return ""
        low, high = (f"{abs(ratio - 1) * 100:.0f}" for ratio in (self.low, self.high))
        by = f"{low}%" if low == high else _("{low} to {high}%", low=low, high=high)
        known = {"count": f"{count:,}", "listed": f"{self.listed:,}", "by": by}
        if self.is_whole and self.rose >= self.fell:
            return _("The whole list moved: {count} of {listed} prices rose, by {by}.", **known)
        if self.is_whole:
            return _("The whole list moved: {count} of {listed} prices fell, by {by}.", **known)
        if self.rose >= self.fell:
            return _("{count} of {listed} prices rose, by {by}.", **known)
        return _("{count} of {listed} prices fell, by {by}.", **known)
