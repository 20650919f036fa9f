"""Accounts at clouds: who may be asked for machines, with which limits, and how often.

The secret is sealed as soon as it arrives. Only a worker opens it (`account_secret`).
"""

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from django.conf import settings as server
from django.db import connection, transaction
from django.db.models import Count, Q, QuerySet

from backend.accounts.models import AuditEntry, CloudAccount, Workspace
from backend.accounts.services.audit import audit_record
from backend.common import clock
from backend.common.crypto import opened, sealed
from backend.common.queue import Task, enqueue
from backend.domain.errors import DomainError, InvalidValue
from backend.providers.accounts import (
    checked_secret,
    checked_settings,
    identity_settings,
    needs_secret,
)

MAX_MACHINES = 1000
USE_NOTED_EVERY = dt.timedelta(minutes=1)
USE_AUDITED_EVERY = dt.timedelta(hours=1)
GONE = "gone"
"""State of a machine of which nothing is left (benchmarks.ResourceState)."""
WORKER = "worker"
"""Who uses a secret, in the audit trail."""


class AccountInUse(DomainError):
    """Machines of the account are alive: it cannot be given up yet."""

    def __init__(self, machines: int) -> None:
        plural = "" if machines == 1 else "s"
        super().__init__(f"{machines} machine{plural} of this account may still exist")
        self.machines = machines


@dataclass(frozen=True)
class MonthlyBudget:
    """The most that a calendar month may cost."""

    amount: Decimal
    currency: str


def accounts_visible(workspace: Workspace) -> QuerySet[CloudAccount]:
    """Accounts of the workspace, the oldest first, with `machines`: how many may exist."""
    alive = Count("resources", filter=~Q(resources__state=GONE))
    return CloudAccount.objects.filter(workspace=workspace).annotate(machines=alive)


def secret_age_days(account: CloudAccount) -> int | None:
    """Whole days since the secret was given; None without one."""
    return (clock.now() - account.secret_set_at).days if account.secret_set_at else None


# --- what a person asks for -----------------------------------------------------------------------


@transaction.atomic
def account_create(
    *,
    workspace: Workspace,
    name: str,
    provider: str,
    access: str,
    settings: Mapping[str, object],
    secret: Mapping[str, object],
    max_machines: int,
    budget: MonthlyBudget | None,
    actor: str,
) -> CloudAccount:
    """An account whose provider is asked at once who we are; raises InvalidValue with a pointer."""
    are_allowed = server.CLOUD_ENDPOINTS
    account = CloudAccount(workspace=workspace, provider=provider, access=access)
    account.settings = checked_settings(
        provider, access, settings, are_endpoints_allowed=are_allowed
    )
    _seal(account, checked_secret(provider, access, secret, are_endpoints_allowed=are_allowed))
    _name(account, name)
    _limit(account, max_machines, budget)
    account.save()
    _audit(account, "cloud_account_create", actor)
    account_check(account=account, actor=actor)
    return account


@transaction.atomic
def account_update(
    *,
    account: CloudAccount,
    name: str,
    settings: Mapping[str, object],
    max_machines: int,
    budget: MonthlyBudget | None,
    is_enabled: bool,
    actor: str,
) -> CloudAccount:
    """Other settings and limits; raises InvalidValue with a pointer.

    Where a secret is kept, another address of the provider's interface needs the secret again
    (account_secret_replace): whoever may write addresses shall not have it sent there.
    """
    account = _locked(account)
    found = checked_settings(
        account.provider,
        account.access,
        settings,
        are_endpoints_allowed=server.CLOUD_ENDPOINTS,
    )
    is_moved = found.get("endpoint_url") != account.settings.get("endpoint_url")
    if is_moved and account.sealed_secret is not None:
        raise InvalidValue("/settings/endpoint_url", "another address needs the secret again")
    _refuse_stranding(account, found)
    is_open = account.sealed_secret is not None or not needs_secret(
        account.provider, account.access
    )
    if is_enabled and not is_open:
        raise InvalidValue("/enabled", "its secret was forgotten; enter it again")
    is_other = found != account.settings or (is_enabled and not account.is_enabled)
    account.settings, account.is_enabled = found, is_enabled
    _name(account, name)
    _limit(account, max_machines, budget)
    account.save()
    _audit(account, "cloud_account_update", actor)
    if is_other and is_enabled:
        account_check(account=account, actor=actor)
    return account


