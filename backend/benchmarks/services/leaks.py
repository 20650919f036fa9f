"""What the reaper found at a provider, kept on the account, and who is told when it cannot help."""

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass

from django.conf import settings
from django.db import transaction
from django.db.models import F, Min, Q, QuerySet
from django.db.models.functions import Coalesce

from backend.accounts.models import AccessKind, CloudAccount
from backend.accounts.services.audit import audit_record
from backend.benchmarks.models import (
    TERMINAL_STATES,
    Resource,
    ResourceState,
    RunState,
    Step,
)
from backend.benchmarks.services.run_completion import page_url
from backend.common import clock
from backend.notifications.models import NoticeKind
from backend.notifications.services.notices import notice_queue

REAPER = "reaper"
"""Who ends machines, in the audit trail."""
ALARM_AFTER = 3
"""Failed looks at an account one after the other, or failed calls to end a machine."""
STILL_LOOKED_AT = dt.timedelta(days=1)
"""A disabled account is, for so long after its last machine went: one may turn up late."""
KEYLESS = (AccessKind.WORKLOAD_IDENTITY, AccessKind.ASSUME_ROLE)


@dataclass(frozen=True)
class Ending:
    """Something at the provider that was asked to go and is still there."""

    since: str
    """When it was first asked, ISO 8601."""
    why: str
    failed: int = 0
    """Calls that the provider refused or did not answer."""
    error: str = ""
    is_alarmed: bool = False


# --- what to look at --------------------------------------------------------------------------------


def accounts_to_reap(now: dt.datetime) -> QuerySet[CloudAccount]:
    """Accounts whose machines have to be looked at, the one not seen for longest first."""
    recent = Q(resources__gone_at__gt=now - STILL_LOOKED_AT)
    alive = Q(resources__state__in=[*set(ResourceState) - {ResourceState.GONE}])
    is_open = Q(sealed_secret__isnull=False) | Q(access__in=KEYLESS)
    found = CloudAccount.objects.filter(Q(is_enabled=True) | alive | (recent & is_open))
    return (
        CloudAccount.objects.filter(pk__in=found.values("pk"))
        .select_related("workspace")
        .order_by(F("reaped_at").asc(nulls_first=True), "created_at")
    )


def resources_of_tokens(account: CloudAccount, tokens: Collection[str]) -> QuerySet[Resource]:
    """The launches of these tokens, by any account of the workspace, with their runs."""
    return Resource.objects.filter(workspace_id=account.workspace_id, pk__in=tokens).select_related(
        "run", "account"
    )


def resources_left(account: CloudAccount) -> QuerySet[Resource]:
    """Launches of ended runs that nobody saw gone yet."""
    return (
        Resource.objects.filter(account=account, run__state__in=TERMINAL_STATES)
        .exclude(state=ResourceState.GONE)
        .select_related("run", "account")
    )


def teardowns_stuck(account: CloudAccount, now: dt.datetime) -> QuerySet[Step]:
    """Open teardowns of rented machines that failed ALARM_AFTER times in a row or take very long,
    and of which nobody was told yet."""
    has_failed = Q(attempt__gt=ALARM_AFTER) | Q(attempt=ALARM_AFTER, lease_until=None)
    settle = dt.timedelta(seconds=settings.PROVIDER_SETTLE_S)
    return (
        Step.objects.filter(
            (has_failed & ~Q(last_error="")) | Q(created_at__lt=now - ALARM_AFTER * settle),
            state=RunState.TEARING_DOWN,
            finished_at=None,
            run__resource__account=account,
            run__resource__is_alarmed=False,
        )
        .exclude(run__resource__state=ResourceState.GONE)
        .select_related("run__resource")
    )


@dataclass(frozen=True)
class Watched:
    """Figures for the monitoring."""

    machine_count: int
    """Machines that may exist by our books."""
    run_count: int
    """Unfinished runs that have asked for one; fewer than machines means that some are left over."""
    look_age_s: float | None
    """Since the account that was not looked at for longest was; None without such an account."""


