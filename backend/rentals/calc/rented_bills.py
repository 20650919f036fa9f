"""The ledger of rented machines beside the provider's own bill, machine by machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from backend.money.money import Money


@dataclass(frozen=True)
class BilledMachine:
    """A machine by both accounts of a month; None where one of them does not have it."""

    token: str
    """Token of its launch; "" for what the bill states of no machine."""
    ledger: Money | None
    bill: Money | None

    @property
    def difference(self) -> Decimal | None:
        """Bill less ledger; None where two currencies leave nothing to subtract. What one side does
        not have counts as nothing there."""
        sides = [side for side in (self.ledger, self.bill) if side is not None]
        if len({side.currency for side in sides}) != 1:
            return None
        ledger, bill = (
            Decimal(0) if side is None else side.amount for side in (self.ledger, self.bill)
        )
        return bill - ledger


def match_machines(ledger: Mapping[str, Money], bill: Mapping[str, Money]) -> list[BilledMachine]:
    """Both by the token of the launch, the largest difference first, those without one before."""
    rows = [
        BilledMachine(token, ledger.get(token), bill.get(token)) for token in {**ledger, **bill}
    ]

    def weight(row: BilledMachine) -> tuple[bool, Decimal, str]:
        known = row.difference
        return known is not None, -abs(known or Decimal(0)), row.token

    return sorted(rows, key=weight)
