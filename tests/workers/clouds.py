"""An account at the faked provider, an offer that it rents, and runs on machines of it."""

from decimal import Decimal
from typing import Any

from backend.accounts.models import CloudAccount
from backend.benchmarks.models import Run
from backend.benchmarks.services.rented_runs import rented_run_create
from backend.catalog.models import Offer
from backend.providers.rentals import Budget
from tests import factories
from tests.fakes.fake_provider import FakeProvider

REGION = "fake-1"
TINY = {"seconds": 0.2, "repeats": 2, "quiet_budget_s": 0}


def account(at: FakeProvider | None = None, **given: Any) -> CloudAccount:
    """An account in one region, without zones."""
    zones = given.pop("zones", None)
    settings = {"folder": str(at.folder) if at else "/nonexistent", "regions": [REGION]}
    if zones:
        settings["zones"] = {REGION: zones}
    return CloudAccount.objects.create(
        **{
            "workspace": factories.workspace(),
            "name": f"Cloud {CloudAccount.objects.count() + 1}",
            "provider": "fake",
            "access": "token",
            "settings": settings,
            **given,
        }
    )


def offer(slug: str = "fake-small", *, price: str | None = "0.36", **given: Any) -> Offer:
    """A type at 0.36 USD an hour, which the provider charges by hours begun."""
    made = factories.offer(
        slug,
        **{
            "provider_slug": "fake",
            "name": "fake.small",
            "arch": "x86_64",
            "region": factories.region(REGION, provider_slug="fake"),
            **given,
        },
    )
    if price is not None:
        factories.price(made, price)
    return made


def rented_run(of: Offer, *, budget: str | None = None, **given: Any) -> Run:
    """A run of a second or two on a machine of the offer."""
    parameters = {**TINY, **given.pop("parameters", {})}
    return rented_run_create(
        **{
            "workspace": factories.workspace(),
            "offer": of,
            "profile": "quick",
            "probes": ["cmips"],
            "parameters": parameters,
            "budget": Budget(Decimal(budget), "USD") if budget else None,
            "actor": "tester",
            **given,
        }
    )
