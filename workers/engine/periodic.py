"""Work of the tick beside steps: starts due campaigns, watches budgets, has notices sent and
accounts at clouds checked."""

import logging

from backend.benchmarks.selectors.campaigns import campaigns_to_make
from backend.benchmarks.selectors.schedules import schedules_due
from backend.benchmarks.services.campaigns import campaign_cancel, campaign_watch_budget
from backend.benchmarks.services.rounds import round_continue
from backend.benchmarks.services.schedules import schedule_fire
from backend.bills.selectors.bills import uploads_waiting
from backend.core.queue import Task, enqueue
from backend.foundation.errors import DomainError
from backend.notifications.selectors.notices import has_due_notices
from backend.rentals.selectors.cloud_accounts import checks_due
from backend.scenarios.services.jobs import jobs_wake
from workers.rentals import account_access

log = logging.getLogger(__name__)

# An account that nobody has checked by then: the message may be lost with its broker, and is sent again.
CHECK_AGAIN_S = 30
# How long a tick makes the runs of one round.
ROUNDS_S = 1
# Campaigns that one tick starts at most, as ticks come every five seconds; the next ones come with the next
# tick.
MAX_STARTS = 20


def tick() -> None:
    """A look, through the broker where something has to be sent."""
    start_due()
    if has_due_notices():
        enqueue(Task.SEND_NOTICES)
    if uploads_waiting().exists():
        enqueue(Task.READ_BILLS)
    jobs_wake()
    for account_id in checks_due(since_s=CHECK_AGAIN_S):
        enqueue(Task.CHECK_ACCOUNT, account_id=account_id)


def start_due() -> int:
    """Start every campaign that is due; returns how many due times were dealt with.

    One that fails for a defect of ours does not keep the others waiting.
    """
    fired = 0
    for schedule in schedules_due(MAX_STARTS):
        try:
            fired += schedule_fire(schedule=schedule)
        except Exception:  # stays due, and is logged at every tick until it is mended
            log.exception("schedule %s failed", schedule.pk)
    make_rounds()
    campaign_watch_budget()
    return fired


def make_rounds() -> None:
    """Go on making the runs of rounds that have begun, for a second: others wait for this tick."""
    for campaign in campaigns_to_make():
        try:
            round_continue(campaign=campaign, seconds=ROUNDS_S)
        except DomainError as error:  # nothing can be rented any more: it would never be complete
            log.warning("round %s of %s is cancelled: %s", campaign.round, campaign.name, error)
            campaign_cancel(campaign=campaign, actor="engine")
        except Exception:  # as above
            log.exception("the round of campaign %s failed", campaign.pk)


def check_due() -> None:
    """Check the accounts for which that was asked, in this process."""
    for account_id in checks_due(since_s=0):
        try:
            account_access.check(account_id)
        except Exception:  # as above
            log.exception("the check of account %s failed", account_id)
