"""The reaper's view of a provider, stored on the account, and the notices when it cannot help."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from django.conf import settings
from django.db import transaction

from backend.accounts.models import CloudAccount, Workspace
from backend.accounts.services.audit import audit_record
from backend.benchmarks.models import Resource
from backend.benchmarks.services.run_completion import page_url
from backend.notifications.models import NoticeKind
from backend.notifications.services.notices import notice_queue
from backend.rentals.selectors.leaks import ALARM_AFTER

# Fifteen looks, of which none had time for an account.
OVERDUE = dt.timedelta(minutes=15)
# Who ends machines, in the audit trail.
REAPER = "reaper"


@dataclass(frozen=True)
class Ending:
    """Something at the provider that was asked to go and is still there."""

    since: str
    """When it was first asked, ISO 8601."""
    why: str
    region: str = ""
    failed: int = 0
    """Calls that the provider refused or did not answer."""
    error: str = ""
    is_alarmed: bool = False


def look_begin(*, account: CloudAccount, at: dt.datetime) -> None:
    """Note that the account is tried, so that those behind it have their turn next time."""
    CloudAccount.objects.filter(pk=account.pk).update(looked_at=at)


@transaction.atomic
def look_record_failure(*, account: CloudAccount, error: str) -> None:
    """The provider could not be asked; the third failure in a row is a notice."""
    account = CloudAccount.objects.select_for_update().get(pk=account.pk)
    _count_failure(account, error)
    account.save(update_fields=["failed_looks", "reap_error"])


def look_record_delay(*, account: CloudAccount, now: dt.datetime) -> None:
    """No time was left to look at the account; a notice, once, when that lasts too long."""
    tried = account.looked_at or account.created_at
    if tried < now - OVERDUE:
        _notify(
            account.workspace,
            key=f"leak:{account.pk}:overdue:{tried.isoformat()}",
            title=f"The machines of {account.name} have not been looked at",
            detail=f"Other accounts take all the time of the reaper since {tried.isoformat()}.",
        )


def _count_failure(account: CloudAccount, error: str) -> None:
    account.failed_looks += 1
    account.reap_error = error[:2000]
    # Equal, not at least: one notice for each row of failures.
    if account.failed_looks == ALARM_AFTER:
        last = account.reaped_at.isoformat() if account.reaped_at else "never"
        _notify(
            account.workspace,
            # By the last good look: one notice for each time that a provider is lost, not one a
            # look.
            key=f"leak:{account.pk}:{last}",
            title=f"The machines of {account.name} cannot be looked at",
            detail=f"{ALARM_AFTER} looks failed, the last good one was: {last}. {error}",
        )


@transaction.atomic
def look_record(
    *,
    account: CloudAccount,
    at: dt.datetime,
    ending: Mapping[str, Ending],
    unread: Mapping[str, str],
) -> None:
    """Store what a look at the account's machines has found.

    `ending` are machines that were asked to end and are still listed, by the provider's id: one that
    stays too long is one notice. `unread` are the regions that did not answer, and why: one of them
    makes the look a failure.
    """
    account = CloudAccount.objects.select_for_update().get(pk=account.pk)
    settled = at - dt.timedelta(seconds=settings.PROVIDER_SETTLE_S)
    entries = {}
    for provider_id, entry in ending.items():
        is_stuck = entry.failed >= ALARM_AFTER or dt.datetime.fromisoformat(entry.since) < settled
        if is_stuck and not entry.is_alarmed:
            _notify(
                account.workspace,
                key=f"leak:{account.pk}:{provider_id[:80]}",
                title=f"{account.name}: {provider_id[:100]} does not go away",
                detail=f"Asked to go since {entry.since}: {entry.why}. {entry.error}".strip(),
            )
        entries[provider_id] = asdict(entry) | {"is_alarmed": is_stuck or entry.is_alarmed}
    errors = [
        f"{provider_id}: {entry.error}" for provider_id, entry in ending.items() if entry.error
    ]
    account.ending = entries
    # A region that is silent may hide a machine, so the look must not count as one.
    if unread:
        refusals = [f"{region}: {why}" for region, why in unread.items()]
        _count_failure(account, "; ".join([*refusals, *errors]))
    else:
        account.reaped_at, account.failed_looks = at, 0
        account.reap_error = "; ".join(errors)[:2000]
    account.save(update_fields=["reaped_at", "failed_looks", "ending", "reap_error"])


def ending_of(account: CloudAccount) -> dict[str, Ending]:
    """Resources that the last look left to go, by the provider's id."""
    return {provider_id: Ending(**entry) for provider_id, entry in account.ending.items()}


def ending_audit(*, account: CloudAccount, resource: Resource | None, **detail: object) -> None:
    """Note that the reaper asks something to go: what, and why."""
    audit_record(
        workspace=account.workspace,
        actor=REAPER,
        action="machine_end",
        target=resource or account,
        detail={"account": account.name, **detail},
    )


@transaction.atomic
def resource_alarm(*, resource: Resource, detail: str) -> None:
    """Notify people, once, that a machine does not go away."""
    resource = Resource.objects.select_for_update(of=("self",)).get(pk=resource.pk)
    if resource.is_alarmed:
        return
    resource.is_alarmed = True
    resource.save(update_fields=["is_alarmed"])
    _notify(
        resource.workspace,
        key=f"leak:{resource.pk}",
        title=f"{resource.machine_type} in {resource.region} does not go away",
        detail=detail,
        url=page_url("runs", resource.run_id),
    )


def strangers_alarm(*, account: CloudAccount, machines: Mapping[str, int]) -> None:
    """Notify people, once for each, of other installations that have machines under our tag: a copy
    of a database may have gone on renting, and nobody here ends what it has rented."""
    for installation, count in machines.items():
        _notify(
            account.workspace,
            key=f"leak:{account.pk}:of:{installation}",
            title=f"{account.name} has machines of another installation",
            detail=f"{count} of them carry the tag of this workspace and were rented by installation"
            f" {installation[:60]}. Nothing of them is ended here. Where that installation is no more,"
            " `manage.py cloud adopt` takes them over.",
        )


def _notify(workspace: Workspace, *, key: str, title: str, detail: str, url: str = "") -> None:
    notice_queue(
        workspace=workspace,
        kind=NoticeKind.LEAK,
        key=key,
        document={
            "title": title,
            "detail": detail,
            "url": url or f"{settings.PUBLIC_URL.rstrip('/')}/accounts/clouds/",
        },
    )
