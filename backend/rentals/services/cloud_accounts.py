"""Accounts at clouds: who may be asked for machines, and with which limits.

The secret is sealed as soon as it arrives. Only a worker opens it (account_access.account_secret).
"""

import datetime as dt
import json
from collections.abc import Mapping

from django.conf import settings as server
from django.db import transaction
from django.db.models import Q

from backend.accounts.models import AccessKind, CloudAccount, Workspace
from backend.accounts.services.audit import audit_record
from backend.accounts.services.workspaces import default_workspace
from backend.benchmarks.models import ResourceState
from backend.core import clock
from backend.core.crypto import seal
from backend.core.queue import Task, enqueue
from backend.core.sealing import identity_of
from backend.foundation.errors import DomainError, InvalidValue
from backend.providers.accounts import (
    check_secret,
    check_settings,
    identity_settings,
    needs_secret,
)
from backend.providers.rentals import Budget

MAX_MACHINES = 1000
MAX_VCPUS = 1_000_000


class AccountInUse(DomainError):
    """Machines of the account may exist: without access they could not be ended."""

    def __init__(self, machines: int) -> None:
        plural = "" if machines == 1 else "s"
        super().__init__(f"{machines} machine{plural} of this account may still exist")
        self.machines = machines


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
    max_vcpus: int | None = None,
    budget: Budget | None,
    actor: str,
) -> CloudAccount:
    """An account whose provider is asked at once who we are; raises InvalidValue with a pointer."""
    are_allowed = server.CLOUD_ENDPOINTS
    _check_identity(workspace, access)
    account = CloudAccount(workspace=workspace, provider=provider, access=access)
    account.settings = check_settings(provider, access, settings, are_endpoints_allowed=are_allowed)
    _seal(account, check_secret(provider, access, secret, are_endpoints_allowed=are_allowed))
    _name(account, name)
    _limit(account, max_machines, max_vcpus, budget)
    account.save()
    _audit(account, "cloud_account_create", actor)
    account_check(account=account, actor=actor)
    return account


def _check_identity(workspace: Workspace, access: str) -> None:
    # The identity of the worker's machine is the operator's: another workspace would spend with it.
    if access == AccessKind.WORKLOAD_IDENTITY and workspace != default_workspace():
        raise InvalidValue(
            "/access", f"only the workspace {default_workspace().name} acts as the worker itself"
        )


@transaction.atomic
def account_update(
    *,
    account: CloudAccount,
    name: str,
    settings: Mapping[str, object],
    max_machines: int,
    max_vcpus: int | None,
    budget: Budget | None,
    is_enabled: bool,
    actor: str,
) -> CloudAccount:
    """Other settings and limits; raises InvalidValue with a pointer.

    Where a secret is kept, another address of the provider's interface needs the secret again
    (account_secret_replace): whoever may write addresses shall not have it sent there.
    """
    account = _lock_account(account)
    checked = check_settings(
        account.provider,
        account.access,
        settings,
        are_endpoints_allowed=server.CLOUD_ENDPOINTS,
    )
    is_moved = checked.get("endpoint_url") != account.settings.get("endpoint_url")
    if is_moved and account.sealed_secret is not None:
        raise InvalidValue("/settings/endpoint_url", "another address needs the secret again")
    _refuse_stranding(account, checked)
    # Giving an account up forgets its secret, and without one a worker could only fail.
    is_open = account.sealed_secret is not None or not needs_secret(
        account.provider, account.access
    )
    if is_enabled and not is_open:
        raise InvalidValue("/enabled", "its secret was forgotten; enter it again")
    is_other = checked != account.settings or (is_enabled and not account.is_enabled)
    account.settings, account.is_enabled = checked, is_enabled
    _name(account, name)
    _limit(account, max_machines, max_vcpus, budget)
    account.save()
    _audit(account, "cloud_account_update", actor)
    # Only what changes the access needs another look; limits are ours alone.
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
    """Another secret, perhaps another authentication method; raises InvalidValue with a pointer."""
    account = _lock_account(account)
    _check_identity(account.workspace, access)
    are_allowed = server.CLOUD_ENDPOINTS
    checked = check_settings(account.provider, access, settings, are_endpoints_allowed=are_allowed)
    fields = check_secret(account.provider, access, secret, are_endpoints_allowed=are_allowed)
    _refuse_stranding(account, checked)
    account.settings, account.access = checked, access
    _seal(account, fields)
    # The new secret may be somebody else's: the former name must not stand beside it.
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
    audit_record(actor=actor, action="cloud_account_check", target=account)
    enqueue(Task.CHECK_ACCOUNT, account_id=str(account.pk))


