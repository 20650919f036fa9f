"""Accounts at clouds that a workspace may see, and those that wait for a check."""

import datetime as dt

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now

from backend.accounts.models import CloudAccount, Workspace
from backend.benchmarks.models import ResourceState
from backend.core import clock


def accounts_visible(workspace: Workspace) -> QuerySet[CloudAccount]:
    """Accounts of the workspace, the oldest first, with `machines`: how many may exist."""
    alive = Count("resources", filter=~Q(resources__state=ResourceState.GONE))
    return CloudAccount.objects.filter(workspace=workspace).annotate(machines=alive)


def secret_age_days(account: CloudAccount) -> int | None:
    """Whole days since the secret was given; None without one."""
    return (clock.now() - account.secret_set_at).days if account.secret_set_at else None


def preflight_by_region(account: CloudAccount) -> dict[str, list[dict[str, str]]]:
    """The lines of the last look at the account's regions."""
    regions: dict[str, list[dict[str, str]]] = {}
    for line in account.preflight:
        regions.setdefault(line["region"], []).append(line)
    return regions


def checks_due(*, since_s: float) -> list[str]:
    """Ids of accounts whose check was asked for at least so many seconds ago, the first ones first."""
    # A message may be lost; the row still says that somebody waits for an answer.
    due = CloudAccount.objects.filter(check_requested_at__lte=Now() - dt.timedelta(seconds=since_s))
    return [str(pk) for pk in due.order_by("check_requested_at").values_list("pk", flat=True)]
