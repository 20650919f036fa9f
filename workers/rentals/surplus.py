"""Machines that a provider made of a launch beside the first: who rents them pays for them, too."""

import datetime as dt
from collections.abc import Collection

from backend.accounts.models import CloudAccount
from backend.benchmarks.models import Resource
from backend.providers.machines import OVER, ProviderResource
from backend.rentals.selectors.leaks import resources_with_surplus
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


def surplus_close(account: CloudAccount, gone: Collection[str], now: dt.datetime) -> None:
    """Those the provider no longer lists lived until now, as far as anybody knows."""
    for resource in resources_with_surplus(account, gone):
        for provider_id in resource.surplus.keys() & set(gone):
            since = dt.datetime.fromisoformat(resource.surplus[provider_id]["since"])
            surplus_record(
                resource=resource, provider_id=provider_id, since=since, until=now, is_over=True
            )
