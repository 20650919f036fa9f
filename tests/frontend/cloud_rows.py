"""Accounts at three clouds, with machines in every state, for the pages."""

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal

from backend.accounts.models import CloudAccount
from backend.benchmarks.models import Resource, ResourceState, RunState, Step
from backend.catalog.models import Offer
from backend.core import clock
from backend.providers.rentals import Budget
from backend.rentals.services.account_access import account_mark_checked, account_mark_looked_over
from tests import factories
from tests.backend.clouds import account, charged, machine

LINES = [
    {"region": "fsn1", "topic": "region", "state": "ready", "detail": "it sells", "advice": ""},
    {
        "region": "fsn1", "topic": "network", "state": "not_ready", "detail": "no default network",
        "advice": "Make one (aws ec2 create-default-vpc --region eu-west-1) or name a subnet.",
    },
    {"region": "hel1", "topic": "launch", "state": "unknown", "detail": "not told", "advice": ""},
]  # fmt: skip


@dataclass(frozen=True)
class Clouds:
    """What the pages of the clouds show."""

    hetzner: CloudAccount
    aws: CloudAccount
    offer: Offer
    alive: Resource
    gone: Resource


def clouds() -> Clouds:
    """The rows; the queue has to be a fake."""
    hetzner = account(name="Benchmarks, Hetzner", budget=Budget(Decimal(50), "EUR"))
    account_mark_checked(account_id=hetzner.pk, identity="project of token 5f…", error="")
    account_mark_looked_over(account_id=hetzner.pk, lines=LINES)
    aws = account(
        name="Benchmarks, AWS", provider="aws", access="static_key",
        settings={"regions": ["eu-west-1", "eu-central-1", "us-east-1"]},
        secret={"access_key_id": "AKIAEXAMPLEEXAMPLE", "secret_access_key": "y" * 40},
    )  # fmt: skip
    account_mark_checked(
        account_id=aws.pk, identity="",
        error="auth: AWS was not able to validate the provided access credentials",
    )  # fmt: skip
    account(name="DigitalOcean prices", provider="digitalocean", settings={}, max_machines=0)
    CloudAccount.objects.filter(pk=hetzner.pk).update(
        secret_set_at=clock.now() - dt.timedelta(days=43), last_used_at=clock.now(),
        reaped_at=clock.now(),
    )  # fmt: skip
    factories.rate("USD", "1.10")
    region = factories.region("fsn1", provider_slug="hetzner")
    offer = factories.offer(
        "hetzner-cx22-fsn1", name="cx22", provider_slug="hetzner", region=region, arch="x86_64"
    )
    factories.price(offer, "0.006", currency="EUR")
    alive, gone = _machines(hetzner, offer)
    return Clouds(hetzner, aws, offer, alive, gone)


def _machines(account: CloudAccount, offer: Offer) -> tuple[Resource, Resource]:
    now = clock.now()
    begun = {
        "launched_at": now - dt.timedelta(minutes=7),
        "called_at": now - dt.timedelta(minutes=8),
    }
    alive = machine(
        account, offer=offer, **begun, zone="fsn1-dc14", provider_id="server-48151623",
        expires_at=now + dt.timedelta(minutes=40), budget_amount=Decimal("0.05"),
        budget_currency="EUR",
    )  # fmt: skip
    charged(alive, "0.006")
    alive.run.state, alive.run.started_at = RunState.RUNNING, begun["launched_at"]
    alive.run.requested_by = "olga"
    alive.run.save()
    for state in (RunState.QUEUED, RunState.BUDGET_RESERVED, RunState.LAUNCHING, RunState.BOOTING):
        Step.objects.create(run=alive.run, state=state, finished_at=now)
    Step.objects.create(run=alive.run, state=RunState.RUNNING)
    factories.sample(offer, 21.5, metric="boot_time_s", unit="s", run=alive.run)
    stuck = machine(account, offer=offer, **begun, is_alarmed=True, provider_id="server-2342")
    stuck.run.state = RunState.TEARING_DOWN
    stuck.run.save()
    machine(account, offer=offer, state=ResourceState.CALLED, provider_id="", launched_at=None)
    gone = machine(
        account, offer=offer, state=ResourceState.GONE, gone_at=now, purchase_model="spot", **begun
    )
    charged(gone, "0.006")
    gone.run.state, gone.run.finished_at = RunState.DONE, now
    gone.run.save()
    machine(
        account, offer=offer, state=ResourceState.GONE, provider_id="", launched_at=None,
        gone_at=now, hourly_amount=None, reserved_amount=None,
    )  # fmt: skip
    return alive, gone