def watched() -> Watched:
    """How many machines there are, for how many runs, and whether somebody looks after them."""
    asked = Resource.objects.filter(state__in=(ResourceState.CALLED, ResourceState.CREATED))
    accounts = CloudAccount.objects.filter(is_enabled=True)
    oldest = accounts.aggregate(at=Min(Coalesce("reaped_at", "created_at")))["at"]
    return Watched(
        machine_count=asked.count(),
        run_count=asked.exclude(run__state__in=TERMINAL_STATES).count(),
        look_age_s=None if oldest is None else (clock.now() - oldest).total_seconds(),
    )


# --- what was found ---------------------------------------------------------------------------------


@transaction.atomic
def look_failed(*, account: CloudAccount, error: str) -> None:
    """The provider could not be asked; people are told of the third time in a row."""
    account = CloudAccount.objects.select_for_update().get(pk=account.pk)
    account.failed_looks += 1
    account.reap_error = error[:2000]
    account.save(update_fields=["failed_looks", "reap_error"])
    if account.failed_looks == ALARM_AFTER:
        last = account.reaped_at.isoformat() if account.reaped_at else "never"
        _tell(
            account,
            key=f"leak:{account.pk}:{last}",
            title=f"The machines of {account.name} cannot be looked at",
            detail=f"{ALARM_AFTER} looks failed, the last good one was: {last}. {error}",
        )


@transaction.atomic
def look_done(*, account: CloudAccount, at: dt.datetime, ending: Mapping[str, Ending]) -> None:
    """The account's machines were compared with ours; `ending` by the provider's id is what had to
    go and is not seen gone. People are told once of each that does not go away."""
    account = CloudAccount.objects.select_for_update().get(pk=account.pk)
    settled = at - dt.timedelta(seconds=settings.PROVIDER_SETTLE_S)
    told = {}
    for provider_id, entry in ending.items():
        is_stuck = entry.failed >= ALARM_AFTER or dt.datetime.fromisoformat(entry.since) < settled
        if is_stuck and not entry.is_alarmed:
            _tell(
                account,
                key=f"leak:{account.pk}:{provider_id[:80]}",
                title=f"{account.name}: {provider_id[:100]} does not go away",
                detail=f"Asked to go since {entry.since}: {entry.why}. {entry.error}".strip(),
            )
        told[provider_id] = asdict(entry) | {"is_alarmed": is_stuck or entry.is_alarmed}
    errors = [
        f"{provider_id}: {entry.error}" for provider_id, entry in ending.items() if entry.error
    ]
    account.reaped_at, account.failed_looks, account.ending = at, 0, told
    account.reap_error = "; ".join(errors)[:2000]
    account.save(update_fields=["reaped_at", "failed_looks", "ending", "reap_error"])


def ending_of(account: CloudAccount) -> dict[str, Ending]:
    """What the last look left to go, by the provider's id."""
    return {provider_id: Ending(**entry) for provider_id, entry in account.ending.items()}


def ending_audited(*, account: CloudAccount, resource: Resource | None, **detail: object) -> None:
    """Note that the reaper asks something to go: what, and why."""
    audit_record(
        workspace=account.workspace,
        actor=REAPER,
        action="machine_end",
        target=resource or account,
        detail={"account": account.name, **detail},
    )


# --- alarms -----------------------------------------------------------------------------------------


@transaction.atomic
def resource_alarm(*, resource: Resource, detail: str) -> None:
    """Tell people, once, that a machine does not go away."""
    resource = Resource.objects.select_for_update(of=("self",)).get(pk=resource.pk)
    if resource.is_alarmed:
        return
    resource.is_alarmed = True
    resource.save(update_fields=["is_alarmed"])
    notice_queue(
        workspace=resource.workspace,
        kind=NoticeKind.LEAK,
        key=f"leak:{resource.pk}",
        document={
            "title": f"{resource.machine_type} in {resource.region} does not go away",
            "detail": detail,
            "url": page_url("runs", resource.run_id),
        },
    )


def _tell(account: CloudAccount, *, key: str, title: str, detail: str) -> None:
    notice_queue(
        workspace=account.workspace,
        kind=NoticeKind.LEAK,
        key=key,
        document={
            "title": title,
            "detail": detail,
            "url": f"{settings.PUBLIC_URL.rstrip('/')}/accounts/clouds/",
        },
    )
