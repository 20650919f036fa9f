"""All policies of how long rows are kept, and one round of them."""

from collections.abc import Iterator

from backend.accounts.services import retention as accounts
from backend.benchmarks.services import retention as benchmarks
from backend.catalog.services import retention as catalog
from backend.core.alone import alone
from backend.core.retention import Retention, count_old, forget_old
from backend.notifications.services import retention as notifications
from backend.scenarios.services import retention as scenarios

POLICIES: tuple[Retention, ...] = (
    *accounts.POLICIES,
    *notifications.POLICIES,
    *catalog.POLICIES,
    *benchmarks.POLICIES,
    *scenarios.POLICIES,
)
LOCK = 0x7265_7461_696E
# Of each kind in one round of the task, which comes every hour: it ends within its time.
MOST = 20_000


def count_expired() -> Iterator[tuple[Retention, int]]:
    """How many rows of each kind would go."""
    for policy in POLICIES:
        yield policy, count_old(policy)


def delete_expired(most: int = MOST) -> Iterator[tuple[Retention, int]]:
    """Let them go, of each kind at most so many; nothing while another process does."""
    with alone(LOCK) as is_alone:
        for policy in POLICIES if is_alone else ():
            yield policy, forget_old(policy, most=most)
