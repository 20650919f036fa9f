"""Access of a worker to a cloud: the secret, the bucket of calls, and what the provider answered."""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db import connection, transaction

from backend.accounts.models import AuditEntry, CloudAccount
from backend.accounts.services.audit import audit_record
from backend.core import clock
from backend.core.crypto import unseal
from backend.core.logs import scrub
from backend.core.sealing import identity_of

USE_NOTED_EVERY = dt.timedelta(minutes=1)
# The audit trail is never emptied: an entry for each call would bury what people did.
USE_AUDITED_EVERY = dt.timedelta(hours=1)
# Who uses a secret, in the audit trail.
WORKER = "worker"


def account_secret(*, account: CloudAccount) -> dict[str, str]:
    """The secret fields in the clear, for the worker that calls the provider; empty for none."""
    if account.sealed_secret is None:
        return {}
    secret: dict[str, str] = json.loads(
        unseal(bytes(account.sealed_secret), identity=identity_of(account))
    )
    for value in secret.values():
        scrub(value)
    return secret


def account_mark_used(*, account: CloudAccount) -> None:
    """Note that a worker uses the access: once a minute on the row, once an hour in the trail."""
    now = clock.now()
    if account.last_used_at is not None and account.last_used_at > now - USE_NOTED_EVERY:
        return
    CloudAccount.objects.filter(pk=account.pk).update(last_used_at=now)
    account.last_used_at = now
    action = "cloud_account_use"
    noted = AuditEntry.objects.filter(
        action=action, object_id=str(account.pk), at__gt=now - USE_AUDITED_EVERY
    )
    if not noted.exists():
        audit_record(actor=WORKER, action=action, target=account)


@transaction.atomic
def account_mark_checked(*, account_id: UUID | str, identity: str, error: str) -> None:
    """Keep who the provider says we are, or why it does not; `error` holds no secret."""
    account = CloudAccount.objects.select_for_update().get(pk=account_id)
    account.check_requested_at = None
    account.checked_at = clock.now()
    account.check_error = error[:500]
    # A refusal does not say who we are: the identity of the last good answer stays.
    if not error:
        account.identity = identity[:300]
    account.save(update_fields=["check_requested_at", "checked_at", "check_error", "identity"])


def account_mark_looked_over(*, account_id: UUID | str, lines: Sequence[Mapping[str, str]]) -> None:
    """Keep what each region lacks or has; `lines` hold no secret."""
    CloudAccount.objects.filter(pk=account_id).update(
        preflight=[dict(line) for line in lines], preflight_at=clock.now()
    )


# The clock is read once, so that both columns hold the same instant; where it was set back, the
# bucket does not empty.
_TAKE_CALL = """
    UPDATE accounts_cloudaccount AS account
    SET {left} = bucket.filled - (bucket.filled >= 1)::int, {at} = bucket.at
    FROM (
        SELECT id, clock.at, CASE WHEN {at} IS NULL THEN %(burst)s ELSE LEAST(
            %(burst)s, {left} + %(rate)s * GREATEST(0, EXTRACT(EPOCH FROM clock.at - {at}))
        ) END AS filled
        FROM accounts_cloudaccount, LATERAL (SELECT clock_timestamp() AS at) AS clock
        WHERE id = %(id)s
        FOR UPDATE OF accounts_cloudaccount
    ) AS bucket
    WHERE account.id = bucket.id
    RETURNING bucket.filled
"""
# Machines cost until they are ended: that must be possible while launches and looks have used up
# all other calls.
_BUCKETS = {
    False: _TAKE_CALL.format(left="calls_left", at="calls_at"),
    True: _TAKE_CALL.format(left="calls_ending_left", at="calls_ending_at"),
}


def call_take(
    *, account: CloudAccount, is_end: bool = False, rate_per_s: float = 5, burst: float = 20
) -> float:
    """Take one call from the account's bucket: 0 = go on, else the seconds until one is there.

    Calls that end machines have a bucket of their own. It holds `burst` calls and fills by
    `rate_per_s`. One statement, so that any number of workers share it; it holds the row until the
    end of the caller's transaction.
    """
    with connection.cursor() as cursor:
        cursor.execute(_BUCKETS[is_end], {"id": account.pk, "rate": rate_per_s, "burst": burst})
        row = cursor.fetchone()
    if row is None:
        raise CloudAccount.DoesNotExist
    filled = float(row[0])
    return 0.0 if filled >= 1 else (1 - filled) / rate_per_s