@transaction.atomic
def account_secret_replace(
    *,
    account: CloudAccount,
    access: str,
    settings: Mapping[str, object],
    secret: Mapping[str, object],
    actor: str,
) -> CloudAccount:
    """Another secret, perhaps another way in; raises InvalidValue with a pointer."""
    account = _locked(account)
    are_allowed = server.CLOUD_ENDPOINTS
    found = checked_settings(account.provider, access, settings, are_endpoints_allowed=are_allowed)
    fields = checked_secret(account.provider, access, secret, are_endpoints_allowed=are_allowed)
    _refuse_stranding(account, found)
    account.settings, account.access = found, access
    _seal(account, fields)
    account.identity, account.checked_at = "", None
    account.save()
    _audit(account, "cloud_account_secret_replace", actor)
    account_check(account=account, actor=actor)
    return account


@transaction.atomic
def account_check(*, account: CloudAccount, actor: str) -> None:
    """Ask a worker who the provider says we are; `checked_at` or `check_error` answer."""
    account.check_requested_at = clock.now()
    account.check_error = ""
    account.save(update_fields=["check_requested_at", "check_error"])
    audit_record(
        workspace=account.workspace, actor=actor, action="cloud_account_check", target=account
    )
    enqueue(Task.CHECK_ACCOUNT, account_id=str(account.pk))


@transaction.atomic
def account_delete(*, account: CloudAccount, actor: str) -> CloudAccount:
    """Rent nothing there any more and forget the secret; the row stays, its costs refer to it.

    Raises AccountInUse while one of its machines may exist: it could not be ended without access.
    """
    account = _locked(account)
    _refuse_in_use(account)
    account.is_enabled = False
    account.sealed_secret, account.secret_set_at = None, None
    account.save(update_fields=["is_enabled", "sealed_secret", "secret_set_at"])
    _audit(account, "cloud_account_delete", actor)
    return account


def _locked(account: CloudAccount) -> CloudAccount:
    return CloudAccount.objects.select_for_update().get(pk=account.pk)


def _refuse_in_use(account: CloudAccount) -> None:
    # Rows of an app above this one, through the relation alone. A provider may tell of a machine
    # only a while after it was asked for one.
    settled = clock.now() - dt.timedelta(seconds=server.PROVIDER_SETTLE_S)
    is_recent = Q(called_at__isnull=False, gone_at__gt=settled)
    machines = account.resources.filter(~Q(state=GONE) | is_recent).count()
    if machines:
        raise AccountInUse(machines)


def _refuse_stranding(account: CloudAccount, wanted: Mapping[str, object]) -> None:
    """Raises InvalidValue for settings under which we would lose sight of a machine."""
    alive = set(account.resources.exclude(state=GONE).values_list("region", flat=True))
    if not alive:
        return
    for name in identity_settings(account.provider):
        if wanted.get(name) != account.settings.get(name):
            raise InvalidValue(f"/settings/{name}", "machines of the account may still exist there")
    regions = wanted.get("regions")
    lost = sorted(alive - set(regions if isinstance(regions, list) else []))
    if lost:
        raise InvalidValue("/settings/regions", f"machines may still exist in {', '.join(lost)}")


def _name(account: CloudAccount, name: str) -> None:
    if not name.strip() or len(name) > 100 or not name.isprintable():
        raise InvalidValue("/name", "1 to 100 printable characters are needed")
    others = CloudAccount.objects.filter(workspace=account.workspace, name=name)
    if others.exclude(pk=account.pk).exists():
        raise InvalidValue("/name", f"an account named {name!r} exists")
    account.name = name


