"""CPU credits: what a burstable machine does once it has used up those that it earned.

In the mode "standard" it is slowed to its share. In the mode "unlimited" it runs on, and the provider
charges for it beside the price of the machine.
"""

STANDARD = "standard"
UNLIMITED = "unlimited"
CREDIT_MODES = (STANDARD, UNLIMITED)


def credit_flag(mode: str) -> str:
    """The flag of figures that were measured in the mode, and of offers sold in it only."""
    return f"credit_{mode}"


CREDIT_FLAGS = frozenset(map(credit_flag, CREDIT_MODES))