@transaction.atomic
def account_delete(*, account: CloudAccount, actor: str) -> CloudAccount:
    """Rent nothing there any more and forget the secret; the row stays, its costs refer to it.

    Raises AccountInUse while one of its machines may exist: it could not be ended without access.
    """
    account = _lock_account(account)
    _refuse_in_use(account)
    account.is_enabled = False
    account.sealed_secret, account.secret_set_at = None, None
    account.save(update_fields=["is_enabled", "sealed_secret", "secret_set_at"])
    _audit(account, "cloud_account_delete", actor)
    return account


def _lock_account(account: CloudAccount) -> CloudAccount:
    return CloudAccount.objects.select_for_update().get(pk=account.pk)


def _refuse_in_use(account: CloudAccount) -> None:
    # A provider may show a machine only a while after it was asked for one.
    settled = clock.now() - dt.timedelta(seconds=server.PROVIDER_SETTLE_S)
    is_recent = Q(called_at__isnull=False, gone_at__gt=settled)
    machines = account.resources.filter(~Q(state=ResourceState.GONE) | is_recent).count()
    if machines:
        raise AccountInUse(machines)


def _refuse_stranding(account: CloudAccount, requested: Mapping[str, object]) -> None:
    """Raises InvalidValue for settings under which we would lose sight of a machine."""
    alive = set(
        account.resources.exclude(state=ResourceState.GONE).values_list("region", flat=True)
    )
    if not alive:
        return
    # Under another project or role the provider would list none of them, so none would be ended.
    for name in identity_settings(account.provider):
        if requested.get(name) != account.settings.get(name):
            raise InvalidValue(f"/settings/{name}", "machines of the account may still exist there")
    regions = requested.get("regions")
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


def _limit(
    account: CloudAccount, max_machines: int, max_vcpus: int | None, budget: Budget | None
) -> None:
    # A JSON true is an int to Python.
    if isinstance(max_machines, bool) or not 0 <= max_machines <= MAX_MACHINES:
        raise InvalidValue("/max_machines", f"a number from 0 to {MAX_MACHINES} is needed")
    if isinstance(max_vcpus, bool) or (max_vcpus is not None and not 1 <= max_vcpus <= MAX_VCPUS):
        raise InvalidValue("/max_vcpus", f"a number from 1 to {MAX_VCPUS} is needed, or null")
    if budget is not None and budget.amount <= 0:
        raise InvalidValue("/budget/amount", "more than 0 is needed; without a budget give null")
    account.max_machines, account.max_vcpus = max_machines, max_vcpus
    account.budget_amount = budget.amount if budget else None
    account.budget_currency = budget.currency if budget else ""


def _audit(account: CloudAccount, action: str, actor: str) -> None:
    budget = account.budget_amount
    audit_record(
        actor=actor,
        action=action,
        target=account,
        detail={
            "name": account.name,
            "provider": account.provider,
            "access": account.access,
            "settings": account.settings,
            "max_machines": account.max_machines,
            "max_vcpus": account.max_vcpus,
            "budget": None if budget is None else f"{budget:f} {account.budget_currency}",
            "is_enabled": account.is_enabled,
        },
    )


def _seal(account: CloudAccount, secret: Mapping[str, str]) -> None:
    text = json.dumps(secret).encode()
    account.sealed_secret = seal(text, identity=identity_of(account)) if secret else None
    account.secret_set_at = clock.now() if secret else None
