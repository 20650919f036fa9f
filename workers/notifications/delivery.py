"""Delivers the notices that are due, each by the channel of its subscription."""

import logging
import time
from collections.abc import Callable

from backend.foundation.errors import InvalidValue
from backend.notifications.channels import channel_of
from backend.notifications.channels.channel import Message, NotDelivered
from backend.notifications.models import Notice
from backend.notifications.services.notices import (
    notice_claim,
    notice_mark_failed,
    notice_mark_sent,
)
from backend.notifications.services.subscriptions import subscription_secret

log = logging.getLogger(__name__)

# After this no further notice is begun, well within a task's time limit.
BUDGET_S = 45.0


def deliver_due(*, may_continue: Callable[[], bool] = lambda: True) -> int:
    """Send what is due, one after the other; returns how many were sent."""
    sent = 0
    end = time.monotonic() + BUDGET_S
    # Claimed one at a time: a notice that is claimed and not sent would wait for its next attempt.
    while may_continue() and time.monotonic() < end and (notice := notice_claim()) is not None:
        recipient = f"{notice.subscription.channel} subscription {notice.subscription_id}"
        attempt = f"notice {notice.key} to {recipient}, attempt {notice.attempt}"
        try:
            _send(notice)
        except NotDelivered as error:
            log.warning("%s: %s", attempt, error)
            notice_mark_failed(notice=notice, error=str(error))
        else:
            log.info("%s: sent", attempt)
            notice_mark_sent(notice=notice)
            sent += 1
    return sent


def _send(notice: Notice) -> None:
    subscription = notice.subscription
    if not subscription.is_enabled:
        raise NotDelivered("the subscription is disabled")
    message = Message(
        notice_id=notice.pk,
        key=notice.key,
        document=notice.document,
        address=subscription.address,
        secret=subscription_secret(subscription=subscription),
    )
    try:
        channel = channel_of(subscription.channel)
        # Again, as what a name leads to may have changed since the subscription was saved.
        channel.check_address(message.address)
        channel.send(message)
    except InvalidValue as error:
        raise NotDelivered(error.detail) from error