def _limit(account: CloudAccount, max_machines: int, budget: MonthlyBudget | None) -> None:
    if isinstance(max_machines, bool) or not 0 <= max_machines <= MAX_MACHINES:
        raise InvalidValue("/max_machines", f"a number from 0 to {MAX_MACHINES} is needed")
    if budget is not None and budget.amount <= 0:
        raise InvalidValue("/budget/amount", "more than 0 is needed; without a budget give null")
    account.max_machines = max_machines
    account.budget_amount = budget.amount if budget else None
    account.budget_currency = budget.currency if budget else ""


def _audit(account: CloudAccount, action: str, actor: str) -> None:
    budget = account.budget_amount
    audit_record(
        workspace=account.workspace,
        actor=actor,
        action=action,
        target=account,
        detail={
            "name": account.name,
            "provider": account.provider,
            "access": account.access,
            "settings": account.settings,
            "max_machines": account.max_machines,
            "budget": None if budget is None else f"{budget:f} {account.budget_currency}",
            "is_enabled": account.is_enabled,
        },
    )


# --- the secret -----------------------------------------------------------------------------------


def _identity(account: CloudAccount) -> str:
    return f"cloudaccount:{account.pk}"


def _seal(account: CloudAccount, secret: Mapping[str, str]) -> None:
    text = json.dumps(secret).encode()
    account.sealed_secret = sealed(text, identity=_identity(account)) if secret else None
    account.secret_set_at = clock.now() if secret else None


def account_secret(*, account: CloudAccount) -> dict[str, str]:
    """The secret fields in the clear, for the worker that calls the provider; empty for none."""
    if account.sealed_secret is None:
        return {}
    found: dict[str, str] = json.loads(
        opened(bytes(account.sealed_secret), identity=_identity(account))
    )
    return found


def account_used(*, account: CloudAccount) -> None:
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
        audit_record(workspace=account.workspace, actor=WORKER, action=action, target=account)


# --- what workers tell ----------------------------------------------------------------------------


@transaction.atomic
def account_checked(*, account_id: UUID | str, identity: str, error: str) -> None:
    """Keep who the provider says we are, or why it does not; `error` holds no secret."""
    account = CloudAccount.objects.select_for_update().get(pk=account_id)
    account.check_requested_at = None
    account.checked_at = clock.now()
    account.check_error = error[:500]
    if not error:
        account.identity = identity[:300]
    account.save(update_fields=["check_requested_at", "checked_at", "check_error", "identity"])


_TAKE_CALL = """
    UPDATE accounts_cloudaccount AS account
    SET calls_left = bucket.filled - (bucket.filled >= 1)::int, calls_at = bucket.at
    FROM (
        SELECT id, clock.at, CASE WHEN calls_at IS NULL THEN %(burst)s ELSE LEAST(
            %(burst)s, calls_left + %(rate)s * GREATEST(0, EXTRACT(EPOCH FROM clock.at - calls_at))
        ) END AS filled
        FROM accounts_cloudaccount, LATERAL (SELECT clock_timestamp() AS at) AS clock
        WHERE id = %(id)s
        FOR UPDATE OF accounts_cloudaccount
    ) AS bucket
    WHERE account.id = bucket.id
    RETURNING bucket.filled
"""


def call_taken(*, account: CloudAccount, rate_per_s: float = 5, burst: float = 20) -> float:
    """Take one call from the account's bucket: 0 = go on, else the seconds until one is there.

    The bucket holds `burst` calls and fills by `rate_per_s`. One statement, so that any number of
    workers share it; it holds the row until the end of the caller's transaction.
    """
    with connection.cursor() as cursor:
        cursor.execute(_TAKE_CALL, {"id": account.pk, "rate": rate_per_s, "burst": burst})
        row = cursor.fetchone()
    if row is None:
        raise CloudAccount.DoesNotExist
    filled = float(row[0])
    return 0.0 if filled >= 1 else (1 - filled) / rate_per_s
