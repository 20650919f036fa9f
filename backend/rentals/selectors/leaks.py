"""Objects that the reaper looks at: accounts, launches that were not seen gone, teardowns that
hang."""

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass

from django.conf import settings
from django.db.models import BooleanField, ExpressionWrapper, F, Func, Min, Q, QuerySet
from django.db.models.functions import Coalesce

from backend.accounts.models import AccessKind, CloudAccount
from backend.benchmarks.models import TERMINAL_STATES, Resource, ResourceState, RunState, Step
from backend.core import clock

# Failed looks at an account one after the other, or failed calls to end a machine.
ALARM_AFTER = 3
# A disabled account is looked at for so long after its last machine went: one may turn up late.
STILL_LOOKED_AT = dt.timedelta(days=1)
# One that only reads prices has nothing to be looked at, and often may not look.
RENTS = Q(is_enabled=True, settings__has_key="regions")
KEYLESS = (AccessKind.WORKLOAD_IDENTITY, AccessKind.ASSUME_ROLE)


def accounts_to_reap(now: dt.datetime) -> QuerySet[CloudAccount]:
    """Accounts whose machines have to be looked at: those that answer before those whose last look
    failed, and of each the one that was not tried for longest first.

    An account that does not answer takes long, so it must not come before one that does."""
    recent = Q(resources__gone_at__gt=now - STILL_LOOKED_AT)
    alive = Q(resources__state__in=[*set(ResourceState) - {ResourceState.GONE}])
    # An account whose secret was forgotten cannot be asked: each look would only be a failure.
    is_open = Q(sealed_secret__isnull=False) | Q(access__in=KEYLESS)
    # Joined with machines an account would come once for each of them; hence the inner query.
    due = CloudAccount.objects.filter(RENTS | alive | (recent & is_open))
    return (
        CloudAccount.objects.filter(pk__in=due.values("pk"))
        .select_related("workspace")
        .order_by(
            ExpressionWrapper(Q(failed_looks__gt=0), BooleanField()).asc(),
            F("looked_at").asc(nulls_first=True),
            "created_at",
        )
    )


def resources_of_tokens(account: CloudAccount, tokens: Collection[str]) -> QuerySet[Resource]:
    """The launches of these tokens, by any account of the workspace, with their runs."""
    return Resource.objects.filter(workspace_id=account.workspace_id, pk__in=tokens).select_related(
        "run", "account"
    )


def resources_with_living_surplus(account: CloudAccount) -> QuerySet[Resource]:
    """Launches with a further machine that nobody saw gone yet (Resource.surplus)."""
    return (
        Resource.objects.filter(account=account)
        .exclude(surplus={})
        .alias(lives=_HasLivingSurplus("surplus"))
        .filter(lives=True)
        .select_related("account")
    )


class _HasLivingSurplus(Func):
    template = "jsonb_path_exists(%(expressions)s, '$.* ? (@.is_over == false)')"
    output_field = BooleanField()


def resources_left(account: CloudAccount) -> QuerySet[Resource]:
    """Launches of ended runs that nobody saw gone yet."""
    return (
        Resource.objects.filter(account=account, run__state__in=TERMINAL_STATES)
        .exclude(state=ResourceState.GONE)
        .select_related("run", "account")
    )


def teardowns_stuck(account: CloudAccount, now: dt.datetime) -> QuerySet[Step]:
    """Open teardowns of rented machines that failed ALARM_AFTER times in a row or take very long,
    and have not been a notice yet."""
    # An attempt counts from its claim: the third one has failed when its lease is gone.
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
class RentalFigures:
    """Figures for the monitoring."""

    machine_count: int
    """Machines that may exist by our books."""
    run_count: int
    """Unfinished runs that have asked for one; fewer than machines means that some are left over."""
    look_age_s: float | None
    """Since the account that was not looked at for longest was; None without such an account."""


def rental_figures() -> RentalFigures:
    """How many machines there are, for how many runs, and whether somebody looks after them."""
    asked = Resource.objects.filter(state__in=(ResourceState.CALLED, ResourceState.CREATED))
    accounts = CloudAccount.objects.filter(RENTS)
    # An account that was never looked at counts from its beginning, so that a reaper that does not
    # run at all shows, too.
    oldest = accounts.aggregate(at=Min(Coalesce("reaped_at", "created_at")))["at"]
    return RentalFigures(
        machine_count=asked.count(),
        run_count=asked.exclude(run__state__in=TERMINAL_STATES).count(),
        look_age_s=None if oldest is None else (clock.now() - oldest).total_seconds(),
    )
