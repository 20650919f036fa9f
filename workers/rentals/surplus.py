"""Machines that a provider made of a launch beside the first: who rents them pays for them, too."""

import datetime as dt
from collections.abc import Collection

from backend.accounts.models import CloudAccount
from backend.benchmarks.models import Resource
from backend.providers.machines import OVER, ProviderResource
from backend.rentals.selectors.leaks import resources_with_living_surplus
from backend.rentals.services.resources import surplus_record


def surplus_book(resource: Resource, machine: ProviderResource, now: dt.datetime) -> None:
    """By the provider's times, where it says them."""
    called_at = resource.called_at or now
    surplus_record(
        resource=resource,
        provider_id=machine.id,
        since=machine.launched_at or called_at,
        until=machine.ended_at or now,
        is_over=machine.state in OVER,
    )


def surplus_close(
    account: CloudAccount,
    listed: Collection[str],
    unread: Collection[str],
    *,
    asked_at: dt.datetime,
    now: dt.datetime,
) -> None:
    """Close the machines that were seen before the provider was asked, and that it no longer lists,
    as having lived until now: whoever ended them may not have seen that they went. Of regions that
    were not read nothing is known."""
    for resource in resources_with_living_surplus(account).exclude(region__in=unread):
        for provider_id, life in resource.surplus.items():
            since, until = (dt.datetime.fromisoformat(life[end]) for end in ("since", "until"))
            if not life["is_over"] and provider_id not in listed and until < asked_at:
                surplus_record(
                    resource=resource, provider_id=provider_id, since=since, until=now, is_over=True
                )
