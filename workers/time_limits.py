"""How long the pieces of work may take."""

from django.conf import settings


def step_seconds() -> float:
    """How long one step may work: well within its lease."""
    # What is left of the lease is for writing the outcome, which a lost lease would throw away.
    return 0.75 * settings.LEASE_S
