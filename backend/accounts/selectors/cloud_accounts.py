"""Cloud accounts that a workspace may see."""

import datetime as dt

from django.db.models.functions import Now

from backend.accounts.models import CloudAccount


def checks_due(*, since_s: float) -> list[str]:
    """Ids of accounts whose check was asked for at least so many seconds ago, the first ones first."""
    due = CloudAccount.objects.filter(check_requested_at__lte=Now() - dt.timedelta(seconds=since_s))
    return [str(pk) for pk in due.order_by("check_requested_at").values_list("pk", flat=True)]
