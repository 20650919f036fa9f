"""Cost of lines with commitments spread over their use, and the part that nothing used."""

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from backend.bills.calc.estate import ZERO
from backend.bills.services.amounts import MONEY, money

# Of Azure, whose lines are their unused part.
UNUSED_CHARGES = ("UnusedReservation", "UnusedSavingsPlan")


def spread_over_use(columns: Mapping[str, pa.Array], billed: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Both by line; the second is null where a line is of no commitment or was used."""
    effective = billed
    if "effective" in columns:
        effective = pc.coalesce(money(columns["effective"]), billed)
    unused = pa.nulls(len(billed), MONEY)
    if "charge" not in columns:
        return effective, unused
    for is_meant, amount in _spread_by_aws(columns):
        # Without its amount nobody knows what the hour costs: 0 says so (selectors.elsewhere).
        effective = pc.if_else(is_meant, pc.fill_null(amount, ZERO), effective)
    for is_meant, amount in _fees_unused_at_aws(columns):
        effective = pc.if_else(is_meant, pc.coalesce(amount, effective), effective)
        unused = pc.if_else(is_meant, amount, unused)
    is_unused = pc.is_in(columns["charge"], pa.array(UNUSED_CHARGES))
    if "status" in columns:
        is_unused = pc.or_(is_unused, pc.equal(pc.utf8_lower(columns["status"]), "unused"))
    # Some bills leave one of both amounts at 0.
    left = pc.if_else(pc.equal(effective, ZERO), billed, effective)
    return effective, pc.if_else(is_unused, left, unused)


# docs.aws.amazon.com/cur/latest/userguide: "Reservation details", "Savings Plans line items"; what
# Cost Explorer calls the amortized cost.


def _spread_by_aws(columns: Mapping[str, pa.Array]) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Which lines cost another amount than was billed: hours cost what their commitment does, so that
    its fees cost nothing."""
    charge, free = columns["charge"], pa.array([ZERO] * len(columns["charge"]), MONEY)
    for name, covered in (("reserved", "DiscountedUsage"), ("saved", "SavingsPlanCoveredUsage")):
        yield pc.equal(charge, covered), money(columns[name]) if name in columns else free
    if "reservation" in columns:
        is_reserved = pc.not_equal(columns["reservation"], "")
        yield pc.and_(pc.equal(charge, "Fee"), is_reserved), free
    fees = pa.array(["SavingsPlanNegation", "SavingsPlanUpfrontFee"])
    yield pc.is_in(charge, fees), free


def _fees_unused_at_aws(columns: Mapping[str, pa.Array]) -> Iterator[tuple[pa.Array, pa.Array]]:
    """Fees that recur, as far as nothing used them: the rest is in the hours."""
    if "unused_recurring" in columns and "unused_upfront" in columns:
        parts = [
            pc.fill_null(money(columns[name]), ZERO)
            for name in ("unused_recurring", "unused_upfront")
        ]
        yield pc.equal(columns["charge"], "RIFee"), pc.cast(pc.add(*parts), MONEY)
    if "plan_commitment" in columns and "plan_used" in columns:
        parts = [money(columns[name]) for name in ("plan_commitment", "plan_used")]
        is_fee = pc.equal(columns["charge"], "SavingsPlanRecurringFee")
        yield is_fee, pc.cast(pc.subtract(*parts), MONEY)
