"""The discount that grows with the share of the month a server runs (Google Compute Engine)."""

from collections.abc import Sequence
from fractions import Fraction

F = Fraction
N1 = ((F(1, 4), F(1)), (F(1, 2), F(4, 5)), (F(3, 4), F(3, 5)), (F(1), F(2, 5)))
# (cumulative share of the month, factor on the list price); 30 % and 20 % off a whole month.
N2 = ((F(1, 4), F(1)), (F(1, 2), F(8678, 10000)), (F(3, 4), F(733, 1000)), (F(1), F(3, 5)))


def share_of_list_price(used: Fraction, tiers: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
    """Share of the list price of a whole month that a used share (0 to 1) costs."""
    billed, lower = Fraction(0), Fraction(0)
    for upper, factor in tiers:
        billed += max(Fraction(0), min(used, upper) - lower) * factor
        lower = upper
    return billed
