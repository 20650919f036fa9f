"""Cloud accounts, rented machines and their costs for tests."""

import datetime as dt
from decimal import Decimal
from itertools import count
from typing import Any

from backend.accounts.models import CloudAccount
from backend.benchmarks.models import HostState, LedgerEntry, Resource, ResourceState
from backend.rentals.services.cloud_accounts import account_create
from tests import factories

TOKEN = "hcloud-token-0123456789"
_number = count(1)


def account(**given: Any) -> CloudAccount:
    """An account at Hetzner with a token, as the service makes it; the queue has to be a fake."""
    return account_create(
        **{
            "workspace": factories.workspace(),
            "name": f"account {next(_number)}",
            "provider": "hetzner",
            "access": "token",
            "settings": {"regions": ["fsn1", "nbg1"]},
            "secret": {"token": TOKEN},
            "max_machines": 20,
            "budget": None,
            "actor": "tester",
            **given,
        }
    )


def machine(of: CloudAccount, **given: Any) -> Resource:
    """A machine that the provider has named."""
    offer = given.pop("offer", None) or factories.offer(provider_slug=of.provider)
    host = factories.host(offer, is_rented=True, state=HostState.UNVERIFIED)
    return Resource.objects.create(
        **{
            "workspace": of.workspace,
            "account": of,
            "run": given.pop("run", None) or factories.run(host),
            "offer": offer,
            "state": ResourceState.CREATED,
            "region": "fsn1",
            "machine_type": "cx22",
            "provider_id": f"server-{next(_number)}",
            "currency": "EUR",
            "hourly_amount": Decimal("0.006"),
            "reserved_amount": Decimal("0.012"),
            "lifetime_s": 7200,
            "called_at": factories.AT,
            "launched_at": factories.AT,
            **given,
        }
    )


def charged(of: Resource, amount: str, *, hour: int = 0) -> LedgerEntry:
    """What an hour of the machine's life cost."""
    return LedgerEntry.objects.create(
        resource=of,
        period_start=(of.launched_at or factories.AT) + dt.timedelta(hours=hour),
        seconds=Decimal(3600),
        amount=Decimal(amount),
        currency=of.currency,
    )
