"""The notices that wait to be delivered.

A notice is queued once for each subscription (its key is unique there) and its row says whether it
was sent. Whoever delivers it claims it first, so that two workers never send one notice side by
side; after the lease of a worker that dies between sending and saying so, it is sent again, and its
identifier, which stays the same, lets the receiver see that.
"""

import datetime as dt
from collections.abc import Mapping
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from backend.accounts.models import Workspace
from backend.core import clock
from backend.core.queue import Task, enqueue
from backend.notifications.models import Notice, NoticeKind, Subscription

# The waits between them add up to 8.5 hours: a server that is down over a night is outlasted.
MAX_ATTEMPTS = 10
FIRST_BACKOFF_S = 60
# Longer than a delivery may take (workers.notifications.delivery).
LEASE = dt.timedelta(minutes=2)


@transaction.atomic
def notice_queue(
    *,
    workspace: Workspace,
    kind: NoticeKind,
    key: str,
    document: Mapping[str, object],
    campaign: UUID | None = None,
) -> None:
    """Notify every subscription to the kind, each once for this key.

    `document` holds title, detail and url, and ids and counts for programs; kind and time are
    added. Who is subscribed to one `campaign` alone is notified only of that.
    """
    recipients = Subscription.objects.filter(
        Q(campaign=None) | Q(campaign=campaign) if campaign else Q(campaign=None),
        workspace=workspace,
        is_enabled=True,
        kinds__contains=[kind],
    )
    complete = {"kind": kind.value, "at": clock.now().isoformat(), **document}
    notices = [
        Notice(subscription=recipient, key=key, document=complete, next_due_at=clock.now())
        for recipient in recipients
    ]
    if notices:
        # The key is unique for each subscription: a step that is done again queues nothing again.
        Notice.objects.bulk_create(notices, ignore_conflicts=True)
        enqueue(Task.SEND_NOTICES)


@transaction.atomic
def notice_test(*, subscription: Subscription, url: str) -> None:
    """Send one notice that says nothing happened, so that a person sees whether it arrives."""
    now = clock.now()
    document = {
        "kind": "test",
        "at": now.isoformat(),
        "title": "Test of an alert",
        "detail": "Nothing happened: somebody asked for this message to see whether it arrives.",
        "url": url,
    }
    # The time is part of the key: a person may test as often as they like.
    Notice.objects.create(
        subscription=subscription, key=f"test {now.isoformat()}", document=document, next_due_at=now
    )
    enqueue(Task.SEND_NOTICES)


@transaction.atomic
def notice_claim() -> Notice | None:
    """The notice that is due first, claimed for LEASE; None when nothing is due."""
    notice = (
        Notice.objects.select_for_update(skip_locked=True, of=("self",))
        .select_related("subscription")
        .filter(sent_at=None, next_due_at__lte=Now())
        .order_by("next_due_at", "id")
        .first()
    )
    if notice is not None:
        notice.attempt += 1
        # While it is claimed it is due later; when its worker dies it is due again by itself.
        notice.next_due_at = clock.now() + LEASE
        notice.save(update_fields=["attempt", "next_due_at"])
    return notice


def notice_mark_sent(*, notice: Notice) -> None:
    """The claimed notice was delivered."""
    _claim(notice).update(sent_at=clock.now(), next_due_at=None, last_error="")


def notice_mark_failed(*, notice: Notice, error: str) -> None:
    """Try the claimed notice again later: after 1 minute, then twice as long each time; after
    MAX_ATTEMPTS no more, which its subscription shows."""
    if notice.attempt >= MAX_ATTEMPTS:
        error, due = f"given up after {notice.attempt} attempts: {error}", None
    else:
        wait_s = FIRST_BACKOFF_S * 2 ** (notice.attempt - 1)
        due = clock.now() + dt.timedelta(seconds=wait_s)
    _claim(notice).update(next_due_at=due, last_error=error[:500])


def _claim(notice: Notice) -> QuerySet[Notice]:
    """The row while our claim is the newest one."""
    # The attempt is the fence: a worker that comes back after its lease must not change what the
    # next one has claimed.
    return Notice.objects.filter(pk=notice.pk, attempt=notice.attempt, sent_at=None)
