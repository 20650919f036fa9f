"""Rows for tests: every argument has a harmless default, the value under test is given by name."""

import datetime as dt
from decimal import Decimal
from itertools import count
from typing import Any
from uuid import UUID

from backend.accounts.models import Membership, Scope, User, Workspace
from backend.accounts.services.workspaces import default_workspace
from backend.benchmarks.calc.host_document import HostDocument
from backend.benchmarks.models import Host, HostState, Run, Sample, Source
from backend.benchmarks.services.hosts import host_create
from backend.catalog.models import (
    ExchangeRate,
    ExtraPrice,
    Offer,
    OfferKind,
    PriceObservation,
    Provider,
    Region,
)
from backend.money.pricing.purchase import PriceUnit, PurchaseModel
from backend.notifications.models import Subscription
from backend.notifications.selectors.subscriptions import SubscriptionDocument
from backend.notifications.services.subscriptions import subscription_create

AT = dt.datetime(2026, 11, 1, 12, tzinfo=dt.UTC)
_number = count(1)


def workspace() -> Workspace:
    return default_workspace()


def user(
    *, role: str = Scope.READ, workspace: Workspace | None = None, password: str = "", **given: Any
) -> User:
    """A member of the default workspace, or of another one."""
    made = User(**{"username": f"user{next(_number)}", **given})
    made.set_password(password) if password else made.set_unusable_password()
    made.save()
    Membership.objects.create(workspace=workspace or default_workspace(), user=made, role=role)
    return made


def owner() -> User:
    """Who answers for the tokens of tests, and may do everything."""
    return User.objects.get_or_create(username="owner", defaults={"is_superuser": True})[0]


def provider(slug: str = "own") -> Provider:
    return Provider.objects.get_or_create(slug=slug, defaults={"name": slug})[0]


def region(code: str = "us-east-1", *, provider_slug: str = "aws") -> Region:
    return Region.objects.get_or_create(provider=provider(provider_slug), code=code)[0]


def offer(slug: str | None = None, *, provider_slug: str = "aws", **given: Any) -> Offer:
    slug = slug or f"offer-{next(_number)}"
    return Offer.objects.create(
        **{
            "slug": slug,
            "name": slug,
            "provider": provider(provider_slug),
            "kind": OfferKind.CLOUD,
            **given,
        }
    )


def price(of: Offer, amount: str = "0.1", **given: Any) -> PriceObservation:
    return PriceObservation.objects.create(
        **{
            "offer": of,
            "amount": Decimal(amount),
            "currency": "USD",
            "unit": PriceUnit.HOUR,
            "purchase_model": PurchaseModel.ON_DEMAND,
            "source": "test",
            "observed_at": AT,
            **given,
        }
    )


def extra(
    kind: str,
    amount: str,
    *,
    provider_slug: str = "aws",
    region: Region | None = None,
    **given: Any,
) -> ExtraPrice:
    return ExtraPrice.objects.create(
        **{
            "provider": provider(provider_slug),
            "region": region,
            "kind": kind,
            "tiers": [[None, amount]],
            "currency": "USD",
            "observed_on": AT.date(),
            "source": "test",
            **given,
        }
    )


def rate(currency: str, units_per_eur: str, date: dt.date = dt.date(2026, 10, 30)) -> ExchangeRate:
    return ExchangeRate.objects.create(
        currency=currency, units_per_eur=Decimal(units_per_eur), date=date, source="test"
    )


def host(of: Offer | None = None, **given: Any) -> Host:
    return Host.objects.create(
        **{
            "workspace": workspace(),
            "offer": of or offer(provider_slug="own", kind=OfferKind.DEDICATED),
            "name": f"host-{next(_number)}",
            "driver": "static",
            "address": "127.0.0.1",
            "username": "bench",
            "state": HostState.TRUSTED,
            **given,
        }
    )


def ssh_host(machine: Any, name: str, **stated: Any) -> Host:
    """The host that a server (port, username, keys) is to us; its key was approved."""
    login = {"address": "127.0.0.1", "port": machine.port, "username": machine.username}
    document = {"name": name, **login, "private_key": machine.private_key, **stated}
    made = host_create(workspace=workspace(), document=HostDocument.read(document), actor="tester")
    Host.objects.filter(pk=made.pk).update(state=HostState.TRUSTED, host_key=machine.host_key)
    made.refresh_from_db()
    return made


def subscription(campaign: UUID | None = None, **stated: Any) -> Subscription:
    fields = {
        "channel": "webhook", "address": "https://hooks.example/", "secret": "x" * 16,
        "kinds": ["run_failed"], **stated,
    }  # fmt: skip
    return subscription_create(
        workspace=workspace(),
        document=SubscriptionDocument.read(fields),
        campaign=campaign,
        actor="tester",
    )


def run(on: Host | None = None, **given: Any) -> Run:
    on = on or host()
    return Run.objects.create(
        **{"workspace": on.workspace, "host": on, "offer": on.offer, "profile": "quick", **given}
    )


def sample(of: Offer, value: float, *, metric: str = "cmips_score", **given: Any) -> Sample:
    return Sample.objects.create(
        **{
            "offer": of,
            "metric": metric,
            "variant": "all",
            "value": value,
            "unit": "CMIPS",
            "source": Source.MEASURED,
            "measured_at": AT,
            **given,
        }
    )
